// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the operands of a product come from: the buffer that they were read
// from, registers that hold them in place already, or a buffer to which they
// are stored where they are made.
#ifndef MLATILE_LIB_TRANSFORMS_OPERANDSTAGER_H
#define MLATILE_LIB_TRANSFORMS_OPERANDSTAGER_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

namespace mlatile {

const DistributedLayout &layoutOf(mlir::Value value);
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  const DistributedLayout &layout);

/// `slice` with a dimension of `size` put back at `axis`, all of it in the
/// registers of every thread.
DistributedLayout::Result columnsInRegisters(const DistributedLayout &slice,
                                             int axis, int64_t size);

/// The same, in the lanes of a warp that hold copies of each other as far as
/// there are, and in registers; every warp has all of it.
DistributedLayout::Result columnsInLanes(const DistributedLayout &slice,
                                         int axis, int64_t size);

class OperandStager {
public:
  explicit OperandStager(tile::KernelOp kernel)
      : kernel(kernel),
        entry(mlir::OpBuilder::atBlockBegin(&kernel.getBody().front())) {}

  struct Operand {
    mlir::Value value;
    bool transposed = false;
    mlir::Value scales = {};
    bool packed = false; ///< columns in the order of `pack_columns`
  };

  /// A buffer whose rows `ldmatrix` reads without bank conflicts.
  mlir::Value alloc(mlir::Location loc, llvm::StringRef name,
                    llvm::ArrayRef<int64_t> shape, mlir::Type element);

  /// A dot operand: the buffer that holds it, or registers where they are
  /// in place already. `pack`: how the other operand has its columns along K,
  /// if it is quantised; what is stored for this one dot is stored in that
  /// order.
  Operand operandOf(mlir::OpBuilder &b, mlir::Value value,
                    const DistributedLayout::Result &wanted,
                    llvm::StringRef name, int pack = 0);

  /// The buffer that holds `value` with dimension `dim` along the columns, so
  /// that a part of it is a view; transposed if `dim` is 0. A store to it
  /// stands no earlier than `beside`: one barrier then serves the stores of
  /// both.
  Operand columnsAlong(int dim, mlir::Value value, llvm::StringRef name,
                       mlir::Value beside = {}, int pack = 0);

  /// `value` in another layout, moving registers or through a buffer.
  mlir::Value inLayout(mlir::OpBuilder &b, mlir::Value value,
                       const DistributedLayout &wanted, llvm::StringRef name);

private:
  /// For a read of a buffer that is written once, whole: another buffer with
  /// the same columns in packed order. Null if it is written otherwise.
  mlir::Value packedCopyOf(tilegpu::LoadSharedOp load, int pack);
  /// The buffer for `source`, its columns in packed order if they can be.
  Operand stagePacked(mlir::Value source, bool transposed, llvm::StringRef name,
                      mlir::Value beside, int pack);
  /// The record of a channel, which came by a copy for this role alone, of
  /// which `value` is made element by element, each as long as the record's;
  /// null if it is made otherwise, or the record is read later too.
  tilegpu::StageOp recordOf(mlir::Value value);
  /// `value` takes the place of that record. Null where there is none.
  mlir::Value stageInPlace(mlir::Value value);
  /// The buffer to which `value` is stored where it is made, or `beside`.
  mlir::Value stage(mlir::Value value, llvm::StringRef name,
                    mlir::Value beside = {});

  tile::KernelOp kernel;
  mlir::OpBuilder entry;
  llvm::DenseMap<mlir::Value, mlir::Value> staged;
  llvm::SmallDenseSet<mlir::Operation *> takenRecords;
  llvm::DenseMap<std::pair<mlir::Value, int>, mlir::Value> packedColumns;
};

/// Whether a conversion of layout needs no shared memory.
bool staysInRegisters(mlir::Type element, const DistributedLayout &from,
                      const DistributedLayout &to);

/// What `load` reads, in the layout of `type`.
mlir::Value readAgain(tilegpu::LoadSharedOp load, mlir::RankedTensorType type);

/// How elements stand along K in a product of `a` and `b` (DotOp::getPackK).
int packingAlongK(mlir::Value a, mlir::Value b);

} // namespace mlatile
#endif
