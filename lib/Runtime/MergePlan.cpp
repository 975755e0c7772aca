// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MergePlan.h"

#include "KernelWork.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlatile/Target/Target.h"

#include <algorithm>

namespace mlatile {
namespace {
// Tiles of the merge. It takes the first with which all of its CTAs run at
// once, so many on an SM; else the last. All of them have all splits at once,
// so that the bits of a row do not depend on how many there are; only beyond 32
// splits there are rounds. Warps of a head share the splits; where those are
// few a thread has them all, or each second, and no warp waits for others.
constexpr int64_t kMergeWarps = 4, kMergeResident = 4, kFewParts = 4,
                  kMostAtOnce = 32, kLeastColumns = 64; // a line of f16
constexpr struct {
  int64_t heads, columns;
  int64_t atOnce; ///< most splits that are loaded before they are added
} kMergeTiles[] = {
    {1, 128, kMostAtOnce}, {1, 256, 16}, {1, 512, 8}, {2, 512, 8}, {4, 512, 2}};

// In the order in which they are taken where times are equal.
constexpr MergeForm kForms[] = {
    {"dependent", /*joins=*/false, /*depends=*/true},
    {"slices", /*joins=*/true},
    {"cluster", /*joins=*/true, /*depends=*/false, /*clusters=*/true},
    {"launch"},
};

/// Of the `merge` kernel.
struct MergeTile {
  int64_t heads, columns, warps, atOnce;

  std::map<std::string, std::string> params() const {
    return {{"BH", std::to_string(heads)},
            {"BD", std::to_string(columns)},
            {"WARPS", std::to_string(warps)}};
  }
};

MergeTile mergeTile(const Problem &problem, int64_t numSMs, int64_t splits) {
  int64_t value = formatNamed("kv_format", problem.kvFormat).dimV();
  MergeTile tile{};
  for (auto [heads, columns, atOnce] : kMergeTiles) {
    if (problem.numHeads % heads || std::min(splits, kMostAtOnce) > atOnce)
      continue;
    tile = {heads, std::min(columns, value), kMergeWarps,
            splitsAtOnce(splits, atOnce)};
    int64_t warps = warpsOfColumns(tile.columns);
    if (heads == 1 &&
        splits * tile.columns <= kFewParts * warps * 32 * kMergeVector)
      tile.warps = warps;
    int64_t ctas = problem.numTokens * ceilDiv(problem.numHeads, heads) *
                   ceilDiv(value, tile.columns);
    if (ctas <= kMergeResident * numSMs)
      break;
  }
  return tile;
}

/// Author's files have the forms whose parameters they have.
bool hasParameter(const Problem &problem, const char *name) {
  return !problem.source ||
         problem.source->text.find(name) != std::string::npos;
}

KernelSpec mergeSpec(const Problem &problem, const Plan &plan, bool dependent) {
  KernelSpec spec;
  spec.file = "decode";
  spec.symbol = "merge";
  MergeTile tile = mergeTile(problem, plan.numSMs, plan.numSplits);
  spec.params = tile.params();
  spec.params["HAS_SINK"] = boolean(problem.hasSink);
  spec.params["LSE"] = std::to_string(static_cast<int>(problem.lse));
  if (hasParameter(problem, "AT_ONCE"))
    spec.params["AT_ONCE"] = std::to_string(tile.atOnce);
  if (dependent)
    spec.params["DEPENDENT"] = "true";
  spec.target = plan.target;
  spec.source = problem.source;
  return spec;
}

/// CTAs that surely run at the same time on an empty card, before the kernel is
/// compiled: one on each SM, or more where the most registers that a thread can
/// have and an ample estimate of shared memory leave room.
int64_t residentCtas(const Problem &problem, const Plan &plan,
                     const Tiles &tiles) {
  constexpr int64_t kMostRegisters = 256; // 255, in whole eights
  constexpr int64_t kReservedShared = 1024;
  const Target &target = targetNamed(plan.target);
  int64_t each = 1;
  std::map<std::string, std::string> params = tiles.params();
  params["FMT"] = problem.kvFormat;
  if (auto work = estimateWork("decode", params, problem, 1)) {
    int64_t threads = std::max<int64_t>(work->threads, 32);
    int64_t shared =
        work->sharedBytes + work->sharedBytes / 4 + kReservedShared;
    each = std::min({ctasByRegisters(target.registersPerSM, kMostRegisters,
                                     ceilDiv(threads, 32)),
                     target.sharedBytesPerSM / shared,
                     target.maxThreadsPerSM / threads,
                     int64_t{target.maxBlocksPerSM}});
    each = std::max<int64_t>(each, 1);
  }
  return each * plan.numSMs;
}

std::optional<std::string> declineDependent(const Problem &problem,
                                            const Plan &plan) {
  if (!targetNamed(plan.target).has(Feature::DependentLaunch))
    return "target " + plan.target + " has no dependent launches";
  if (!hasParameter(problem, "DEPENDENT"))
    return "kernel file `" + problem.source->name +
           "` has no parameter DEPENDENT";
  return std::nullopt;
}

std::optional<std::string> declineSlices(const Problem &problem,
                                         const Plan &plan, const Tiles &tiles,
                                         int64_t splits) {
  if (!hasParameter(problem, "SLICES"))
    return "kernel file `" + problem.source->name + "` has no parameter SLICES";
  int64_t counters = rowCtas(problem, tiles), grid = counters * splits;
  if (int64_t resident = residentCtas(problem, plan, tiles); grid > resident)
    return std::to_string(grid) + " CTAs would wait for each other, and only " +
           std::to_string(resident) + " are known to run at the same time";
  if (counters > kCounterBytes / 4)
    return std::to_string(counters) + " counters are more than there are (" +
           std::to_string(kCounterBytes / 4) + ")";
  return std::nullopt;
}

/// Asked for by name, clusters are taken wherever they run; else where targets
/// gain from them, on grids that do not wait for places of whole clusters. They
/// join sums that no store has rounded, so that a number of splits which is
/// asked for does not get them by chance.
std::optional<std::string> declineCluster(const Problem &problem,
                                          const Plan &plan, const Tiles &tiles,
                                          int64_t splits) {
  for (const char *parameter : {"CLUSTER", "JOIN"})
    if (!hasParameter(problem, parameter))
      return "kernel file `" + problem.source->name + "` has no parameter " +
             parameter;
  if (splits > kMostClustered)
    return "expected at most " + std::to_string(kMostClustered) +
           " splits, the blocks of a cluster, got " + std::to_string(splits);
  if (!tiles.roles.empty())
    return "blocks of a cluster read tiles of equal warps, not those of roles "
           "`" +
           tiles.roles + "`";
  if (problem.merge != "auto")
    return std::nullopt;
  if (!targetNamed(plan.target).has(Feature::FastClusters))
    return "target " + plan.target + " gains nothing from clusters";
  if (problem.numSplits)
    return "the bits of a number of splits that is asked for would depend on "
           "how many rows there are";
  if (int64_t grid = rowCtas(problem, tiles) * splits; grid > plan.numSMs)
    return "clusters of " + std::to_string(grid) + " CTAs would wait for the " +
           std::to_string(plan.numSMs) + " SMs";
  return std::nullopt;
}

const MergeForm &formNamed(const std::string &name) {
  for (const MergeForm &form : kForms)
    if (form.name == name)
      return form;
  throw ArgumentError("merge", "expected a form of merge, got `" + name + "`");
}

/// The sink and the lse belong to who joins the splits.
void giveResults(const Problem &problem, KernelSpec &kernel) {
  kernel.params["HAS_SINK"] = boolean(problem.hasSink);
  kernel.params["LSE"] = std::to_string(static_cast<int>(problem.lse));
}
} // namespace

std::span<const MergeForm> mergeForms() { return kForms; }

std::map<std::string, std::string> joinParams(const MergeForm &form,
                                              const Problem &problem,
                                              const Tiles &tiles,
                                              int64_t splits) {
  std::map<std::string, std::string> params;
  if (!form.joins)
    return params;
  // 16 bytes of each thread and split, of f16, or in clusters of f32.
  int64_t columns =
      tiles.outputWarps() * 32 * (form.clusters ? kPeerVector : kMergeVector);
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  if (!form.clusters && hasParameter(problem, "AT_ONCE")) {
    // All splits at once, as in a launch of its own.
    int64_t atOnce = splitsAtOnce(splits, kMostAtOnce);
    params["AT_ONCE"] = std::to_string(atOnce);
    columns = std::max(columns * kFewParts / atOnce, kLeastColumns);
  }
  params["MERGE_BD"] =
      std::to_string(std::min<int64_t>(columns, format.dimV()));
  if (form.clusters) {
    params["CLUSTER"] = std::to_string(splits);
    params["JOIN"] = std::to_string(ceilDiv(tiles.heads, splits));
  } else {
    params["SLICES"] = "true";
  }
  return params;
}

std::optional<std::string> declineMerge(const MergeForm &form,
                                        const Problem &problem,
                                        const Plan &plan, const Tiles &tiles,
                                        int64_t splits) {
  if (form.clusters)
    return declineCluster(problem, plan, tiles, splits);
  if (form.joins)
    return declineSlices(problem, plan, tiles, splits);
  return form.depends ? declineDependent(problem, plan) : std::nullopt;
}

int64_t mergeCtas(const Problem &problem, int64_t numSMs, int64_t splits) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  MergeTile tile = mergeTile(problem, numSMs, splits);
  return problem.numTokens * ceilDiv(problem.numHeads, tile.heads) *
         ceilDiv(format.dimV(), tile.columns);
}

std::optional<LaunchWork> mergeWork(const Problem &problem, int64_t numSMs,
                                    int64_t splits) {
  MergeTile tile = mergeTile(problem, numSMs, splits);
  auto params = tile.params();
  params["AT_ONCE"] = std::to_string(tile.atOnce);
  return estimateWork("merge", params, problem, splits);
}

void addMerge(const Problem &problem, Plan &plan, LaunchStep decode,
              const Tiles &tiles) {
  std::string why = ", as asked for";
  if (problem.merge == "auto") {
    why = ", of the least predicted time";
    for (const MergeForm &form : kForms)
      if (auto reason =
              declineMerge(form, problem, plan, tiles, plan.numSplits))
        why += "; " + std::string(form.name) + ": " + *reason;
  }
  const MergeForm &form = formNamed(plan.merge);
  if (form.joins) {
    giveResults(problem, decode.kernel);
    // Sizes that are bound already stay.
    decode.kernel.params.merge(
        joinParams(form, problem, tiles, plan.numSplits));
    if (form.clusters) {
      decode.kernel.params["SPLIT"] = "false"; // nothing is stored between
      plan.reasons.push_back(
          "merge: cluster, each CTA joins a part of its row and head tile out "
          "of the shared memory of the " +
          std::to_string(plan.numSplits) + " that have a split of it" + why);
    } else {
      int64_t resident = residentCtas(problem, plan, tiles);
      decode.resident = static_cast<uint32_t>(std::min(resident, kMaxGridX));
      plan.reasons.push_back(
          "merge: slices, each CTA joins a part of its row and head tile once "
          "all splits are there; all " +
          std::to_string(decode.grid) + " CTAs run at the same time (" +
          std::to_string(resident) + " do)" + why);
    }
    plan.launches.push_back(std::move(decode));
    return;
  }
  bool depends = form.depends;
  plan.reasons.push_back(
      "merge: " + plan.merge +
      (depends ? ", a second launch that begins while the first ends"
               : ", a second launch") +
      why);
  if (depends)
    decode.kernel.params["DEPENDENT"] = "true";
  plan.launches.push_back(std::move(decode));
  LaunchStep merge{
      mergeSpec(problem, plan, depends),
      static_cast<uint32_t>(mergeCtas(problem, plan.numSMs, plan.numSplits)),
      "joins the splits, rows x head tiles x columns of the value"};
  merge.dependent = depends;
  plan.launches.push_back(std::move(merge));
}

} // namespace mlatile
