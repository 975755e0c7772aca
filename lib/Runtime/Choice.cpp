// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Choice.h"

#include "KernelWork.h"
#include "MergePlan.h"
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
/// Tiles of a split at least: with one the loop loads nothing ahead, and times
/// of such splits are not well known.
constexpr int64_t kLeastTiles = 2;
/// CTAs of an SM for which splits are tried that fill the card's SMs.
constexpr int64_t kMostResident = 4;
/// Predicted times this near are equal: fewer splits and the merge that asks
/// for less come first.
constexpr double kTie = 1.01;

class Chooser {
public:
  Chooser(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), card(cardFor(problem, plan)) {}

  /// All ways by rising time, at least one; the taken one first.
  std::vector<Way> ways();
  /// Kernels that take no part.
  std::vector<Candidate> others;

private:
  void addTiles(const Implementation &kernel, const Tiles &tiles);
  void addSplits(const Implementation &kernel, const Tiles &tiles,
                 int64_t splits);
  void add(const Way &way) { found.push_back(way); }
  std::set<int64_t> splitCounts(int64_t ctas, int64_t tiles) const;
  std::map<std::string, std::string> params(const Tiles &tiles) const;
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
    count = std::clamp<int64_t>(count, 1, std::max(tiles / kLeastTiles, one));
    counts.insert(ceilDiv(tiles, ceilDiv(tiles, count)));
  };
  for (int64_t count : kSplitCounts)
    tryCount(count);
  for (int64_t resident = 1; resident <= kMostResident; ++resident)
    tryCount(plan.numSMs * resident / ctas);
  int64_t most = mergeCtas(problem) > kMaxGridX ? 1 : kMaxGridX / ctas;
  counts.erase(counts.upper_bound(most), counts.end());
  return counts;
}

/// What an estimate needs to know of the parameters.
std::map<std::string, std::string> Chooser::params(const Tiles &tiles) const {
  return {{"FMT", problem.kvFormat},
          {"BH", std::to_string(tiles.heads)},
          {"BN", std::to_string(tiles.candidates)},
          {"WARPS", std::to_string(tiles.warps)}};
}

void Chooser::addTiles(const Implementation &kernel, const Tiles &tiles) {
  int64_t ctas = rowCtas(problem, tiles);
  if (problem.numTokens == 0)
    return add({&kernel, tiles, 1, "none", std::nullopt});
  if (!kernel.hasSplits)
    return addSplits(kernel, tiles, 1);
  int64_t candidates = candidateTiles(problem, tiles.candidates);
  if (!problem.numSplits) {
    for (int64_t splits : splitCounts(ctas, candidates))
      addSplits(kernel, tiles, splits);
    return;
  }
  int64_t splits = *problem.numSplits;
  int64_t most = splits == 1                      ? kMaxGridX
                 : mergeCtas(problem) > kMaxGridX ? 1
                                                  : kMaxGridX / ctas;
  if (splits > most)
    throw ArgumentError("num_splits",
                        "expected at most " + std::to_string(most) + " for " +
                            std::to_string(ctas) +
                            " CTAs a split (CTAs on grid x), got " +
                            std::to_string(splits));
  addSplits(kernel, tiles, splits);
}

void Chooser::addSplits(const Implementation &kernel, const Tiles &tiles,
                        int64_t splits) {
  std::map<std::string, std::string> bound = params(tiles);
  auto time = [&](const LaunchWork &work) -> std::optional<double> {
    std::optional<Prediction> prediction = predict(work, card);
    return prediction ? std::optional(prediction->microseconds) : std::nullopt;
  };
  std::optional<LaunchWork> work =
      estimateWork(kernel.name, bound, problem, splits);
  Way way{&kernel, tiles, splits, "none", std::nullopt};
  if (splits == 1) {
    if (work)
      way.microseconds = time(*work);
    return add(way);
  }
  std::optional<LaunchWork> second = mergeWork(problem, splits);
  for (const MergeForm &form : mergeForms()) {
    if (problem.merge != "auto" && problem.merge != form.name)
      continue;
    if (auto reason = declineMerge(form, problem, plan, tiles, splits)) {
      declinedForm = *reason;
      continue;
    }
    way.merge = form.name;
    way.microseconds.reset();
    if (form.joins) {
      std::map<std::string, std::string> all = joinParams(form, tiles, splits);
      all.insert(bound.begin(), bound.end());
      if (auto joined = estimateWork(kernel.name, all, problem, splits))
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

/// Without times the way that fills the card once.
size_t Chooser::best() const {
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
  double least = 0;
  for (const Way &way : found)
    if (timed(way) && (least == 0 || *way.microseconds < least))
      least = *way.microseconds;
  // Of those near it: fewest splits, then none that wait for each other.
  auto rank = [](const Way &way) {
    return std::tuple(way.splits, std::string_view(way.merge) == "slices");
  };
  bool any = false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!timed(found[i]) || *found[i].microseconds > kTie * least)
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

std::vector<Way> Chooser::ways() {
  bool named = problem.kernel != "auto";
  for (const Implementation *kernel : kImplementations) {
    Candidate other;
    other.kernel = kernel->name;
    if (named && problem.kernel != kernel->name) {
      other.why = "passed over, `" + problem.kernel + "` is asked for";
    } else if (auto reason = kernel->decline(problem)) {
      declined += (declined.empty() ? "" : "; ") + std::string(kernel->name) +
                  ": " + *reason;
      other.why = "unable, " + *reason;
    } else {
      // By its name a kernel is asked for in its own tile.
      std::vector<Tiles> all = {tilesOf(kernel->name, problem)};
      if (!named)
        all = allTilesOf(kernel->name, problem);
      for (const Tiles &tiles : all)
        try {
          addTiles(*kernel, tiles);
        } catch (const ArgumentError &) { // too many CTAs; others have fewer
          if (!tooMany)
            tooMany = std::current_exception();
        }
      continue;
    }
    others.push_back(std::move(other));
  }
  if (found.empty() && tooMany)
    std::rethrow_exception(tooMany);
  if (found.empty() && !declinedForm.empty())
    throw UnsupportedError("merge `" + problem.merge + "`: " + declinedForm);
  if (found.empty())
    throw UnsupportedError("no kernel takes the problem: " + declined);
  size_t taken = best();
  std::rotate(found.begin(), found.begin() + static_cast<ptrdiff_t>(taken),
              found.begin() + static_cast<ptrdiff_t>(taken) + 1);
  auto key = [](const Way &way) {
    return std::tuple(way.microseconds.value_or(1e300), way.splits,
                      std::string_view(way.kernel->name), way.tiles.heads,
                      std::string_view(way.merge));
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
  return text;
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
    candidate.headTile = way.tiles.heads;
    candidate.candidateTile = way.tiles.candidates;
    candidate.warps = way.tiles.warps;
    candidate.numSplits = way.splits;
    candidate.merge = way.merge;
    candidate.microseconds = way.microseconds;
    candidate.taken = &way == &ways.front();
    candidate.why = candidate.taken ? "taken, " : "passed over, ";
    if (candidate.taken && ways.size() == 1)
      candidate.why += "the only way, ";
    candidate.why += timeText(way);
    plan.candidates.push_back(std::move(candidate));
  }
  for (Candidate &other : chooser.others)
    plan.candidates.push_back(std::move(other));
  return ways.front();
}

} // namespace mlatile
