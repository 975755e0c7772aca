// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of floors.mlir, and which kernels a measurement of a problem
// takes. Needs no device, so that they can be built ahead.
#ifndef MLATILE_TOOLS_BENCH_FLOORKERNELS_H
#define MLATILE_TOOLS_BENCH_FLOORKERNELS_H

#include "mlatile/Runtime/Plan.h"

#include <string>
#include <vector>

namespace mlatile::bench {

/// One choice of tile sizes for the floor of mma.
struct MmaTile {
  int64_t rows, columns, depth, warps;
};
std::vector<MmaTile> mmaTiles();

inline constexpr int64_t kGatherTile = 32; ///< rows a tile of the gather
inline constexpr int64_t kReadRows = 8, kReadColumns = 512; ///< f32, a tile

KernelSpec gatherKernel(const std::string &format, const std::string &target);
KernelSpec mmaKernel(const MmaTile &tile, const std::string &target);
KernelSpec readKernel(const std::string &target);

/// All that mlatile-bench launches besides the problems' own kernels.
std::vector<KernelSpec> floorKernels(const std::vector<Problem> &problems,
                                     const std::string &target);

/// The problem, its planned way first, then every other way: each kernel that
/// takes it, and one with splits in 1, 2, 4, ... as long as every split has a
/// tile of 64 candidates.
std::vector<Problem> waysOf(const Problem &problem);

} // namespace mlatile::bench
#endif
