// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Choice.h"

#include "KernelWork.h"
#include "MergePlan.h"
#include "RefinementFile.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Target.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace mlatile {
namespace {
/// In the order in which they are taken where times are equal.
constexpr const Implementation *kImplementations[] = {&kDecode, &kPrefill,
                                                      &kSwapAB};
constexpr int64_t kSplitCounts[] = {1, 2, 4, 8, 16, 32, 64};
/// A merge of so many has the most CTAs.
constexpr int64_t kMostSplits = 64;
/// CTAs of an SM for which splits are tried that fill the card's SMs.
constexpr int64_t kMostResident = 4;
/// Predicted times this near are equal: fewer splits and the merge that asks
/// for less come first.
constexpr double kTie = 1.01;
/// What a mode that is less near must gain.
constexpr double kModeGain = 1.05;

class Chooser {
public:
  Chooser(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), card(cardFor(problem, plan)) {}

  /// All ways by rising time, at least one; the taken one first.
  std::vector<Way> ways();
  /// What became of the refinement in use; empty where there is none.
  std::string refined;
  /// Kernels that take no part.
  std::vector<Candidate> others;

private:
  void addKernel(const Implementation &kernel);
  void addMode(const Implementation &kernel, const Problem &inMode);
  void addTiles(Way way);
  void addSplits(Way way);
  void add(const Way &way) { found.push_back(way); }
  std::set<int64_t> splitCounts(int64_t ctas, int64_t tiles) const;
  std::map<std::string, std::string> params(const Way &way) const;
  void refine();
  size_t best() const;

  const Problem &problem;
  const Plan &plan;
  Card card;
  std::vector<Way> found;
  std::string declined;     ///< kernels and reasons
  std::string declinedForm; ///< of the merge that is asked for
  std::exception_ptr tooMany;
};

/// Splits of which none is empty: numbers with as many tiles in the longest
/// split as a smaller number has are left out.
std::set<int64_t> Chooser::splitCounts(int64_t ctas, int64_t tiles) const {
  std::set<int64_t> counts;
  constexpr int64_t one = 1;
  auto tryCount = [&](int64_t count) {
    count = std::clamp<int64_t>(count, 1, std::max(tiles, one));
    counts.insert(ceilDiv(tiles, ceilDiv(tiles, count)));
  };
  for (int64_t count : kSplitCounts)
    tryCount(count);
  for (int64_t resident = 1; resident <= kMostResident; ++resident)
    tryCount(plan.numSMs * resident / ctas);
  int64_t most = mergeCtas(problem, plan.numSMs, kMostSplits) > kMaxGridX
                     ? 1
                     : kMaxGridX / ctas;
  counts.erase(counts.upper_bound(most), counts.end());
  return counts;
}

/// What an estimate needs to know of the parameters.
std::map<std::string, std::string> Chooser::params(const Way &way) const {
  std::map<std::string, std::string> params = way.tiles.params();
  params["FMT"] = problem.kvFormat;
  params["FP8"] = std::to_string(computeMode(way.compute).fp8);
  if (way.kernel == &kPrefill && isPersistent(problem, way.tiles, plan.numSMs))
    params[kPersistent] = "true";
  return params;
}

void Chooser::addTiles(Way way) {
  int64_t ctas = rowCtas(problem, way.tiles);
  if (problem.numTokens == 0)
    return add(way);
  if (!way.kernel->hasSplits)
    return addSplits(way);
  int64_t candidates = candidateTiles(problem, way.tiles.candidates);
  if (!problem.numSplits) {
    for (int64_t splits : splitCounts(ctas, candidates)) {
      way.splits = splits;
      addSplits(way);
    }
    return;
  }
  way.splits = *problem.numSplits;
  if (int64_t joining = mergeCtas(problem, plan.numSMs, way.splits);
      way.splits > 1 && joining > kMaxGridX)
    throw ArgumentError(
        "num_splits",
        "expected splits whose merge has at most " + std::to_string(kMaxGridX) +
            " CTAs (on grid x), got " + std::to_string(way.splits) +
            ", whose merge has " + std::to_string(joining));
  int64_t most = way.splits == 1 ? kMaxGridX : kMaxGridX / ctas;
  if (way.splits > most)
    throw ArgumentError("num_splits",
                        "expected at most " + std::to_string(most) + " for " +
                            std::to_string(ctas) +
                            " CTAs a split (CTAs on grid x), got " +
                            std::to_string(way.splits));
  addSplits(way);
}

void Chooser::addSplits(Way way) {
  std::map<std::string, std::string> bound = params(way);
  auto time = [&](const LaunchWork &work) -> std::optional<double> {
    std::optional<Prediction> prediction = predict(work, card);
    return prediction ? std::optional(prediction->microseconds) : std::nullopt;
  };
  std::optional<LaunchWork> work =
      estimateWork(way.kernel->name, bound, problem, way.splits);
  if (way.splits == 1) {
    if (work)
      way.microseconds = time(*work);
    return add(way);
  }
  std::optional<LaunchWork> second =
      mergeWork(problem, plan.numSMs, way.splits);
  for (const MergeForm &form : mergeForms()) {
    if (problem.merge != "auto" && problem.merge != form.name)
      continue;
    if (auto reason =
            declineMerge(form, problem, plan, way.tiles, way.splits)) {
      declinedForm = *reason;
      continue;
    }
    way.merge = form.name;
    way.microseconds.reset();
    if (form.joins) {
      std::map<std::string, std::string> all =
          joinParams(form, problem, way.tiles, way.splits);
      all.insert(bound.begin(), bound.end());
      if (auto joined =
              estimateWork(way.kernel->name, all, problem, way.splits))
        way.microseconds = time(*joined);
    } else if (work && second) {
      std::optional<double> before = time(*work), after = time(*second);
      if (before && after)
        way.microseconds = *before + *after;
      second->dependent = form.depends;
      if (way.microseconds)
        *way.microseconds -= hiddenMicroseconds(*work, *second, card);
    }
    add(way);
  }
}

/// Times that were measured.
void Chooser::refine() {
  std::shared_ptr<const RefinementFile> file = refinementInUse();
  if (!file)
    return;
  const RefinementEntry *entry = file->find(problem, plan, refined);
  refined = "refinement `" + file->path + "`: " + refined;
  if (!entry)
    return;
  int count = 0;
  for (Way &way : found)
    for (const Candidate &known : entry->ways)
      if (way.kernel->name == known.kernel && way.compute == known.compute &&
          way.tiles.heads == known.headTile &&
          way.tiles.candidates == known.candidateTile &&
          way.tiles.warps == known.warps && way.tiles.roles == known.roles &&
          way.splits == known.numSplits && way.merge == known.merge) {
        way.measured = known.measured;
        ++count;
      }
  refined += ", of " + std::to_string(count) + " of " +
             std::to_string(found.size()) + " ways";
}

/// Of measured ways the fastest. Without any times the way that fills the card
/// once.
size_t Chooser::best() const {
  const Way *fastest = nullptr;
  for (const Way &way : found)
    if (way.measured && (!fastest || *way.measured < *fastest->measured))
      fastest = &way;
  if (fastest)
    return static_cast<size_t>(fastest - found.data());
  auto timed = [](const Way &way) { return way.microseconds.has_value(); };
  size_t taken = 0;
  if (!std::any_of(found.begin(), found.end(), timed)) {
    for (size_t i = 1; i < found.size(); ++i)
      if (found[i].kernel == found[0].kernel &&
          found[i].splits > found[taken].splits &&
          found[i].splits * rowCtas(problem, found[i].tiles) <= plan.numSMs)
        taken = i;
    return taken;
  }
  // Of modes that are less near only where they are well ahead.
  const double *least = nullptr;
  std::string_view mode;
  for (const ComputeMode &each : computeModes()) {
    const double *fastest = nullptr;
    for (const Way &way : found)
      if (timed(way) && way.compute == each.name &&
          (!fastest || *way.microseconds < *fastest))
        fastest = &*way.microseconds;
    if (fastest && (!least || *fastest * kModeGain < *least)) {
      least = fastest;
      mode = each.name;
    }
  }
  // Of those near it: fewest splits, then none that wait for each other.
  auto rank = [](const Way &way) {
    return std::tuple(way.splits, std::string_view(way.merge) == "slices");
  };
  bool any = false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!timed(found[i]) || found[i].compute != mode ||
        *found[i].microseconds > kTie * *least)
      continue;
    if (any && (rank(found[i]) > rank(found[taken]) ||
                (rank(found[i]) == rank(found[taken]) &&
                 *found[i].microseconds >= *found[taken].microseconds)))
      continue;
    taken = i;
    any = true;
  }
  return taken;
}

/// The ways of a kernel in one mode. By its name a kernel is asked for in its
/// own tile, and in its nearest mode (below): neither depends on how many rows
/// a call has, nor do the bits of a row, in one number of splits.
void Chooser::addMode(const Implementation &kernel, const Problem &inMode) {
  std::vector<Tiles> all = {tilesOf(kernel.name, inMode)};
  if (problem.kernel == "auto")
    all = allTilesOf(kernel.name, inMode);
  for (Tiles &tiles : all)
    try {
      addTiles({&kernel, inMode.compute, std::move(tiles), 1, "none", {}, {}});
    } catch (const ArgumentError &) { // too many CTAs; others have fewer
      if (!tooMany)
        tooMany = std::current_exception();
    }
}

/// All that a kernel can do, or why it takes no part.
void Chooser::addKernel(const Implementation &kernel) {
  Candidate other;
  other.kernel = kernel.name;
  std::optional<std::string> reason;
  if (problem.kernel != "auto" && problem.kernel != kernel.name) {
    other.why = "passed over, `" + problem.kernel + "` is asked for";
    others.push_back(std::move(other));
    return;
  }
  Problem inMode = problem;
  for (const ComputeMode &mode : computeModes()) {
    bool isAuto = problem.compute == "auto";
    if (isAuto ? mode.error > kAutoError : problem.compute != mode.name)
      continue;
    if (isAuto && mode.fp8 && problem.kernel != "auto")
      continue;
    inMode.compute = mode.name;
    std::optional<std::string> declines = kernel.decline(inMode);
    if (!declines)
      addMode(kernel, inMode);
    // That of the nearest mode says why the kernel is unable.
    if (!reason && (!isAuto || mode.fp8 == 0))
      reason = declines;
  }
  if (!reason)
    return;
  declined += (declined.empty() ? "" : "; ") + std::string(kernel.name) + ": " +
              *reason;
  other.why = "unable, " + *reason;
  others.push_back(std::move(other));
}

std::vector<Way> Chooser::ways() {
  for (const Implementation *kernel : kImplementations)
    addKernel(*kernel);
  if (found.empty() && tooMany)
    std::rethrow_exception(tooMany);
  if (found.empty() && !declinedForm.empty())
    throw UnsupportedError("merge `" + problem.merge + "`: " + declinedForm);
  if (found.empty())
    throw UnsupportedError("no kernel takes the problem: " + declined);
  refine();
  size_t taken = best();
  std::rotate(found.begin(), found.begin() + static_cast<ptrdiff_t>(taken),
              found.begin() + static_cast<ptrdiff_t>(taken) + 1);
  auto key = [](const Way &way) {
    return std::tuple(way.microseconds.value_or(1e300), way.splits,
                      std::string_view(way.kernel->name), way.tiles.heads,
                      std::string_view(way.tiles.roles),
                      std::string_view(way.merge),
                      std::string_view(way.compute));
  };
  std::sort(found.begin() + 1, found.end(),
            [&](const Way &a, const Way &b) { return key(a) < key(b); });
  return found;
}

std::string timeText(const Way &way) {
  if (!way.microseconds)
    return "no predicted time";
  char text[48];
  std::snprintf(text, sizeof text, "predicted %.1f us", *way.microseconds);
  if (!way.measured)
    return text;
  char measured[48];
  std::snprintf(measured, sizeof measured, ", measured %.1f us", *way.measured);
  return std::string(text) + measured;
}
} // namespace

Card cardFor(const Problem &problem, const Plan &plan) {
  const Card *stands = defaultCard(plan.target);
  Card card = stands ? *stands : cards().front();
  if (!stands) // no card of this target is known
    card.target = targetNamed(plan.target).name;
  for (const Card &other : cards())
    if (problem.numSMs && other.target == plan.target &&
        other.sms == plan.numSMs)
      return other;
  card.sms = static_cast<int>(plan.numSMs);
  return card;
}

Way choose(const Problem &problem, Plan &plan) {
  Chooser chooser(problem, plan);
  std::vector<Way> ways = chooser.ways();
  for (const Way &way : ways) {
    Candidate candidate;
    candidate.kernel = way.kernel->name;
    candidate.compute = way.compute;
    candidate.headTile = way.tiles.heads;
    candidate.candidateTile = way.tiles.candidates;
    candidate.warps = way.tiles.warps;
    candidate.roles = way.tiles.roles;
    candidate.numSplits = way.splits;
    candidate.merge = way.merge;
    candidate.microseconds = way.microseconds;
    candidate.measured = way.measured;
    candidate.taken = &way == &ways.front();
    candidate.why = candidate.taken ? "taken, " : "passed over, ";
    if (candidate.taken && ways.size() == 1)
      candidate.why += "the only way, ";
    candidate.why += timeText(way);
    plan.candidates.push_back(std::move(candidate));
  }
  if (!chooser.refined.empty())
    plan.reasons.push_back(chooser.refined);
  for (Candidate &other : chooser.others)
    plan.candidates.push_back(std::move(other));
  return ways.front();
}

Problem asking(const Problem &problem, const Candidate &candidate) {
  Problem asked = problem;
  asked.kernel = candidate.kernel;
  if (!candidate.headTile) // it takes no part
    return asked;
  asked.compute = candidate.compute;
  asked.numSplits = candidate.numSplits;
  if (candidate.numSplits > 1)
    asked.merge = candidate.merge;
  Tiles tiles{candidate.headTile, candidate.candidateTile, candidate.warps,
              candidate.roles};
  for (auto &[name, value] : tiles.params())
    asked.params[name] = value;
  return asked;
}

} // namespace mlatile
