// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the instructions of a kernel's loops in its PTX (docs/CostModel.md,
// "Counts").
#ifndef MLATILE_PIPELINES_PTXCOUNTS_H
#define MLATILE_PIPELINES_PTXCOUNTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlatile::ptx {

/// Warp instructions of one iteration, all warps of the CTA together.
struct LoopCounts {
  unsigned depth = 0; ///< loops around it
  unsigned warps = 0; ///< that may reach it
  /// By shape and types: "m16n8k16.bf16", "m16n8k32.mxf8f6f4.e4m3". A second
  /// type is that of B where it differs; ".f16acc" stands for f16 sums.
  std::map<std::string, uint64_t> mma;
  uint64_t conversions = 0; ///< cvt from or to a type of at most 16 bits
  uint64_t ldmatrix = 0;
  uint64_t asyncCopies = 0; ///< cp.async
  uint64_t bulkCopies = 0;  ///< cp.async.bulk
  uint64_t ctaBarriers = 0; ///< barrier of all threads of the CTA
  /// barrier that names its number of threads; syncs and arrivals
  uint64_t namedBarriers = 0;
  uint64_t instructions = 0; ///< all of them, those above too
  /// Bytes that ldmatrix, stmatrix, ld, st and cp.async move to or from shared
  /// memory, with all lanes active.
  uint64_t sharedBytes = 0;
  /// Loops inside whose number of iterations is not in the PTX; counted once.
  unsigned unknownLoops = 0;

  /// Adds the counts of another loop, `times` times.
  void add(const LoopCounts &other, uint64_t times = 1);
  bool copiesOrMultiplies() const {
    return !mma.empty() || asyncCopies || bulkCopies;
  }
};

struct KernelCounts {
  /// Of the kernel as it stands, each instruction once.
  uint64_t instructions = 0;
  unsigned warps = 0;
  /// All loops, each with those inside it, in the order of the text.
  std::vector<LoopCounts> loops;
};

/// Counts the kernel `name`; with an empty name, the first one.
llvm::Expected<KernelCounts> countInstructions(llvm::StringRef ptx,
                                               llvm::StringRef name = "");

} // namespace mlatile::ptx
#endif
