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
void build(const Problem &problem, Plan &plan, const Tiles &size) {
  explainCompute(problem, plan);
  if (problem.numTokens == 0)
    return;
  int64_t ctas = rowCtas(problem, size);
  plan.launches.push_back(
      {attentionSpec("swapab", problem, plan, size, /*partial=*/false),
       static_cast<uint32_t>(ctas), "rows x head tiles"});
}
} // namespace

const Implementation kSwapAB = {"swapab", /*hasSplits=*/false, declineWholeRow,
                                build};

} // namespace mlatile
