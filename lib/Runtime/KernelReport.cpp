// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report of a kernel: what its meta says, and what the cost model predicts.
#include "KernelWork.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/Problem.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;

/// Counts of a loop over 64 candidates; null without them.
Json perTile(const Json &loop) {
  const Json candidates = loop.value("candidates", Json());
  if (!candidates.is_number() || candidates.get<double>() < 1)
    return nullptr;
  double tiles = 64 / candidates.get<double>();
  auto scaled = [&](const Json &count) -> Json {
    double value = count.get<double>() * tiles;
    if (value == std::floor(value))
      return static_cast<int64_t>(value);
    return value;
  };
  Json result;
  result["mma"] = Json::object();
  for (const auto &[kind, count] : loop.at("mma").items())
    result["mma"][kind] = scaled(count);
  for (const char *key : {"conversions", "ldmatrix", "async_copies",
                          "bulk_copies", "cta_barriers", "named_barriers"})
    result[key] = scaled(loop.at(key));
  // The counts are then too low.
  if (int loops = loop.value("unknown_loops", 0))
    result["unknown_loops"] = loops;
  return result;
}

/// Counts of a loop, or of a role's part of one.
void setCounts(TileCounts &work, const Json &loop) {
  work.mmaFlops.fill(0);
  work.mma = 0;
  for (const auto &[name, count] : loop.at("mma").items()) {
    std::optional<MmaKind> kind = parseMmaKind(name);
    if (!kind)
      continue;
    work.mmaFlops[static_cast<size_t>(kind->rate)] +=
        count.get<double>() * static_cast<double>(kind->flops);
    work.mma += count.get<double>();
  }
  work.conversions = loop.at("conversions").get<double>();
  work.sharedBytes = loop.at("shared_traffic").get<double>();
  work.instructions = loop.at("instructions").get<double>();
}

/// What the PTX says in the place of what the estimate says.
void setCounts(LoopWork &work, const Json &loop, double warps) {
  setCounts(work, loop);
  work.barriers = loop.at("cta_barriers").get<double>() / warps;
  work.roles.clear();
  const Json roles = loop.value("roles", Json::array());
  for (const Json &part : roles) {
    RoleWork role;
    setCounts(role, part);
    role.warps = std::max(part.at("warps").get<double>(), 1.0);
    role.barriers = part.at("named_barriers").get<double>() / role.warps;
    work.roles.push_back(role);
  }
  if (loop.contains("stages"))
    work.ahead = loop["stages"].get<int>() - 1;
}

/// The parameters of the kernel as the compiler bound them.
std::map<std::string, std::string> boundParams(const Json &meta,
                                               const KernelSpec &spec) {
  std::map<std::string, std::string> params = spec.params;
  const Json given = meta.value("params", Json::object()); // outlives items()
  for (const auto &[name, value] : given.items())
    params[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return params;
}

/// The work of the compiled kernel; nothing where its parameters or loops are
/// not those of a kernel of kernels/.
std::optional<LaunchWork> compiledWork(const Kernel &kernel, const Json &meta,
                                       const Json &report,
                                       const Problem &problem, int64_t splits) {
  std::optional<LaunchWork> work = estimateWork(
      kernel.spec.symbol, boundParams(meta, kernel.spec), problem, splits);
  const Json loops = meta.value("loops", Json::array());
  if (!work || loops.empty())
    return std::nullopt;
  // Of a merge rounds are counted, not instructions; one loop may walk both
  // lists.
  if (loops.size() == 1 && work->loops.size() == 2) {
    work->loops[0].iterations += work->loops[1].iterations;
    work->loops.pop_back();
  }
  if (!work->loops.empty() && loops.size() != work->loops.size())
    return std::nullopt;
  double warps = std::max(kernel.meta.threads / 32.0, 1.0);
  for (size_t i = 0; i < work->loops.size(); ++i)
    setCounts(work->loops[i], loops[i], warps);
  work->threads = static_cast<int>(kernel.meta.threads);
  work->sharedBytes = report.at("shared_bytes").get<int64_t>();
  if (report.at("registers").is_number())
    work->registers = report["registers"].get<int>();
  work->instructions = meta.value("instructions", work->instructions);
  return work;
}

bool isTrue(const std::map<std::string, std::string> &params,
            const char *name) {
  auto found = params.find(name);
  return found != params.end() && found->second == "true";
}

/// The splits that a report predicts for: those of the problem, else as many as
/// fill the target's card; one of a kernel that walks all candidates.
int64_t splitsFor(const KernelSpec &spec,
                  const std::map<std::string, std::string> &params,
                  const Problem &problem) {
  bool attends = params.count("BN");
  if (auto cluster = params.find("CLUSTER");
      cluster != params.end() && cluster->second != "1")
    return std::atoll(cluster->second.c_str());
  if (attends && !isTrue(params, "SPLIT"))
    return 1;
  if (problem.numSplits)
    return *problem.numSplits;
  const Card *card = defaultCard(spec.target);
  std::optional<LaunchWork> whole =
      estimateWork(spec.symbol, params, problem, 1);
  if (!card || !whole)
    return 1;
  // A merge has as many as the kernel before it, whose head tile is narrow.
  int64_t ctas =
      attends ? whole->grid : problem.numTokens * ceilDiv(problem.numHeads, 16);
  return std::clamp<int64_t>(card->sms / std::max<int64_t>(ctas, 1), 2, 64);
}
} // namespace

Problem reportProblem() {
  Problem problem;
  problem.numTokens = 8;
  problem.numHeads = 64;
  problem.width = 2048;
  problem.pageSize = 64;
  return problem;
}

/// The report; throws Json::exception on a meta that is not the compiler's.
static Json makeReport(const Kernel &kernel, const Problem *given) {
  const KernelSpec &spec = kernel.spec;
  const KernelMeta &meta = kernel.meta;
  Json json = Json::parse(meta.json);
  Json report;
  report["kernel"] = spec.name();
  report["origin"] = kernel.origin;
  report["target"] = spec.target;
  report["threads"] = meta.threads;
  report["shared_bytes"] = meta.sharedBytes;
  // Only ptxas knows these.
  report["registers"] = nullptr;
  report["spill_bytes"] = nullptr;
  report["ptxas"] = nullptr;
  if (Json ptxas = json.value("ptxas", Json()); ptxas.is_object()) {
    report["registers"] = ptxas.value("registers", Json());
    report["spill_bytes"] =
        ptxas.value("spill_stores", 0) + ptxas.value("spill_loads", 0);
    report["ptxas"] = ptxas.value("version", Json());
    // What ptxas counted, should it place more than the arena.
    report["shared_bytes"] =
        meta.dynamicSharedBytes +
        ptxas.value("static_shared",
                    meta.sharedBytes - meta.dynamicSharedBytes);
  }
  report["buffers"] = json.value("buffers", Json::object());
  report["seconds"] = json.value("seconds", Json::object());

  const Json loops = json.value("loops", Json::array());
  report["per_tile"] = loops.empty() ? Json() : perTile(loops.front());
  for (size_t i = 1; i < loops.size(); ++i)
    if (Json other = perTile(loops[i]); !other.is_null())
      report["per_tile_of_other_loops"].push_back(std::move(other));

  Problem problem = given ? *given : reportProblem();
  auto params = boundParams(json, spec);
  if (problem.kvFormat.empty())
    problem.kvFormat = params.count("FMT") ? params["FMT"] : "dsv4";
  if (!problem.extraWidth && isTrue(params, "HAS_EXTRA")) {
    problem.extraWidth = problem.width;
    problem.extraKvFormat = params["EXTRA"];
  }
  int64_t splits = splitsFor(spec, params, problem);
  std::optional<LaunchWork> work =
      compiledWork(kernel, json, report, problem, splits);
  report["predicted"] = nullptr;
  if (work) {
    for (const Card &card : cards()) {
      std::optional<Prediction> time = predict(*work, card);
      Json &entry = report["predicted"][card.name];
      entry["us"] = nullptr;
      entry["limiter"] = "unsupported"; // no such mma, or no room for a CTA
      if (time) { // what it adds to a launch before it in one wave
        time->microseconds -= hiddenMicroseconds({}, *work, card);
        entry["us"] = std::round(time->microseconds * 100) / 100;
        entry["limiter"] = name(time->limiter);
      }
    }
    report["predicted_for"] = {{"num_tokens", problem.numTokens},
                               {"num_heads", problem.numHeads},
                               {"width", problem.width},
                               {"kv_format", problem.kvFormat},
                               {"num_splits", splits},
                               {"grid", work->grid}};
    if (problem.extraWidth)
      report["predicted_for"]["extra_width"] = *problem.extraWidth;
  }
  return report;
}

std::string Kernel::report(const Problem *problem) const {
  try {
    return makeReport(*this, problem)
        .dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const Json::exception &error) {
    throw Error("kernel " + spec.name() + ": meta: " + error.what());
  }
}

} // namespace mlatile
