// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FloorKernels.h"

#include "mlatile/Runtime/Refinement.h"

#include <set>

namespace mlatile::bench {
namespace {
KernelSpec floorKernel(const char *symbol,
                       std::map<std::string, std::string> params,
                       const std::string &target) {
  return {"floors", symbol, std::move(params), target, nullptr};
}

constexpr int64_t kMostSplits = 64;
constexpr int64_t kSplitTile = 64;
} // namespace

std::vector<MmaTile> mmaTiles() {
  return {{128, 128, 32, 4}, {256, 128, 32, 8}, {128, 64, 64, 4}};
}

KernelSpec gatherKernel(const std::string &format, const std::string &target) {
  return floorKernel(
      "gather", {{"FMT", format}, {"BN", std::to_string(kGatherTile)}}, target);
}

KernelSpec mmaKernel(const MmaTile &tile, const std::string &target) {
  return floorKernel("mma",
                     {{"M", std::to_string(tile.rows)},
                      {"N", std::to_string(tile.columns)},
                      {"K", std::to_string(tile.depth)},
                      {"WARPS", std::to_string(tile.warps)}},
                     target);
}

KernelSpec readKernel(const std::string &target) {
  return floorKernel("read",
                     {{"ROWS", std::to_string(kReadRows)},
                      {"COLUMNS", std::to_string(kReadColumns)}},
                     target);
}

std::vector<KernelSpec> floorKernels(const std::vector<Problem> &problems,
                                     const std::string &target) {
  std::vector<KernelSpec> kernels = {readKernel(target)};
  for (const MmaTile &tile : mmaTiles())
    kernels.push_back(mmaKernel(tile, target));
  std::set<std::string> formats;
  for (const Problem &problem : problems)
    if (formats.insert(problem.kvFormat).second)
      kernels.push_back(gatherKernel(problem.kvFormat, target));
  return kernels;
}

std::vector<Problem> waysOf(const Problem &problem) {
  std::vector<Problem> ways = {problem};
  std::shared_ptr<const Plan> planned = plan(problem);
  std::set<std::string> seen;
  auto add = [&](const Problem &way) {
    Support support = supported(way);
    if (!support.ok)
      return;
    std::shared_ptr<const Plan> made = plan(way);
    std::string key = made->compute + " " + std::to_string(made->numSplits) +
                      " " + made->merge;
    for (const LaunchStep &step : made->launches)
      key += " " + step.kernel.name();
    if (seen.insert(key).second && made != planned)
      ways.push_back(way);
  };
  add(problem);
  int64_t candidates = problem.width + problem.extraWidth.value_or(0);
  std::set<std::string> tiles;
  for (const Candidate &candidate : planned->candidates) {
    // With roles in each of their tiles, else in the kernel's own.
    if (!tiles
             .insert(candidate.kernel + candidate.compute + candidate.roles +
                     std::to_string(
                         candidate.roles.empty() ? 0 : candidate.headTile))
             .second)
      continue;
    Problem way = problem;
    if (!candidate.roles.empty())
      way = asking(problem, candidate);
    way.kernel = candidate.kernel;
    if (candidate.headTile)
      way.compute = candidate.compute;
    way.numSplits.reset(); // as planned
    way.merge = problem.merge;
    add(way);
    for (int64_t splits = 1;
         splits <= kMostSplits && (splits - 1) * kSplitTile < candidates;
         splits *= 2) {
      way.numSplits = splits;
      for (const char *merge : {"launch", "dependent", "slices", "cluster"}) {
        way.merge = splits == 1 ? problem.merge : merge;
        add(way);
      }
    }
  }
  for (const Candidate &near : waysToMeasure(problem))
    add(asking(problem, near));
  return ways;
}

} // namespace mlatile::bench
