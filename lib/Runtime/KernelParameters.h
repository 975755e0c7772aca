// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the attention kernels of kernels/ have in common: parameters, tile
// sizes, reasons to decline.
#ifndef MLATILE_LIB_RUNTIME_KERNELPARAMETERS_H
#define MLATILE_LIB_RUNTIME_KERNELPARAMETERS_H

#include "mlatile/Runtime/Plan.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlatile {

/// Tile sizes of a kernel and what its warps do: parameters BH, BN, WARPS and
/// ROLES.
struct Tiles {
  int64_t heads = 0, candidates = 0, warps = 0;
  std::string roles = {}; ///< empty: equal warps

  /// Warps that hold the output.
  int64_t outputWarps() const;
  /// These four.
  std::map<std::string, std::string> params() const;
};

/// The rows of the table for this kernel and the problem's format and heads
/// that the target has room for: those that need at most a third more heads,
/// padding included, than the narrowest; equal warps first, then narrowest
/// first. What the author of a kernel file binds comes before the widest of
/// equal warps, and leaves no other. UnsupportedError where there is none.
std::vector<Tiles> allTilesOf(const std::string &kernel,
                              const Problem &problem);
/// The widest of equal warps, or what is bound.
Tiles tilesOf(const std::string &kernel, const Problem &problem);

/// Candidate tiles of a row: those of the first list, then those of the second.
int64_t candidateTiles(const Problem &problem, int64_t tile);

/// CTAs of rows x head tiles; ArgumentError where they pass grid x.
int64_t rowCtas(const Problem &problem, const Tiles &tiles);
inline constexpr int64_t kMaxGridX = 2147483647;

/// The parameter by which CTAs of prefill share all items, rows x head tiles.
inline constexpr const char *kPersistent = "PERSISTENT";
/// Whether they do: as it is bound; else where roles convert rows once, an SM
/// has several items, and an item few tiles (kernels/README.md).
bool isPersistent(const Problem &problem, const Tiles &tiles, int64_t numSMs);

/// FILE.mlir's kernel FILE with all common parameters bound: FMT, EXTRA,
/// HAS_EXTRA, HAS_LENGTH, HAS_EXTRA_LENGTH, HAS_SINK, LSE, those of the tiles.
/// With `partial` it leaves the sink and the lse to another kernel.
KernelSpec attentionSpec(const std::string &file, const Problem &problem,
                         const Plan &plan, const Tiles &tiles, bool partial);

/// Why no attention kernel takes the problem's formats, modes and caches.
std::optional<std::string> declineCommon(const Problem &problem);
/// Why a kernel that walks a row in one CTA, and that a kernel file of the
/// author's cannot stand for, does not take the problem.
std::optional<std::string> declineWholeRow(const Problem &problem);

/// A way to compute products, as in Problem::compute.
struct ComputeMode {
  std::string_view name;
  int fp8;      ///< parameter FP8
  double error; ///< bound of docs/Accuracy.md
};
/// In the order in which they are taken where times are equal.
std::span<const ComputeMode> computeModes();
/// The mode of that name; that of "auto" is the first one.
const ComputeMode &computeMode(std::string_view name);
/// Error that `auto` keeps.
inline constexpr double kAutoError = 1.5e-2;

/// Says in the plan why its compute mode is taken.
void explainCompute(const Problem &problem, Plan &plan);

const char *boolean(bool value);
/// "3 rows x 2 head tiles"
std::string rowsText(const Problem &problem, int64_t headTiles);

} // namespace mlatile
#endif
