// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `tilegpu`: tiles spread over threads, shared memory, asynchronous
// copies. Includes everything of it.
#ifndef MLATILE_DIALECT_TILEGPU_IR_TILEGPU_H
#define MLATILE_DIALECT_TILEGPU_IR_TILEGPU_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Hashing.h"

namespace mlatile {
struct CacheFormat;
inline llvm::hash_code hash_value(const DistributedLayout &layout) {
  return llvm::hash_code(layout.hash());
}
} // namespace mlatile

#include "mlatile/Dialect/TileGPU/IR/TileGPUDialect.h.inc"
#include "mlatile/Dialect/TileGPU/IR/TileGPUEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.h.inc"

namespace mlatile::tilegpu {

/// The resource of all effects on shared memory.
struct SharedMemory : public mlir::SideEffects::Resource::Base<SharedMemory> {
  llvm::StringRef getName() final { return "tilegpu.shared"; }
};

/// One access of an op to one of its shared-memory operands.
struct SharedAccess {
  mlir::OpOperand *operand;
  bool isWrite;
  /// Which thread touches which element of the operand (of the view, where it
  /// is one; a tensor of one dimension is a buffer's only row). Of threads that
  /// hold copies all read, but only the first writes (laneFreeMask and
  /// warpFreeMask zero). Null: unknown, any thread may touch any element.
  LayoutAttr layout = {};
  /// The lanes of a warp touch the elements of their warp together
  /// (`ldmatrix`): the layout is right for the warp, not for each lane.
  bool byWarp = false;
  /// Completes later and is guarded by an mbarrier, not by barriers around the
  /// op. What stood before the op must be finished nevertheless.
  bool isAsync = false;
};

/// How the warps stand over the tiles of an `mma` accumulator, and how its rows
/// and columns are packed (DistributedLayout::mmaAccumulator).
struct WarpGrid {
  int warpsM, warpsN;
  int packM = 0, packN = 0;
  bool operator==(const WarpGrid &) const = default;
};
/// The grid for which `layout` is DistributedLayout::mmaAccumulator, if it is.
/// Warps behind the grid's may hold copies.
std::optional<WarpGrid> matchAccumulator(const DistributedLayout &layout);
/// The operand layout that fits an accumulator of `numWarps` warps, those of
/// `grid` and such as hold copies: A of `rows` x `cols` = M x K or B of K x N.
/// `packK`: how the elements of its partner stand along K.
std::optional<DistributedLayout> operandLayout(bool isA, int64_t rows,
                                               int64_t cols, int packK,
                                               const WarpGrid &grid,
                                               int numWarps);
/// The grid for which `layout` is that of an operand A of 16 bits whose
/// elements stand in order along K; all warps that differ in no row count along
/// N.
std::optional<WarpGrid> matchOperandA(const DistributedLayout &layout);
/// log2 of the elements that stand in 16 bits: 1 for 8-bit, 2 for 4-bit
/// operands of `dot`, which are read by the 16-bit `ldmatrix`; else 0.
int packing(mlir::Type element);

/// Shape and layout of the result of `reduce_warp` along `axis`; empty if the
/// layout cannot be reduced by exchanging bits.
std::optional<DistributedLayout>
reduceWarpLayout(const DistributedLayout &layout, int axis);

/// The warps that run `op`: those of the role around it, else the kernel's.
/// Nothing while the kernel is not bound, or outside of kernels.
std::optional<int64_t> warpsAround(mlir::Operation *op);
/// Of the operation that makes `value`.
std::optional<int64_t> warpsAround(mlir::Value value);

/// The same layout with its two dims swapped; empty unless it has two.
std::optional<DistributedLayout>
transposedLayout(const DistributedLayout &layout);

/// The layout of a tile whose columns are in the order of `pack_columns`; empty
/// if they are fewer in a block than are packed together.
std::optional<DistributedLayout> packedColumns(const DistributedLayout &layout,
                                               int pack);

/// For each register of `window` the register of `whole` that holds its element
/// moved by `offsets`, the same for all threads; empty if there is none. The
/// layouts have the same lane and warp bases, and their registers add to them.
std::optional<std::vector<int>>
windowRegisters(const DistributedLayout &whole, const DistributedLayout &window,
                llvm::ArrayRef<int64_t> offsets);

} // namespace mlatile::tilegpu

#include "mlatile/Dialect/TileGPU/IR/TileGPUInterfaces.h.inc"

#define GET_OP_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUOps.h.inc"

#endif
