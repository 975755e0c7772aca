// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel of kernels/ does for a problem, for the cost model: sizes from
// its parameters, counts by formulas until it is compiled.
#ifndef MLATILE_LIB_RUNTIME_KERNELWORK_H
#define MLATILE_LIB_RUNTIME_KERNELWORK_H

#include "mlatile/Runtime/CostModel.h"
#include "mlatile/Runtime/Problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mlatile {

/// The launch of kernel `name` with these parameters for a problem in `splits`
/// splits. Nothing where the parameters are not those of an attention kernel
/// or of a merge (KernelParameters.h).
std::optional<LaunchWork>
estimateWork(std::string_view name,
             const std::map<std::string, std::string> &params,
             const Problem &problem, int64_t splits);

/// Splits that the step which joins them takes at once
/// (kernels/steps/merge.mlir): the least power of two from 2 to `most` that has
/// room for all of them.
int64_t splitsAtOnce(int64_t splits, int64_t most);
/// Columns of a partial result that a thread loads at once: of f16, and of f32
/// in clusters.
inline constexpr int64_t kMergeVector = 8, kPeerVector = 4;
/// Warps that so many columns of f16 take.
inline int64_t warpsOfColumns(int64_t columns) {
  return std::max<int64_t>(columns / (32 * kMergeVector), 1);
}

} // namespace mlatile
#endif
