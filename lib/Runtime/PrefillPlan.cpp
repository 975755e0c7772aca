// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/prefill.mlir: one CTA walks all candidates of a row for a tile of
// heads; several groups of 16 heads share each gathered row. No splits. With
// roles no more CTAs than run at once share these items.
#include "Choice.h"
#include "Implementations.h"
#include "KernelParameters.h"
#include "KernelWork.h"
#include "Text.h"
#include "mlatile/Runtime/CostModel.h"

#include <algorithm>

namespace mlatile {
namespace {
void build(const Problem &problem, Plan &plan, const Tiles &size) {
  explainCompute(problem, plan);
  if (problem.numTokens == 0)
    return;
  int64_t ctas = rowCtas(problem, size);
  KernelSpec spec =
      attentionSpec("prefill", problem, plan, size, /*partial=*/false);
  std::string why = "rows x head tiles";
  if (isPersistent(problem, size, plan.numSMs)) {
    spec.params[kPersistent] = "true";
    why = "as many as run at once, for " + std::to_string(ctas) + " " + why;
    auto work = estimateWork("prefill", spec.params, problem, /*splits=*/1);
    int64_t each = work ? residentCtas(*work, cardFor(problem, plan)) : 1;
    ctas = std::min(ctas, std::max<int64_t>(each, 1) * plan.numSMs);
  }
  plan.launches.push_back(
      {std::move(spec), static_cast<uint32_t>(ctas), std::move(why)});
}
} // namespace

const Implementation kPrefill = {"prefill", /*hasSplits=*/false,
                                 declineWholeRow, build};

} // namespace mlatile
