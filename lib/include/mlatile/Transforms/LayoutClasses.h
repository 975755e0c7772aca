// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values of a kernel must share a layout, and which layout each gets.
#ifndef MLATILE_TRANSFORMS_LAYOUTCLASSES_H
#define MLATILE_TRANSFORMS_LAYOUTCLASSES_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <map>

namespace mlatile {

/// The layouts of one kernel's tensor values. Elementwise operations, loops,
/// branches and accumulators put values into one class; a class has one layout,
/// over the warps of its role or kernel.
/// Where a loop carries on with another one's results, as two lists of
/// candidates do, each may have its own accumulator layout.
class LayoutClasses {
public:
  /// Builds the classes and solves for their layouts. Fails with an error on
  /// the operation whose wishes cannot be met.
  static mlir::FailureOr<LayoutClasses> compute(tile::KernelOp kernel);

  /// The layout of a value of the kernel.
  const DistributedLayout &layoutOf(mlir::Value value) const;

  /// The layout in which `tile.gather` takes its slot ids.
  static DistributedLayout::Result gatherLayout(mlir::Value ids, int numWarps,
                                                std::string *error);
  /// The accumulator layout of the dot `op` of `a` and `b`, if `warps` (over M
  /// and N) were asked for.
  static DistributedLayout::Result
  dotLayout(mlir::Operation *op, mlir::Value a, mlir::Value b,
            std::optional<llvm::ArrayRef<int64_t>> warps, int numWarps,
            std::string *error);

private:
  LayoutClasses() = default;

  void unite(mlir::ValueRange values);
  void collect(tile::KernelOp kernel);
  mlir::LogicalResult anchor(tile::KernelOp kernel);
  /// What a loop starts with joins the loop's class, unless both have layouts:
  /// then it is converted before the loop.
  void uniteInits(tile::KernelOp kernel);
  /// Follows reduce, broadcast and transpose from classes with a layout to
  /// those without, until nothing changes.
  void propagate(tile::KernelOp kernel);
  /// Gives the first class of the highest rank without a layout the default.
  bool seedOne(tile::KernelOp kernel);

  const DistributedLayout *find(mlir::Value value) const;
  bool assign(mlir::Value value, const DistributedLayout::Result &layout);
  void *leader(mlir::Value value) const;

  llvm::EquivalenceClasses<void *> classes;
  std::map<void *, DistributedLayout> layouts;
  /// Why seedOne could not make a default.
  std::string seedError;
};

/// Sizes of a ranked tensor as the layout algebra takes them.
DistributedLayout::Coords tensorShape(mlir::Value value);

} // namespace mlatile
#endif
