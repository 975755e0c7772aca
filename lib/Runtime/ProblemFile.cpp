// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of problems as JSON, for folders of prebuilt kernels.
#include "MergePlan.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelFolder.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Card.h"
#include "mlatile/Target/Target.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;

/// Reads a value of the type, or says what was there.
template <typename T>
T get(const std::string &key, const Json &value, const char *type) {
  try {
    bool right = std::is_same_v<T, bool>      ? value.is_boolean()
                 : std::is_same_v<T, int64_t> ? value.is_number_integer()
                                              : value.is_string();
    if (right)
      return value.get<T>();
  } catch (const Json::exception &) {
  }
  throw ArgumentError(key, std::string("expected ") + type + ", got " +
                               value.dump());
}

void setField(Problem &p, const std::string &key, const Json &value) {
  auto integer = [&] { return get<int64_t>(key, value, "an integer"); };
  auto text = [&] { return get<std::string>(key, value, "a string"); };
  auto boolean = [&] { return get<bool>(key, value, "true or false"); };
  const std::map<std::string, std::function<void()>> fields = {
      {"name", [] {}},
      {"run", [] {}},
      {"num_tokens", [&] { p.numTokens = integer(); }},
      {"num_heads", [&] { p.numHeads = integer(); }},
      {"width", [&] { p.width = integer(); }},
      {"kv_format", [&] { p.kvFormat = text(); }},
      {"page_size", [&] { p.pageSize = integer(); }},
      {"extra_width", [&] { p.extraWidth = integer(); }},
      {"extra_page_size", [&] { p.extraPageSize = integer(); }},
      {"extra_kv_format", [&] { p.extraKvFormat = text(); }},
      {"has_sink", [&] { p.hasSink = boolean(); }},
      {"has_topk_length", [&] { p.hasLengths = boolean(); }},
      {"has_extra_topk_length", [&] { p.hasExtraLengths = boolean(); }},
      {"page_stride", [&] { p.pageStride = integer(); }},
      {"extra_page_stride", [&] { p.extraPageStride = integer(); }},
      {"row_stride", [&] { p.rowStride = integer(); }},
      {"compute", [&] { p.compute = text(); }},
      {"kernel", [&] { p.kernel = text(); }},
      {"num_splits", [&] { p.numSplits = integer(); }},
      {"merge", [&] { p.merge = text(); }},
      {"params",
       [&] {
         if (!value.is_object())
           throw ArgumentError("params", "expected an object of strings, got " +
                                             value.dump());
         for (const auto &[name, given] : value.items())
           p.params[name] = get<std::string>(name, given, "a string");
       }},
      {"target", [&] { p.target = text(); }},
      {"num_sms", [&] { p.numSMs = integer(); }},
      {"lse",
       [&] {
         std::string base = text();
         checkOneOf("lse", base, {"none", "2", "e"});
         p.lse = base == "none" ? LseKind::None
                 : base == "2"  ? LseKind::Base2
                                : LseKind::BaseE;
       }},
  };
  auto field = fields.find(key);
  if (field == fields.end()) {
    std::vector<std::string> names;
    for (const auto &entry : fields)
      names.push_back(entry.first);
    throw ArgumentError("problems", "expected keys " + oneOf(names) +
                                        ", got '" + key + "'");
  }
  if (!value.is_null())
    field->second();
}
} // namespace

std::vector<Problem> parseProblems(const std::string &text) {
  Json json;
  try {
    json = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::exception &error) {
    throw ArgumentError("problems",
                        std::string("expected JSON: ") + error.what());
  }
  if (!json.is_array())
    throw ArgumentError("problems", "expected an array of objects");
  std::vector<Problem> problems;
  for (const Json &entry : json) {
    if (!entry.is_object())
      throw ArgumentError("problems",
                          "expected an object, got " + entry.dump());
    Problem problem;
    for (const auto &[key, value] : entry.items())
      setField(problem, key, value);
    validate(problem);
    problems.push_back(std::move(problem));
  }
  return problems;
}

/// The plans that cards of the target with other numbers of SMs may need: what
/// is fastest, and whether CTAs may wait for each other, depends on them.
static std::vector<std::shared_ptr<const Plan>>
plansOf(const Problem &problem) {
  std::vector<std::shared_ptr<const Plan>> plans = {plan(problem)};
  if (problem.source || plans[0]->launches.empty())
    return plans;
  auto add = [&](const Problem &other) {
    if (supported(other).ok)
      plans.push_back(plan(other));
  };
  Problem other = problem;
  if (!problem.numSMs)
    for (const Card &card : cards())
      if (card.target == plans[0]->target) {
        other.numSMs = card.sms;
        add(other);
      }
  if (plans[0]->kernel != "decode" || problem.merge != "auto")
    return plans;
  // Any card may split, or not, in the tile that is taken and in its own.
  auto addMerges = [&](Problem one) {
    one.numSMs = kMaxCount;
    // 2, 4 and 8: each has its form of the step that joins them.
    for (int64_t splits : {1, 2, 4, 8}) {
      one.numSplits = problem.numSplits.value_or(splits);
      for (const char *merge : {"slices", "dependent"}) {
        one.merge = merge;
        add(one);
      }
    }
    // A kernel for each size of cluster, where they are taken.
    one.merge = "cluster";
    if (const Target *target = findTarget(plans[0]->target);
        target && target->has(Feature::FastClusters))
      for (int64_t splits = 2; splits <= kMostClustered; ++splits)
        if (problem.numSplits.value_or(splits) == splits) {
          one.numSplits = splits;
          add(one);
        }
  };
  other = problem;
  other.kernel = "decode";
  other.compute = plans[0]->compute;
  addMerges(other);
  if (!plans[0]->roles.empty())
    addMerges(asking(problem, plans[0]->candidates.front()));
  return plans;
}

std::vector<KernelSpec> kernelsOf(const std::vector<Problem> &problems) {
  std::vector<KernelSpec> kernels;
  std::set<std::string> seen;
  for (const Problem &problem : problems)
    for (const auto &plan : plansOf(problem))
      for (const LaunchStep &step : plan->launches)
        if (seen.insert(step.kernel.name()).second)
          kernels.push_back(step.kernel);
  return kernels;
}

} // namespace mlatile
