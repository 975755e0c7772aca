// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked calls and their launch.
#include "bindings.h"

#include <pybind11/stl.h>

namespace mlatile::python {
namespace {
/// A call, its stream, and the arrays that it points into.
struct HeldCall {
  Call call;
  CallStream stream;
  std::vector<py::object> owners;
};

/// The arguments of sparse_mla by name, all keys present, None for absent.
class Reader {
public:
  Reader(const py::dict &values, const CallStream &stream,
         std::vector<py::object> &owners)
      : values(values), stream(stream), owners(owners) {}

  Tensor tensor(const char *name) {
    Borrowed array = borrow(name, values[name], stream);
    owners.push_back(std::move(array.owner));
    return std::move(array.tensor);
  }
  void tensor(const char *name, std::optional<Tensor> &to) {
    if (!values[name].is_none())
      to = tensor(name);
  }
  template <typename T>
  void value(const char *name, T &to) {
    to = values[name].cast<T>();
  }

private:
  const py::dict &values;
  const CallStream &stream;
  std::vector<py::object> &owners;
};

Arguments readArguments(const py::dict &values, Reader &read) {
  Arguments a;
  a.q = read.tensor("q");
  a.kvCache = read.tensor("kv_cache");
  a.indices = read.tensor("indices");
  read.value("kv_format", a.kvFormat);
  read.value("page_size", a.pageSize);
  read.value("sm_scale", a.smScale);
  read.tensor("topk_length", a.topkLength);
  read.tensor("extra_kv_cache", a.extraKvCache);
  read.tensor("extra_indices", a.extraIndices);
  read.tensor("extra_topk_length", a.extraTopkLength);
  read.value("extra_page_size", a.extraPageSize);
  read.value("extra_kv_format", a.extraKvFormat);
  read.tensor("attn_sink", a.attnSink);
  read.tensor("out", a.out);
  read.tensor("lse", a.lse);
  read.value("return_lse", a.returnLse);
  read.value("lse_base", a.lseBase);
  read.value("kernel", a.kernel);
  read.value("compute", a.compute);
  read.value("num_splits", a.numSplits);
  read.value("page_stride", a.pageStride);
  read.value("extra_page_stride", a.extraPageStride);
  read.value("row_stride", a.rowStride);
  read.tensor("workspace", a.workspace);
  read.value("has_stream", a.hasStream);
  read.value("device", a.device);
  if (!values["source"].is_none())
    a.source = values["source"].cast<std::shared_ptr<KernelSource>>();
  return a;
}

HeldCall prepareCall(const py::dict &values) {
  HeldCall held{{}, CallStream(values["stream"].cast<uintptr_t>()), {}};
  Reader read(values, held.stream, held.owners);
  held.call = prepare(readArguments(values, read));
  return held;
}

py::list refineCall(const py::dict &values, const std::string &path,
                    double within, int64_t most) {
  CallStream stream(values["stream"].cast<uintptr_t>());
  std::vector<py::object> owners;
  Reader read(values, stream, owners);
  Arguments arguments = readArguments(values, read);
  std::vector<MeasuredWay> ways;
  {
    py::gil_scoped_release release;
    ways = refine(arguments, path, {within, most}, stream.handle());
  }
  return measuredWays(ways);
}

void give(HeldCall &held, const char *name, py::handle array,
          void (Call::*set)(const Tensor &)) {
  Borrowed borrowed = borrow(name, array, held.stream);
  (held.call.*set)(borrowed.tensor);
  held.owners.push_back(std::move(borrowed.owner));
}
} // namespace

void bindCalls(py::module_ &module) {
  py::class_<HeldCall>(module, "Call")
      .def_property_readonly("plan",
                             [](const HeldCall &held) {
                               return std::const_pointer_cast<Plan>(
                                   held.call.plan);
                             })
      .def_property_readonly("captured",
                             [](const HeldCall &h) {
                               return h.call.place.cuda && h.stream.captured();
                             })
      .def_property_readonly(
          "needs_out", [](const HeldCall &h) { return h.call.needsOut(); })
      .def_property_readonly(
          "needs_lse", [](const HeldCall &h) { return h.call.needsLse(); })
      .def_property_readonly(
          "out_shape", [](const HeldCall &h) { return h.call.outShape(); })
      .def_property_readonly(
          "lse_shape", [](const HeldCall &h) { return h.call.lseShape(); })
      .def("set_out",
           [](HeldCall &h, py::handle a) { give(h, "out", a, &Call::setOut); })
      .def("set_lse",
           [](HeldCall &h, py::handle a) { give(h, "lse", a, &Call::setLse); })
      .def(
          "launch",
          [](const HeldCall &held, unsigned seed, bool checked,
             bool wantStats) -> std::optional<std::string> {
            std::string stats;
            LaunchOptions options;
            options.stream = held.stream.handle();
            options.seed = seed;
            options.checked = checked;
            options.stats = wantStats ? &stats : nullptr;
            py::gil_scoped_release release;
            launch(held.call, options);
            if (wantStats)
              return stats;
            return std::nullopt;
          },
          py::arg("seed") = 0, py::arg("checked") = false,
          py::arg("stats") = false);
  module.def("prepare", &prepareCall);
  module.def("refine", &refineCall);
}

} // namespace mlatile::python
