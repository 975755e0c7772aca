// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/swapab.mlir: candidates on the M side of the mma, heads on the N
// side, where a tile is 8 heads and not 16. One CTA walks all candidates of a
// row. No splits.
#include "Implementations.h"
#include "KernelParameters.h"
#include "Text.h"

namespace mlatile {
namespace {
/// More heads fill the 16 rows of an ordinary mma.
constexpr int64_t kMostHeads = 8;

Tiles tiles(const Problem &problem) { return tilesOf("swapab", problem); }

Preference prefer(const Problem &problem, int64_t numSMs) {
  std::string heads = std::to_string(problem.numHeads) + " heads";
  if (problem.numHeads > kMostHeads)
    return {false, heads + " fill more than half of a tile of 16"};
  if (problem.numTokens < numSMs)
    return {false, std::to_string(problem.numTokens) + " rows are less than " +
                       std::to_string(numSMs) + " SMs, and it has no splits"};
  return {true, heads + " would leave half of a tile of 16 empty, and " +
                    std::to_string(problem.numTokens) + " rows fill " +
                    std::to_string(numSMs) + " SMs without splits"};
}

void build(const Problem &problem, Plan &plan) {
  chooseCompute(problem, plan);
  if (problem.numTokens == 0)
    return;
  Tiles size = tiles(problem);
  int64_t ctas = rowCtas(problem, size);
  plan.launches.push_back(
      {attentionSpec("swapab", problem, plan, size, /*partial=*/false),
       static_cast<uint32_t>(ctas), "rows x head tiles"});
}
} // namespace

const Implementation kSwapAB = {"swapab", declineWholeRow, prefer, build};

} // namespace mlatile
