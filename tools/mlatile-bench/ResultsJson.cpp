// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Results.h"

#include <nlohmann/json.hpp>

namespace mlatile::bench {
namespace {
using Json = nlohmann::ordered_json;

Json optional(const std::optional<double> &value) {
  return value ? Json(*value) : Json();
}

Json problemJson(const Result &result) {
  const Problem &p = result.named.problem;
  Json json = {{"num_tokens", p.numTokens}, {"num_heads", p.numHeads},
               {"width", p.width},          {"kv_format", p.kvFormat},
               {"page_size", p.pageSize},   {"skip", result.named.skip}};
  if (p.extraWidth) {
    json["extra_width"] = *p.extraWidth;
    json["extra_kv_format"] = p.extraFormat();
    json["extra_page_size"] = p.extraPageSize.value_or(p.pageSize);
  }
  return json;
}

Json planJson(const Plan &plan) {
  Json json = {{"kernel", plan.kernel}, {"compute", plan.compute},
               {"target", plan.target}, {"num_splits", plan.numSplits},
               {"merge", plan.merge},   {"short", shortPlan(plan)}};
  json["roles"] = plan.roles.empty() ? Json() : Json(plan.roles);
  json["launches"] = Json::array();
  for (const LaunchStep &step : plan.launches)
    json["launches"].push_back(
        {{"kernel", step.kernel.name()}, {"grid", step.grid}});
  return json;
}

Json rowJson(const Result &result) {
  Json json = {{"name", result.named.name}, {"problem", problemJson(result)}};
  if (result.plan)
    json["plan"] = planJson(*result.plan);
  if (!result.error.empty()) {
    json["error"] = result.error;
    return json;
  }
  json["us"] = result.time.median;
  json["us_fastest"] = result.time.fastest;
  json["us_slowest"] = result.time.slowest;
  json["calls"] = result.time.calls;
  json["replays"] = result.time.replays;
  json["bytes"] = result.bytes;
  json["flop"] = result.flops;
  json["gb_per_s"] = result.gigabytesPerSecond();
  json["tflop_per_s"] = result.teraflops();
  json["gather_floor_us"] = optional(result.gather);
  json["mma_floor_us"] = optional(result.mma);
  json["of_floor"] = optional(result.ofFloor());
  json["predicted_us"] = optional(result.predicted);
  json["of_prediction"] = optional(result.ofPrediction());
  return json;
}
} // namespace

std::string resultsJson(const Results &results) {
  const Protocol &p = results.protocol;
  Json json;
  json["device"] = {
      {"name", results.device.name},
      {"target", results.device.target},
      {"sms", results.device.sms},
      {"l2_bytes", results.device.l2Bytes},
      {"driver", results.device.driverVersion},
      {"card", results.card.empty() ? Json() : Json(results.card)}};
  json["protocol"] = {{"calls", p.calls},
                      {"replays", p.replays},
                      {"warm", p.warm},
                      {"pool_bytes", results.poolBytes},
                      {"flushed_bytes", results.flushedBytes}};
  json["floors"] = {{"gather_bytes_per_s", optional(results.gatherRate)},
                    {"mma_flop_per_s", optional(results.mmaRate)}};
  json["rows"] = Json::array();
  for (const Result &row : results.rows)
    json["rows"].push_back(rowJson(row));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace mlatile::bench
