// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/decode.mlir: one CTA computes a tile of heads of one row over one
// split of the candidates; MergePlan.cpp has how the splits are joined.
#include "Implementations.h"
#include "KernelParameters.h"
#include "MergePlan.h"
#include "Text.h"
#include "mlatile/Target/Format.h"

namespace mlatile {
namespace {
void build(const Problem &problem, Plan &plan, const Tiles &size) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  explainCompute(problem, plan);
  if (problem.numTokens == 0)
    return;

  int64_t rows = problem.numTokens;
  int64_t ctas = rowCtas(problem, size);
  plan.reasons.push_back(
      "num_splits: " + std::to_string(plan.numSplits) +
      (problem.numSplits ? ", as asked for; "
                         : ", of the least predicted time; ") +
      std::to_string(ctas) + " CTAs (" +
      rowsText(problem, ceilDiv(problem.numHeads, size.heads)) + "), " +
      std::to_string(candidateTiles(problem, size.candidates)) +
      " candidate tiles of " + std::to_string(size.candidates));

  bool split = plan.numSplits > 1;
  if (split && plan.merge != "cluster") {
    plan.counterBytes = kCounterBytes;
    int64_t entries = plan.numSplits * rows * problem.numHeads;
    plan.partials.outputs = 0;
    plan.partials.units = roundUp(entries * format.dimV() * 2, 256);
    plan.partials.maxima = plan.partials.units + roundUp(entries * 4, 256);
    plan.partials.sums = plan.partials.maxima + roundUp(entries * 4, 256);
    plan.partials.end = plan.partials.sums + roundUp(entries * 4, 256);
    plan.workspaceBytes = plan.counterBytes + plan.partials.end;
  }

  LaunchStep decode{attentionSpec("decode", problem, plan, size, split),
                    static_cast<uint32_t>(ctas * plan.numSplits),
                    split ? "rows x head tiles x splits" : "rows x head tiles"};
  decode.kernel.params["SPLIT"] = boolean(split);
  if (split)
    addMerge(problem, plan, std::move(decode), size);
  else
    plan.launches.push_back(std::move(decode));
}
} // namespace

const Implementation kDecode = {"decode", /*hasSplits=*/true, declineCommon,
                                build};

} // namespace mlatile
