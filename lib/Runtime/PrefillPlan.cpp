// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/prefill.mlir: one CTA walks all candidates of a row for a tile of
// heads; several groups of 16 heads share each gathered row. No splits.
#include "Implementations.h"
#include "KernelParameters.h"
#include "Text.h"

namespace mlatile {
namespace {
Tiles tiles(const Problem &problem) { return tilesOf("prefill", problem); }

Preference prefer(const Problem &problem, int64_t numSMs) {
  int64_t heads = tiles(problem).heads;
  int64_t headTiles = ceilDiv(problem.numHeads, heads);
  std::string work = rowsText(problem, headTiles);
  if (heads <= 16)
    return {false, "its head tile is one group of 16: nothing would share a "
                   "gathered row"};
  if (problem.numTokens * headTiles < numSMs)
    return {false, work + " of " + std::to_string(heads) + " are less than " +
                       std::to_string(numSMs) + " SMs, and it has no splits"};
  return {true, work + " of " + std::to_string(heads) + " fill " +
                    std::to_string(numSMs) +
                    " SMs without splits, and its heads share gathered rows"};
}

void build(const Problem &problem, Plan &plan) {
  chooseCompute(problem, plan);
  if (problem.numTokens == 0)
    return;
  Tiles size = tiles(problem);
  int64_t ctas = rowCtas(problem, size);
  plan.launches.push_back(
      {attentionSpec("prefill", problem, plan, size, /*partial=*/false),
       static_cast<uint32_t>(ctas), "rows x head tiles"});
}
} // namespace

const Implementation kPrefill = {"prefill", declineWholeRow, prefer, build};

} // namespace mlatile
