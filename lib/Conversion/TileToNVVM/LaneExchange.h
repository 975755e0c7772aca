// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring lanes exchange registers so that each has longer pieces of a
// row.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_LANEEXCHANGE_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_LANEEXCHANGE_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace mlatile {

/// An accumulator of `mma` gives a lane two neighbours of a row, and the four
/// lanes of a quad eight: four bytes a lane of a 16-bit tile, where a store
/// moves up to 16. A step swaps a bit of the lane with the lowest bit of the
/// repetitions along the row: lanes 0 and 1 with
///
///   a0 a1 | a2 a3  of one repetition and  b0 b1 | b2 b3  of the next
///
/// then have a0 a1 a2 a3 and b0 b1 b2 b3.
class LaneExchange {
public:
  /// For pieces along the last dimension of elements of `bytes` (2 or 4); empty
  /// where no step makes them longer.
  static std::optional<LaneExchange> plan(const DistributedLayout &from,
                                          int bytes);

  /// The repetitions along the last dimension that come out even for pieces of
  /// 16 bytes, where all of them do not; 0 where that gains nothing.
  static int64_t evenRepetitions(const DistributedLayout &from, int bytes);

  const DistributedLayout &layout() const { return to; }
  /// The registers of `layout()` from those of the first layout. All lanes of a
  /// warp have to come here.
  llvm::SmallVector<mlir::Value> apply(mlir::OpBuilder &builder,
                                       mlir::Location loc,
                                       llvm::ArrayRef<mlir::Value> regs) const;

private:
  struct Step {
    int lane;         ///< number of the bit
    int64_t distance; ///< of the two repetitions
  };

  LaneExchange(const DistributedLayout &layout, int bytes)
      : from(layout), to(layout), bytes(bytes) {}

  DistributedLayout from, to;
  int bytes;
  int width = 1; ///< elements of a piece before the first step
  llvm::SmallVector<Step, 2> steps;
};

} // namespace mlatile
#endif
