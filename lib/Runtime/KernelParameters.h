// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the attention kernels of kernels/ have in common: parameters, tile
// sizes, reasons to decline.
#ifndef MLATILE_LIB_RUNTIME_KERNELPARAMETERS_H
#define MLATILE_LIB_RUNTIME_KERNELPARAMETERS_H

#include "mlatile/Runtime/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace mlatile {

/// Tile sizes of a kernel: parameters BH, BN and WARPS.
struct Tiles {
  int64_t heads = 0, candidates = 0, warps = 0;
};

/// The rows of the table for this kernel and the problem's format and heads,
/// narrowest first: those that need at most a third more heads, padding
/// included, than the narrowest. What the author of a kernel file binds comes
/// before the widest of them, and leaves no other. UnsupportedError where there
/// is none.
std::vector<Tiles> allTilesOf(const std::string &kernel,
                              const Problem &problem);
/// The last of them.
Tiles tilesOf(const std::string &kernel, const Problem &problem);

/// Candidate tiles of a row: those of the first list, then those of the second.
int64_t candidateTiles(const Problem &problem, int64_t tile);

/// CTAs of rows x head tiles; ArgumentError where they pass grid x.
int64_t rowCtas(const Problem &problem, const Tiles &tiles);
inline constexpr int64_t kMaxGridX = 2147483647;

/// FILE.mlir's kernel FILE with all common parameters bound: FMT, EXTRA,
/// HAS_EXTRA, HAS_LENGTH, HAS_EXTRA_LENGTH, HAS_SINK, LSE, BH, BN, WARPS. With
/// `partial` it leaves the sink and the lse to another kernel.
KernelSpec attentionSpec(const std::string &file, const Problem &problem,
                         const Plan &plan, const Tiles &tiles, bool partial);

/// Why no attention kernel takes the problem's formats, modes and caches.
std::optional<std::string> declineCommon(const Problem &problem);
/// Why a kernel that walks a row in one CTA, and that a kernel file of the
/// author's cannot stand for, does not take the problem.
std::optional<std::string> declineWholeRow(const Problem &problem);

/// Notes the compute mode in the plan.
void chooseCompute(const Problem &problem, Plan &plan);

const char *boolean(bool value);
/// "3 rows x 2 head tiles"
std::string rowsText(const Problem &problem, int64_t headTiles);

} // namespace mlatile
#endif
