// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a problem to a plan: a kernel is chosen, then it builds the plan.
#include "Choice.h"
#include "KernelWork.h"
#include "ProblemChecks.h"
#include "RefinementFile.h"
#include "Text.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Card.h"
#include "mlatile/Target/Target.h"

#include <algorithm>
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

  Way way = choose(problem, plan);
  plan.kernel = way.kernel->name;
  plan.compute = way.compute;
  plan.roles = way.tiles.roles;
  plan.numSplits = way.splits;
  plan.merge = way.merge;
  plan.predictedMicroseconds = way.microseconds;
  plan.measuredMicroseconds = way.measured;
  way.kernel->build(problem, plan, way.tiles);
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
  /// Of what was planned before clear() nothing is kept.
  void insert(const std::string &key, std::shared_ptr<const Plan> plan,
              uint64_t madeIn) {
    std::lock_guard lock(mutex);
    if (madeIn != cleared)
      return;
    if (plans.size() >= 4096)
      plans.clear();
    plans.emplace(key, std::move(plan));
  }
  void clear() {
    std::lock_guard lock(mutex);
    plans.clear();
    ++cleared;
  }
  uint64_t timesCleared() {
    std::lock_guard lock(mutex);
    return cleared;
  }

private:
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans;
  uint64_t cleared = 0;
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
  uint64_t begun = memo().timesCleared();
  std::shared_ptr<const Plan> made = makePlan(problem);
  memo().insert(key, made, begun);
  return made;
}

void forgetPlans() { memo().clear(); }

Support supported(const Problem &problem) noexcept {
  try {
    plan(problem);
    return {true, ""};
  } catch (const std::exception &error) {
    return {false, error.what()};
  }
}

static std::string microsecondsText(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

/// "predicted 12.3 us on rtx_pro_6000: decode 8.1 us (latency), merge 4.2 us
/// (launch)"; empty where a launch has no estimate.
static std::string predictedText(const Plan &plan) {
  if (!plan.predictedMicroseconds || plan.launches.empty())
    return "";
  Card card = cardFor(plan.problem, plan);
  double total = 0;
  std::string parts;
  std::optional<LaunchWork> before;
  for (const LaunchStep &step : plan.launches) {
    std::optional<LaunchWork> work = estimateWork(
        step.kernel.symbol, step.kernel.params, plan.problem, plan.numSplits);
    std::optional<Prediction> time = work ? predict(*work, card) : std::nullopt;
    if (!time)
      return "";
    if (before)
      time->microseconds -= hiddenMicroseconds(*before, *work, card);
    total += time->microseconds;
    parts += (parts.empty() ? "" : ", ") + step.kernel.symbol + " " +
             microsecondsText(time->microseconds) + " (" +
             std::string(name(time->limiter)) + ")";
    before = work;
  }
  std::string text =
      "predicted " + microsecondsText(total) + " on " + std::string(card.name);
  const Card *known = defaultCard(plan.target);
  if (known && card.name == known->name && card.sms != known->sms)
    text += " with " + std::to_string(card.sms) + " SMs";
  return text + ": " + parts;
}

/// One line for each kernel, tile and number of splits, with the times of its
/// merges; then kernels that take no part.
static void printCandidates(const Plan &plan, std::ostringstream &text) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Candidate &c : plan.candidates) {
    if (!c.headTile) {
      lines.emplace_back(c.kernel, c.why);
      continue;
    }
    std::string way = c.kernel + " " + std::to_string(c.headTile) + " x " +
                      std::to_string(c.candidateTile) + " (" +
                      (c.roles.empty() ? std::to_string(c.warps) : c.roles) +
                      ")";
    if (c.compute != "bf16")
      way += " " + c.compute;
    if (c.numSplits > 1)
      way += ", " + std::to_string(c.numSplits) + " splits";
    std::string time = c.microseconds ? microsecondsText(*c.microseconds)
                                      : "no predicted time";
    if (c.measured)
      time += ", measured " + microsecondsText(*c.measured);
    if (c.numSplits > 1)
      time = c.merge + " " + time;
    if (c.taken)
      time += " (taken)";
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const auto &l) { return l.first == way; });
    if (line == lines.end())
      lines.emplace_back(way, time);
    else
      line->second += ", " + time;
  }
  for (const auto &[way, times] : lines)
    text << "  - " << way << ": " << times << "\n";
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
  text << "  kernel " << kernel << (roles.empty() ? "" : ", roles " + roles)
       << ", compute " << compute << ", target " << target << ", " << numSplits
       << (numSplits == 1 ? " split" : " splits")
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
  if (!launches.empty())
    printCandidates(*this, text);
  for (const std::string &reason : reasons)
    text << "  - " << reason << "\n";
  return text.str();
}

} // namespace mlatile
