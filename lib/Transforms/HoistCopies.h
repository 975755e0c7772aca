// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies that stand before a loop move up, as far as they may.
#ifndef MLATILE_LIB_TRANSFORMS_HOISTCOPIES_H
#define MLATILE_LIB_TRANSFORMS_HOISTCOPIES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlatile {

/// Moves the copies that a loop begins with, the loads of their ids, and what
/// computes values for both, to where their operands are there: what stood in
/// front of them then runs while rows are on their way.
class CopyHoister {
public:
  /// Nothing moves in front of `floor`.
  explicit CopyHoister(mlir::Operation *floor) : floor(floor) {}

  /// Copies and the loop that they are done instead of: they do nothing where
  /// it has iterations.
  using Alternatives = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

  /// Hoists the operations behind `first` (null: all) and before `loop`. Those
  /// that are a key of `instead` pass its value.
  void hoist(mlir::Operation *first, mlir::Operation *loop,
             const Alternatives &instead);

private:
  void moveUp(mlir::Operation *op, mlir::Operation *instead);

  mlir::Operation *floor;
  llvm::SmallDenseSet<mlir::Operation *> hoisted; ///< loads
};

} // namespace mlatile
#endif
