// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"
#include "FormatText.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mlatile::run {
namespace {
using Json = nlohmann::ordered_json;

/// JSON has no infinity.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : "-inf");
}
} // namespace

std::string planText(const JobResult &result) {
  std::istringstream lines(result.plan->explain());
  std::string text, line;
  for (const char *label = "plan      "; std::getline(lines, line);
       label = "          ")
    text += label + line + "\n";
  return text;
}

std::string kernelsText(const JobResult &result) {
  std::string text;
  for (const KernelTime &entry : result.kernels) {
    Json report = Json::parse(entry.kernel->report());
    bool compiled = entry.kernel->origin == "compiled";
    text += format("kernel    %s %s in %.2f s, %u threads, %u bytes shared",
                   entry.kernel->spec.symbol.c_str(),
                   compiled ? "compiled" : "loaded", entry.seconds,
                   entry.kernel->meta.threads,
                   report["shared_bytes"].get<unsigned>());
    if (report["registers"].is_number())
      text += format(", %d registers, %d bytes spilled",
                     report["registers"].get<int>(),
                     report["spill_bytes"].get<int>());
    else
      text += ", no ptxas";
    text += "\n";
  }
  return text;
}

std::string runText(const JobResult &result) {
  std::string text = format("run       on %s in %.2f s\n",
                            result.device.c_str(), result.runSeconds);
  if (result.launchMicroseconds)
    text += format("          %.1f us a call, back to back\n",
                   *result.launchMicroseconds);
  return text;
}

std::string comparisonText(const JobOptions &options, const JobResult &result) {
  const Comparison &c = result.comparison;
  const Bounds &b = result.bounds;
  std::string text = format(
      "reference float64, in %.2f s\n"
      "error     %.2e (bound %.1e), worst at row %lld head %lld\n"
      "cosine    %.6f (bound %.4f)\n",
      result.referenceSeconds, c.error, b.error, static_cast<long long>(c.row),
      static_cast<long long>(c.head), c.cosine, b.cosine);
  if (options.lse != "none")
    text += format("lse       %.2e off in base 2, %.3f of its bound\n", c.lse,
                   c.lseRatio);
  bool replaysRight = true;
  if (result.replays) {
    replaysRight = *result.replays == options.replays;
    text += format("graph     %d of %d replays gave the bits of uncaptured "
                   "calls\n",
                   *result.replays, options.replays);
  }
  if (!c.unwritten.empty())
    return text + "result    WRONG: " + c.unwritten + "\n";
  if (!replaysRight)
    return text + "result    WRONG: a replay gave other bits\n";
  return text + (c.ok ? "result    inside the bounds\n"
                      : "result    WRONG: outside the bounds\n");
}

std::string soakText(const SoakResult &result) {
  std::string text =
      format("soak      %lld calls, %lld kernels, of %lld problems (%lld left "
             "out as too large) in %.2f s\n",
             static_cast<long long>(result.calls),
             static_cast<long long>(result.kernels),
             static_cast<long long>(result.problems),
             static_cast<long long>(result.leftOut), result.seconds);
  for (const std::string &wrong : result.wrong)
    text += "result    WRONG: " + wrong + "\n";
  if (!result.wrong.empty())
    return text;
  return text + "result    every kernel ended, and every problem gave the same "
                "bits throughout, inside the bounds\n";
}

std::string reportJson(const JobOptions &options, const JobResult &result) {
  const Comparison &c = result.comparison;
  Json json;
  json["problem"] = {
      {"format", options.input.format},      {"tokens", options.input.tokens},
      {"heads", options.input.heads},        {"width", options.input.width},
      {"page_size", options.input.pageSize}, {"seed", options.input.seed},
      {"skip", options.input.skip},          {"lengths", options.input.lengths},
      {"sink", options.input.sink}};
  if (options.input.extraWidth) {
    json["problem"]["extra_format"] = options.input.extraFormat;
    json["problem"]["extra_width"] = options.input.extraWidth;
    json["problem"]["extra_page_size"] = options.input.extraPageSize;
  }
  const Plan &plan = *result.plan;
  json["plan"] = {{"kernel", plan.kernel},
                  {"compute", plan.compute},
                  {"target", plan.target},
                  {"num_splits", plan.numSplits},
                  {"merge", plan.merge},
                  {"workspace_bytes", plan.workspaceBytes},
                  {"counter_bytes", plan.counterBytes}};
  json["device"] = result.device;
  json["kernels"] = Json::array();
  for (const KernelTime &entry : result.kernels) {
    Json report = Json::parse(entry.kernel->report());
    report["obtained_seconds"] = entry.seconds;
    json["kernels"].push_back(std::move(report));
  }
  json["seconds"] = {{"inputs", result.inputSeconds},
                     {"run", result.runSeconds},
                     {"reference", result.referenceSeconds}};
  json["launch_microseconds"] =
      result.launchMicroseconds ? Json(*result.launchMicroseconds) : Json();
  json["error"] = number(c.error);
  json["error_bound"] = result.bounds.error;
  json["cosine"] = number(c.cosine);
  json["cosine_bound"] = result.bounds.cosine;
  json["lse_error"] = options.lse != "none" ? number(c.lse) : Json();
  json["lse_of_bound"] = options.lse != "none" ? number(c.lseRatio) : Json();
  json["unwritten"] = c.unwritten;
  json["graph"] = result.replays ? Json(*result.replays) : Json();
  json["ok"] = c.ok && (!result.replays || *result.replays == options.replays);
  return json.dump(2);
}

} // namespace mlatile::run
