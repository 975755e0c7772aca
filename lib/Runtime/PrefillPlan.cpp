// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/prefill.mlir: one CTA walks all candidates of a row for a tile of
// heads; several groups of 16 heads share each gathered row. No splits.
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
      {attentionSpec("prefill", problem, plan, size, /*partial=*/false),
       static_cast<uint32_t>(ctas), "rows x head tiles"});
}
} // namespace

const Implementation kPrefill = {"prefill", /*hasSplits=*/false,
                                 declineWholeRow, build};

} // namespace mlatile
