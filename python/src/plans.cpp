// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems, plans, and the tables of formats and targets.
#include "bindings.h"

#include <pybind11/stl.h>

namespace mlatile::python {
namespace {
/// Read-only access to a plan that the library shares.
using PlanHandle = std::shared_ptr<Plan>;

PlanHandle handle(const std::shared_ptr<const Plan> &plan) {
  // pybind11 holders are not const; the bindings only read.
  return std::const_pointer_cast<Plan>(plan);
}

LseKind lseNamed(const std::optional<std::string> &base) {
  return !base ? LseKind::None : *base == "2" ? LseKind::Base2 : LseKind::BaseE;
}

py::dict formatDict(const CacheFormat &f) {
  py::dict d;
  d["name"] = f.name;
  d["d_qk"] = f.dimQK();
  d["d_v"] = f.dimV();
  d["nope"] = f.nope;
  d["rope"] = f.rope;
  d["group"] = f.group;
  d["payload"] = f.payload == PayloadType::E4M3 ? "e4m3" : "e2m1";
  d["scale"] = f.scale == ScaleType::F32     ? "f32"
               : f.scale == ScaleType::UE8M0 ? "ue8m0"
                                             : "e4m3";
  d["place"] = f.place == ScalePlace::Inline ? "inline" : "footer";
  d["data_row"] = f.dataRow;
  d["scale_row"] = f.scaleRow;
  d["token_bytes"] = f.tokenBytes();
  d["extra_pool_only"] = f.extraPoolOnly;
  return d;
}

py::dict candidateDict(const Candidate &c) {
  py::dict d;
  d["kernel"] = c.kernel;
  d["compute"] = c.compute;
  d["head_tile"] = c.headTile;
  d["candidate_tile"] = c.candidateTile;
  d["warps"] = c.warps;
  d["roles"] = c.roles.empty() ? py::object(py::none()) : py::str(c.roles);
  d["num_splits"] = c.numSplits;
  d["merge"] = c.merge;
  d["us"] = c.microseconds;
  d["measured_us"] = c.measured;
  d["taken"] = c.taken;
  d["why"] = c.why;
  return d;
}
} // namespace

py::list measuredWays(const std::vector<MeasuredWay> &ways) {
  py::list list;
  for (const MeasuredWay &way : ways) {
    py::dict d = candidateDict(way.candidate);
    d["error"] =
        way.error.empty() ? py::object(py::none()) : py::str(way.error);
    list.append(d);
  }
  return list;
}

void bindPlans(py::module_ &module) {
  py::class_<KernelSource, std::shared_ptr<KernelSource>>(module,
                                                          "KernelSource")
      .def(py::init([](std::string name, std::string text,
                       std::map<std::string, std::string> params,
                       std::map<std::string, std::string> steps) {
             return KernelSource{std::move(name), std::move(text),
                                 std::move(params), std::move(steps)};
           }),
           py::arg("name"), py::arg("text"), py::arg("params"),
           py::arg("steps"))
      .def_readonly("name", &KernelSource::name)
      .def_readonly("text", &KernelSource::text)
      .def_readonly("params", &KernelSource::params)
      .def_readonly("steps", &KernelSource::steps);

  py::class_<Problem>(module, "Problem")
      .def(py::init<>())
      .def_readwrite("num_tokens", &Problem::numTokens)
      .def_readwrite("num_heads", &Problem::numHeads)
      .def_readwrite("width", &Problem::width)
      .def_readwrite("kv_format", &Problem::kvFormat)
      .def_readwrite("page_size", &Problem::pageSize)
      .def_readwrite("extra_width", &Problem::extraWidth)
      .def_readwrite("extra_page_size", &Problem::extraPageSize)
      .def_readwrite("extra_kv_format", &Problem::extraKvFormat)
      .def_readwrite("has_sink", &Problem::hasSink)
      .def_readwrite("has_topk_length", &Problem::hasLengths)
      .def_readwrite("has_extra_topk_length", &Problem::hasExtraLengths)
      .def_property(
          "lse_base",
          [](const Problem &p) -> std::optional<std::string> {
            if (p.lse == LseKind::None)
              return std::nullopt;
            return p.lse == LseKind::Base2 ? "2" : "e";
          },
          [](Problem &p, const std::optional<std::string> &base) {
            p.lse = lseNamed(base);
          })
      .def_readwrite("page_stride", &Problem::pageStride)
      .def_readwrite("extra_page_stride", &Problem::extraPageStride)
      .def_readwrite("row_stride", &Problem::rowStride)
      .def_readwrite("kernel", &Problem::kernel)
      .def_readwrite("compute", &Problem::compute)
      .def_readwrite("num_splits", &Problem::numSplits)
      .def_readwrite("merge", &Problem::merge)
      .def_readwrite("params", &Problem::params)
      .def_readwrite("target", &Problem::target)
      .def_readwrite("num_sms", &Problem::numSMs)
      .def_readwrite("card", &Problem::card)
      .def_property(
          "source",
          [](const Problem &p) {
            return std::const_pointer_cast<KernelSource>(p.source);
          },
          [](Problem &p, const std::shared_ptr<KernelSource> &source) {
            p.source = source;
          });

  py::class_<Plan, PlanHandle>(module, "Plan")
      .def_readonly("problem", &Plan::problem)
      .def_readonly("kernel", &Plan::kernel)
      .def_readonly("compute", &Plan::compute)
      .def_readonly("target", &Plan::target)
      .def_readonly("num_sms", &Plan::numSMs)
      .def_readonly("num_splits", &Plan::numSplits)
      .def_property_readonly(
          "roles",
          [](const Plan &plan) -> std::optional<std::string> {
            if (plan.roles.empty())
              return std::nullopt;
            return plan.roles;
          })
      .def_readonly("merge", &Plan::merge)
      .def_readonly("predicted_us", &Plan::predictedMicroseconds)
      .def_readonly("measured_us", &Plan::measuredMicroseconds)
      .def_readonly("workspace_bytes", &Plan::workspaceBytes)
      .def_readonly("counter_bytes", &Plan::counterBytes)
      .def_readonly("reasons", &Plan::reasons)
      .def_property_readonly("candidates",
                             [](const Plan &plan) {
                               py::list list;
                               for (const Candidate &c : plan.candidates)
                                 list.append(candidateDict(c));
                               return list;
                             })
      .def_property_readonly("launches",
                             [](const Plan &plan) {
                               py::list steps;
                               for (const LaunchStep &step : plan.launches) {
                                 py::dict d;
                                 d["kernel"] = step.kernel.name();
                                 d["grid"] = step.grid;
                                 d["why"] = step.why;
                                 steps.append(d);
                               }
                               return steps;
                             })
      .def("__str__", &Plan::explain)
      .def("__repr__", [](const Plan &plan) {
        return "<mlatile.Plan kernel=" + plan.kernel +
               " num_splits=" + std::to_string(plan.numSplits) +
               " target=" + plan.target + ">";
      });

  py::class_<Support>(module, "Support")
      .def(py::init<bool, std::string>(), py::arg("ok"), py::arg("reason"))
      .def_readonly("ok", &Support::ok)
      .def_readonly("reason", &Support::reason)
      .def("__bool__", [](const Support &support) { return support.ok; })
      .def("__repr__", [](const Support &support) {
        return support.ok ? std::string("<mlatile.Support ok>")
                          : "<mlatile.Support not ok: " + support.reason + ">";
      });

  module.def("plan", [](const Problem &p) { return handle(plan(p)); });
  module.def("supported", [](const Problem &p) { return supported(p); });

  // Of one of its candidates.
  module.def("asking", [](const Plan &plan, size_t candidate) {
    return asking(plan.problem, plan.candidates.at(candidate));
  });
  module.def("use_refinement", &useRefinement);
  module.def("refine_by", [](const py::function &measure,
                             const std::string &path, const std::string &card,
                             const Problem &problem, double within,
                             int64_t most) {
    std::vector<MeasuredWay> ways =
        measureWays(problem, {within, most}, [&](const Plan &plan) {
          try {
            return measure(handle(std::make_shared<const Plan>(plan)))
                .cast<double>();
          } catch (py::error_already_set &error) {
            // An error of ours is that way's; others end it all.
            if (!error.matches(
                    py::module_::import("mlatile._mlatile").attr("Error")))
              throw;
            throw Error(py::str(error.value()).cast<std::string>());
          } catch (const py::cast_error &) {
            throw ArgumentError("measure", "expected it to give microseconds");
          }
        });
    std::shared_ptr<const Plan> planned = plan(problem);
    keepTimes(path, {card, planned->target, planned->numSMs}, problem, ways);
    return measuredWays(ways);
  });

  module.def("formats", [] {
    py::list list;
    for (const CacheFormat &format : cacheFormats())
      list.append(formatDict(format));
    return list;
  });
  module.def("targets", [] {
    std::vector<std::string> names;
    for (const Target &target : targets())
      names.emplace_back(target.name);
    return names;
  });
  // Bytes of a block.
  module.def("shared_limit", [](const std::string &name) {
    const Target *target = findTarget(name);
    if (!target)
      throw ArgumentError("name", "expected a target, got '" + name + "'");
    return target->sharedBytesPerBlock;
  });
  module.def("cuda_device", [](int ordinal) -> py::object {
    std::optional<DeviceInfo> info = cudaDevice(ordinal);
    if (!info)
      return py::none();
    py::dict d;
    d["name"] = info->name;
    d["target"] = info->target;
    d["sms"] = info->sms;
    return d;
  });
}

} // namespace mlatile::python
