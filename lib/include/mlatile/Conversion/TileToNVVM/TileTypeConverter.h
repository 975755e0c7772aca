// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every pattern of convert-tile-to-nvvm builds on: types, the registers of
// a tile, the fields of a view or pool, and the coordinates of a thread.
//
//   tensor<..xT, #tilegpu.layout>  struct of the thread's registers, one scalar
//                                  each, in the order of DistributedLayout
//   !tile.view of rank r           struct { ptr<1>, r extents, r - 1 strides }
//   !tile.pool                     struct { ptr<1>, slots, page size,
//                                           page stride, row stride }
//   buffer, ring, mbarriers        ptr<3>
//   index                          i64
//   f8, f6, f4                     the integer of that width
//
// Structs are a means of the conversion only: the pass dissolves them before it
// ends, so registers are SSA scalars in what goes to NVPTX and the executor.
#ifndef MLATILE_CONVERSION_TILETONVVM_TILETYPECONVERTER_H
#define MLATILE_CONVERSION_TILETONVVM_TILETYPECONVERTER_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlatile {

inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;
/// Shared memory of all CTAs of a cluster.
inline constexpr unsigned kClusterSpace = 7;

class TileTypeConverter : public mlir::LLVMTypeConverter {
public:
  explicit TileTypeConverter(mlir::MLIRContext *context);

  /// The layout of a laid-out tensor type; empty for any other type and for a
  /// layout whose shape is not the tensor's.
  static std::optional<DistributedLayout> layoutOf(mlir::Type type);

  /// The scalar that stands for one element (index: i64, f8: i8, ...).
  mlir::Type elementType(mlir::RankedTensorType tensor) const;

  /// The registers of a converted tensor (any struct of scalars). A chain made
  /// by pack() is read back without new operations.
  static llvm::SmallVector<mlir::Value>
  unpack(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor);

  /// The struct for a tensor of type `tensor`; one scalar of elementType a
  /// register.
  mlir::Value pack(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::RankedTensorType tensor, mlir::ValueRange regs) const;
  /// Any struct of the given type from its members.
  static mlir::Value packStruct(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Type structType,
                                mlir::ValueRange members);
};

/// Fields of a converted !tile.view.
class ViewValue {
public:
  ViewValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view);
  int rank() const { return static_cast<int>(members.size()) / 2; }
  mlir::Value base() const { return members[0]; }
  /// i64; elements.
  mlir::Value extent(int dim) const { return members[1 + dim]; }
  /// i64; elements. Null for the last dim, whose stride is one.
  mlir::Value stride(int dim) const {
    return dim + 1 < rank() ? members[1 + rank() + dim] : mlir::Value();
  }

private:
  llvm::SmallVector<mlir::Value> members;
};

/// Fields of a converted !tile.pool; strides in bytes, all but base i64.
struct PoolValue {
  PoolValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pool);
  mlir::Value base, slots, pageSize, pageStride, rowStride;
};

//===--- thread numbers (i32) ---------------------------------------------===//
// They depend on nothing but the thread, so they are put into the entry block
// of the function, or role, around the insertion point, whatever block asks;
// the pass merges what is equal. Those of a role count from its first thread.

/// tid.x, less that of the role's first thread.
mlir::Value threadId(mlir::OpBuilder &builder, mlir::Location loc);
/// tid.x % 32.
mlir::Value laneId(mlir::OpBuilder &builder, mlir::Location loc);
/// threadId / 32; equal in all lanes of a warp.
mlir::Value warpId(mlir::OpBuilder &builder, mlir::Location loc);

/// i32 constant in the place of the insertion point.
mlir::Value constI32(mlir::OpBuilder &builder, mlir::Location loc,
                     int64_t value);
mlir::Value constI64(mlir::OpBuilder &builder, mlir::Location loc,
                     int64_t value);

/// Puts the insertion point where operations on thread numbers belong: into the
/// entry block of the function or role around it, behind `after` (a value of
/// that block) if given, else at its start.
void setToEntry(mlir::OpBuilder &builder, mlir::Value after = {});

//===--- coordinates ------------------------------------------------------===//

/// The XOR of bases[i] over the set bits i of `bits` (an i32, for example a
/// thread number): a few shifts and masks, one for each distance between an
/// input bit and the output bits it feeds. Zero if all bases are zero. Emits at
/// the insertion point.
mlir::Value emitBitLinear(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value bits, llvm::ArrayRef<int64_t> bases);

/// The coordinates of a thread's elements under a layout, as i32.
class ThreadCoords {
public:
  /// Emits what depends on the thread into the entry block, unless `thread` (an
  /// i32, tid.x of the layout's first warp = 0) is given: then at the insertion
  /// point.
  ThreadCoords(mlir::OpBuilder &builder, mlir::Location loc,
               const DistributedLayout &layout, mlir::Value thread = {});
  /// Coordinate of the thread's register 0 along `dim`.
  mlir::Value base(int dim) const { return bases[dim]; }
  /// True if coord = base + offset, with a constant offset, for all registers.
  bool adds() const { return registersAdd; }
  /// The constant part of register `reg` along `dim`.
  int64_t offset(int reg, int dim) const;
  /// Coordinate of a register, whichever way it combines.
  mlir::Value coord(mlir::OpBuilder &builder, mlir::Location loc, int reg,
                    int dim) const;

private:
  DistributedLayout layout;
  llvm::SmallVector<mlir::Value> bases;
  bool registersAdd;
};

/// i1, true in the threads that hold every element exactly once (see
/// DistributedLayout::laneFreeMask). Null if no thread holds copies. Warps past
/// layout.numWarps(), should the kernel have any, are not looked at.
mlir::Value firstHolder(mlir::OpBuilder &builder, mlir::Location loc,
                        const DistributedLayout &layout);

/// The scalars, all of one type, as a vector; a single one as it is.
mlir::Value packVector(mlir::OpBuilder &builder, mlir::Location loc,
                       llvm::ArrayRef<mlir::Value> scalars);

/// A call of an LLVM intrinsic with one result.
mlir::Value callIntrinsic(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::StringRef name, mlir::Type result,
                          mlir::ValueRange operands);

} // namespace mlatile
#endif
