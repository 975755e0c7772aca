// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a problem to a plan. Implementations are an ordered list; each declines
// with a reason or builds the plan.
#include "Implementations.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Target.h"

#include <mutex>
#include <sstream>
#include <unordered_map>

namespace mlatile {
namespace {

std::shared_ptr<const Plan> makePlan(const Problem &problem) {
  validate(problem);
  const Target &target = targetNamed(problem.target);
  const Card *card = defaultCard(target.name);

  Plan plan;
  plan.problem = problem;
  plan.problem.target = target.name;
  plan.target = target.name;
  plan.numSMs = problem.numSMs.value_or(card ? card->sms : 1);
  if (problem.numSMs)
    plan.reasons.push_back("num_sms: " + std::to_string(plan.numSMs) +
                           ", given");
  else if (card)
    plan.reasons.push_back("num_sms: " + std::to_string(plan.numSMs) + ", " +
                           std::string(card->name) + " stands for " +
                           plan.target);

  std::string declined;
  for (const Implementation &candidate : implementations()) {
    if (problem.kernel != "auto" && problem.kernel != candidate.name)
      continue;
    if (std::optional<std::string> reason = candidate.decline(problem)) {
      declined += (declined.empty() ? "" : "; ") + std::string(candidate.name) +
                  ": " + *reason;
      continue;
    }
    plan.kernel = candidate.name;
    plan.reasons.insert(plan.reasons.begin(),
                        "kernel: " + plan.kernel +
                            (problem.kernel == "auto"
                                 ? ", the first that takes the problem"
                                 : ", as asked for"));
    candidate.build(problem, plan);
    return std::make_shared<const Plan>(std::move(plan));
  }
  throw UnsupportedError("no kernel takes the problem: " + declined);
}

/// Plans of this process. Serving repeats few problems; the bound only keeps a
/// caller that sweeps shapes from growing it for ever.
class PlanMemo {
public:
  std::shared_ptr<const Plan> find(const std::string &key) {
    std::lock_guard lock(mutex);
    auto it = plans.find(key);
    return it == plans.end() ? nullptr : it->second;
  }
  void insert(const std::string &key, std::shared_ptr<const Plan> plan) {
    std::lock_guard lock(mutex);
    if (plans.size() >= 4096)
      plans.clear();
    plans.emplace(key, std::move(plan));
  }

private:
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans;
};

PlanMemo &memo() {
  static PlanMemo instance;
  return instance;
}
} // namespace

std::shared_ptr<const Plan> plan(const Problem &problem) {
  std::string key = problem.key();
  if (std::shared_ptr<const Plan> known = memo().find(key))
    return known;
  std::shared_ptr<const Plan> made = makePlan(problem);
  memo().insert(key, made);
  return made;
}

Support supported(const Problem &problem) noexcept {
  try {
    plan(problem);
    return {true, ""};
  } catch (const std::exception &error) {
    return {false, error.what()};
  }
}

std::string Plan::explain() const {
  std::ostringstream text;
  text << "sparse MLA, " << problem.numTokens << " rows x " << problem.numHeads
       << " heads, " << problem.width << " candidates of `" << problem.kvFormat
       << "`, pages of " << problem.pageSize << "\n";
  text << "  kernel " << kernel << ", compute " << compute << ", target "
       << target << ", " << numSplits << (numSplits == 1 ? " split" : " splits")
       << "\n";
  text << "  workspace " << grouped(workspaceBytes) << " bytes, counters "
       << grouped(counterBytes) << " bytes\n";
  if (launches.empty())
    text << "  no launch: there are no rows\n";
  for (const LaunchStep &step : launches)
    text << "  launch " << step.kernel.name() << " on " << grouped(step.grid)
         << " CTAs: " << step.why << "\n";
  for (const std::string &reason : reasons)
    text << "  - " << reason << "\n";
  return text.str();
}

} // namespace mlatile
