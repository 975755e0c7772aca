// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses and masks of tiles in global memory.
//
// What is in range is a box: along tile dim d the elements lo_d .. hi_d - 1 of
// the tile, the same for all threads. From it follow, once for each op,
//   - whether anything is in range (else nothing is done at all),
//   - the first element in range: a load of an element outside is sent there
//     and its value replaced, so that loads need no branch of their own and
//     never leave the view,
//   - whether vectors can be used: whole in the last dim, and the start and all
//     strides aligned. Alignment is known at run time only, hence a vector and
//     a scalar form behind one uniform branch.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_TILEACCESS_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_TILEACCESS_H

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

#include <map>

namespace mlatile {

/// One load or store of a tile. Everything is emitted at the insertion point of
/// the builder, except what depends on the thread only.
class TileAccess {
public:
  /// `view`, `indices` and `limit` (may be null) are converted values. `layout`
  /// is empty for a scalar.
  TileAccess(mlir::ConversionPatternRewriter &builder, mlir::Location loc,
             mlir::Value view, mlir::ValueRange indices, mlir::Value limit,
             std::optional<DistributedLayout> tileLayout, mlir::Type element);

  int registers() const { return layout ? layout->numRegs() : 1; }
  /// Bytes of an element.
  int bytes() const { return elementBytes; }
  /// Registers of one vector, at most 16 bytes of them.
  int vectorWidth() const { return vectors.width; }
  /// Register `i` in the order in which vectors hold them.
  int registerAt(int i) const { return vectors.registers[i]; }

  /// i1, uniform: some element is in range.
  mlir::Value anyInRange();
  /// i1, uniform: vectors of `width` registers are aligned and whole.
  mlir::Value vectorsFit(int width);
  /// i1: true in the threads that should store. Null for "all".
  mlir::Value mayStore();

  /// Forgets what was computed in blocks that do not dominate the present one;
  /// to be called at the head of each path that uses the following.
  void startPath();
  /// i1: this register is in range; `whole`: the last dim is known to be.
  /// Equal masks are the same value. Null for "true".
  mlir::Value mask(int reg, bool whole);
  mlir::Value address(int reg);
  /// The same where `mask` is true, else that of the first element in range;
  /// only where anyInRange().
  mlir::Value readable(int reg, mlir::Value mask);

private:
  using Coords = DistributedLayout::Coords;

  Coords offsetsOf(int reg) const {
    return layout ? layout->regCoord(reg) : Coords();
  }
  /// `pointer` plus `count` (i64) steps along tile dim `dim`; negative dims are
  /// those of the view before the tile's.
  mlir::Value moved(mlir::Value pointer, int dim, mlir::Value count);
  mlir::Value firstInRange();
  void findBox(mlir::ValueRange indices, mlir::Value limit);

  mlir::ConversionPatternRewriter &builder;
  mlir::Location loc;
  ViewValue view;
  std::optional<DistributedLayout> layout;
  DistributedLayout::Vectors vectors{1, {0}};
  std::optional<ThreadCoords> coords;
  mlir::Type element;
  int rank, lead, elementBytes;
  mlir::Value leadInRange;                 ///< i1 or null
  llvm::SmallVector<mlir::Value> lo, span; ///< i32; lo is null where it is zero
  mlir::Value start, thread, first;        ///< pointers: tile, thread, box
  std::map<Coords, mlir::Value> rowPointers, combined;
  std::map<std::pair<int, int64_t>, mlir::Value> masks;
};

} // namespace mlatile
#endif
