// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bindings.h"

namespace mlatile::python {
namespace {
/// Registered from base to derived: pybind11 tries the last one first.
void bindErrors(py::module_ &module) {
  auto &error =
      py::register_exception<Error>(module, "Error", PyExc_ValueError);
  py::register_exception<ArgumentError>(module, "ArgumentError", error);
  py::register_exception<UnsupportedError>(module, "UnsupportedError", error);
  py::register_exception<CompileError>(module, "CompileError", error);
  py::register_exception<LaunchError>(module, "LaunchError", error);
  for (const char *name : {"Error", "ArgumentError", "UnsupportedError",
                           "CompileError", "LaunchError"})
    module.attr(name).attr("__module__") = "mlatile";
}
} // namespace

PYBIND11_MODULE(_mlatile, module) {
  module.doc() = "C++ side of mlatile; use the package `mlatile`.";
  bindErrors(module);
  bindPlans(module);
  bindCalls(module);
  bindKernels(module);
}

} // namespace mlatile::python
