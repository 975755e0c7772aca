// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/decode.mlir: one CTA computes a tile of heads of one row over one
// split of the candidates; MergePlan.cpp has how the splits are joined.
#include "Implementations.h"
#include "KernelParameters.h"
#include "MergePlan.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"

#include <algorithm>

namespace mlatile {
namespace {
/// Splits so that all CTAs run at once and none is without a candidate tile.
int64_t planSplits(int64_t ctas, int64_t tiles, int64_t numSMs) {
  int64_t splits = std::clamp<int64_t>(numSMs / ctas, 1, tiles);
  return ceilDiv(tiles, ceilDiv(tiles, splits));
}

Preference prefer(const Problem &problem, int64_t numSMs) {
  if (problem.numSplits.value_or(1) > 1)
    return {true, "the only one with splits"};
  return {true, "no rule of another kernel holds, and its splits fill " +
                    std::to_string(numSMs) + " SMs from any number of rows"};
}

void chooseSplits(const Problem &problem, Plan &plan, const Tiles &size,
                  int64_t ctas) {
  int64_t tiles = candidateTiles(problem, size.candidates);
  std::string work = std::to_string(ctas) + " CTAs (" +
                     rowsText(problem, ceilDiv(problem.numHeads, size.heads)) +
                     "), " + std::to_string(tiles) + " candidate tiles of " +
                     std::to_string(size.candidates);
  if (!problem.numSplits) {
    plan.numSplits = planSplits(ctas, tiles, plan.numSMs);
    plan.reasons.push_back("num_splits: " + std::to_string(plan.numSplits) +
                           ", fills " + std::to_string(plan.numSMs) +
                           " SMs from " + work);
    return;
  }
  plan.numSplits = *problem.numSplits;
  bool split = plan.numSplits > 1;
  int64_t most = split ? kMaxGridX / ctas : kMaxGridX;
  if (plan.numSplits > most || (split && mergeCtas(problem) > kMaxGridX))
    throw ArgumentError(
        "num_splits",
        "expected at most " +
            std::to_string(mergeCtas(problem) > kMaxGridX ? int64_t{1} : most) +
            " for " + std::to_string(ctas) +
            " CTAs a split (CTAs on grid x), got " +
            std::to_string(plan.numSplits));
  plan.reasons.push_back("num_splits: " + std::to_string(plan.numSplits) +
                         ", as asked for; " + work);
}

void build(const Problem &problem, Plan &plan) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  chooseCompute(problem, plan);
  if (problem.numTokens == 0)
    return;

  int64_t rows = problem.numTokens;
  Tiles size = tilesOf("decode", problem);
  int64_t ctas = rowCtas(problem, size);
  chooseSplits(problem, plan, size, ctas);

  bool split = plan.numSplits > 1;
  if (split) {
    plan.counterBytes = kCounterBytes;
    int64_t entries = plan.numSplits * rows * problem.numHeads;
    plan.partials.outputs = 0;
    plan.partials.maxima = roundUp(entries * format.dimV() * 4, 256);
    plan.partials.sums = plan.partials.maxima + roundUp(entries * 4, 256);
    plan.partials.end = plan.partials.sums + roundUp(entries * 4, 256);
    plan.workspaceBytes = plan.counterBytes + plan.partials.end;
  }

  LaunchStep decode{attentionSpec("decode", problem, plan, size, split),
                    static_cast<uint32_t>(ctas * plan.numSplits),
                    split ? "rows x head tiles x splits" : "rows x head tiles"};
  decode.kernel.params["SPLIT"] = boolean(split);
  if (split)
    planMerge(problem, plan, std::move(decode), size);
  else
    plan.launches.push_back(std::move(decode));
}
} // namespace

const Implementation kDecode = {"decode", declineCommon, prefer, build};

} // namespace mlatile
