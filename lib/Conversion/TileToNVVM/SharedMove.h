// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_SHAREDMOVE_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_SHAREDMOVE_H

#include "SharedAddress.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlatile {

/// The accesses by which a thread moves its registers between a tile and a
/// buffer.
class SharedMove {
public:
  SharedMove(mlir::OpBuilder &builder, mlir::Location loc,
             const DistributedLayout &tileLayout, tilegpu::BufferType buffer,
             mlir::Value pointer)
      : builder(builder), loc(loc), buffer(buffer), pointer(pointer),
        layout(tileLayout), coords(builder, loc, layout) {
    auto shared = SharedLayout::create(
        buffer.getRows(), buffer.getCols(),
        static_cast<int>(buffer.getElementBytes()), buffer.getStrideBytes());
    int bytes = shared ? shared->vectorBytes(layout) : 0;
    elements = std::max<int>(1, bytes / buffer.getElementBytes());
    if (coords.adds()) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      mlir::Value col = coords.base(layout.rank() - 1);
      setToEntry(builder, col);
      start = byteOffset(rowOf([&](int d) { return coords.base(d); }), col);
    }
    if (start)
      start = offsetBytes(builder, loc, pointer, start);
  }

  /// Elements of one access; registers i * width(), ... move together.
  int width() const { return elements; }
  int accesses() const { return layout.numRegs() / elements; }
  int alignment() const {
    return elements * static_cast<int>(buffer.getElementBytes());
  }

  mlir::Value address(int access) {
    int reg = access * elements, last = layout.rank() - 1;
    auto coord = [&](int d) { return coords.coord(builder, loc, reg, d); };
    if (!start)
      return offsetBytes(builder, loc, pointer,
                         byteOffset(rowOf(coord), coord(last)));
    int64_t row = 0;
    for (int d = 0; d < last; ++d)
      row = row * layout.shape()[d] + coords.offset(reg, d);
    return offsetBytes(builder, loc, start,
                       row * buffer.getStrideBytes() +
                           coords.offset(reg, last) * buffer.getElementBytes());
  }

private:
  /// Rows of all planes are counted on; null for a buffer of one dimension.
  mlir::Value rowOf(llvm::function_ref<mlir::Value(int)> coord) {
    mlir::Value row;
    for (int d = 0; d + 1 < layout.rank(); ++d) {
      mlir::Value next = coord(d);
      if (row)
        next = mlir::LLVM::AddOp::create(
            builder, loc,
            mlir::LLVM::MulOp::create(
                builder, loc, row, constI32(builder, loc, layout.shape()[d])),
            next);
      row = next;
    }
    return row;
  }

  mlir::Value byteOffset(mlir::Value row, mlir::Value col) {
    if (row)
      return emitByteOffset(builder, loc, row, buffer.getStrideBytes(), col,
                            buffer.getElementBytes());
    return mlir::LLVM::MulOp::create(
        builder, loc, col, constI32(builder, loc, buffer.getElementBytes()));
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  tilegpu::BufferType buffer;
  mlir::Value pointer, start;
  DistributedLayout layout;
  ThreadCoords coords;
  int elements;
};

} // namespace mlatile
#endif
