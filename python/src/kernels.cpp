// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels.
#include "bindings.h"

#include <pybind11/stl.h>

namespace mlatile::python {
namespace {
/// One kernel of a plan; its pieces are made when they are asked for.
struct CompiledKernel {
  KernelSpec spec;
  Problem problem; ///< of its plan

  std::shared_ptr<const Kernel> get(Need need) const {
    py::gil_scoped_release release;
    return getKernel(spec, need);
  }
};
} // namespace

void bindKernels(py::module_ &module) {
  py::class_<CompiledKernel>(module, "KernelPart")
      .def_property_readonly(
          "name", [](const CompiledKernel &k) { return k.spec.name(); })
      .def_property_readonly(
          "symbol", [](const CompiledKernel &k) { return k.spec.symbol; })
      .def_property_readonly(
          "target", [](const CompiledKernel &k) { return k.spec.target; })
      .def_property_readonly(
          "mlir",
          [](const CompiledKernel &k) { return k.get(Need::Text)->mlir; })
      .def_property_readonly(
          "ptx", [](const CompiledKernel &k) { return k.get(Need::Text)->ptx; })
      .def_property_readonly("llvm",
                             [](const CompiledKernel &k) {
                               return py::bytes(k.get(Need::Text)->llvm);
                             })
      .def_property_readonly("cubin",
                             [](const CompiledKernel &k) {
                               return py::bytes(k.get(Need::Cubin)->cubin);
                             })
      .def_property_readonly(
          "meta_json",
          [](const CompiledKernel &k) { return k.get(Need::Text)->meta.json; })
      .def_property_readonly("report_json", [](const CompiledKernel &k) {
        return k.get(Need::Cubin)->report(&k.problem);
      });

  module.def("kernels_of", [](const Plan &plan) {
    std::vector<CompiledKernel> kernels;
    Problem problem = plan.problem;
    problem.numSplits = plan.numSplits;
    for (const LaunchStep &step : plan.launches)
      kernels.push_back({step.kernel, problem});
    return kernels;
  });
  module.def(
      "preload", [](const Plan &plan, int device) { preload(plan, device); },
      py::call_guard<py::gil_scoped_release>());
  module.def("check_source", &checkSource,
             py::call_guard<py::gil_scoped_release>());
  module.def(
      "dump_kernel",
      [](const CompiledKernel &k, const std::string &folder) {
        dumpKernel(k.spec, folder);
      },
      py::call_guard<py::gil_scoped_release>());
  module.def("add_kernel_folder",
             [](const std::string &folder) { addKernelFolder(folder); });
  module.def("allow_compiling", &allowCompiling);
  module.def("compiler_info", &compilerInfo,
             py::call_guard<py::gil_scoped_release>());
}

} // namespace mlatile::python
