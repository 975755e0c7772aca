// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a problem to a plan: a kernel is chosen, then it builds the plan.
#include "Implementations.h"
#include "KernelWork.h"
#include "ProblemChecks.h"
#include "Text.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Card.h"
#include "mlatile/Target/Target.h"

#include <cstdio>
#include <mutex>
#include <sstream>
#include <unordered_map>

namespace mlatile {
namespace {

std::shared_ptr<const Plan> makePlan(const Problem &problem) {
  validate(problem);
  checkPair(problem);
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

  plan.candidates = chooseKernel(problem, plan.numSMs);
  plan.kernel = plan.candidates.front().kernel;
  for (const Implementation *kernel : implementations())
    if (plan.kernel == kernel->name)
      kernel->build(problem, plan);
  return std::make_shared<const Plan>(std::move(plan));
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

/// "predicted 12.3 us on rtx_pro_6000: decode 8.1 us (latency), merge 4.2 us
/// (launch)"; empty where there is no card or a launch has no estimate.
static std::string predictedText(const Plan &plan) {
  const Card *known = defaultCard(plan.target);
  if (!known || plan.launches.empty())
    return "";
  Card card = *known;
  card.sms = static_cast<int>(plan.numSMs);
  auto number = [](double us) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f us", us);
    return std::string(text);
  };
  double total = 0;
  std::string parts;
  for (const LaunchStep &step : plan.launches) {
    std::optional<LaunchWork> work = estimateWork(
        step.kernel.symbol, step.kernel.params, plan.problem, plan.numSplits);
    std::optional<Prediction> time = work ? predict(*work, card) : std::nullopt;
    if (!time)
      return "";
    total += time->microseconds;
    parts += (parts.empty() ? "" : ", ") + step.kernel.symbol + " " +
             number(time->microseconds) + " (" +
             std::string(name(time->limiter)) + ")";
  }
  std::string text =
      "predicted " + number(total) + " on " + std::string(card.name);
  if (card.sms != known->sms)
    text += " with " + std::to_string(card.sms) + " SMs";
  return text + ": " + parts;
}

std::string Plan::explain() const {
  std::ostringstream text;
  text << "sparse MLA, " << problem.numTokens << " rows x " << problem.numHeads
       << " heads, " << problem.width << " candidates of `" << problem.kvFormat
       << "`, pages of " << problem.pageSize;
  if (problem.extraWidth)
    text << ", and " << *problem.extraWidth << " of `" << problem.extraFormat()
         << "`, pages of " << *problem.extraPageSize;
  text << "\n";
  text << "  kernel " << kernel << ", compute " << compute << ", target "
       << target << ", " << numSplits << (numSplits == 1 ? " split" : " splits")
       << (numSplits == 1 ? "" : ", merge " + merge) << "\n";
  text << "  workspace " << grouped(workspaceBytes) << " bytes, counters "
       << grouped(counterBytes) << " bytes\n";
  if (launches.empty())
    text << "  no launch: there are no rows\n";
  for (const LaunchStep &step : launches)
    text << "  launch " << step.kernel.name() << " on " << grouped(step.grid)
         << " CTAs: " << step.why << "\n";
  if (std::string predicted = predictedText(*this); !predicted.empty())
    text << "  " << predicted << "\n";
  for (const Candidate &candidate : candidates)
    text << "  - " << candidate.kernel << ": " << candidate.why << "\n";
  for (const std::string &reason : reasons)
    text << "  - " << reason << "\n";
  return text.str();
}

} // namespace mlatile
