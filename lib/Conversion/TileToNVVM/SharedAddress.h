// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses in shared memory, and code for some threads only.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_SHAREDADDRESS_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_SHAREDADDRESS_H

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlatile {

/// pointer + bytes. A constant on top of one run-time sum becomes the immediate
/// of the instruction that uses it, so constants are added last.
mlir::Value offsetBytes(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value pointer, int64_t bytes);
/// pointer + bytes, an i32 or i64 value.
mlir::Value offsetBytes(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value pointer, mlir::Value bytes);
/// pointer + index * bytes, where `index` is the unconverted operand (asked for
/// a constant) and `converted` its i32.
mlir::Value offsetElements(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value pointer, mlir::Value index,
                           mlir::Value converted, int64_t bytes);

inline constexpr int64_t kMBarrierBytes = 8;
/// The mbarrier at `index` behind `bars`; operands as of offsetElements.
mlir::Value mbarrierAddress(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value bars, mlir::Value index,
                            mlir::Value converted);

/// row * stride + col * elementBytes (i32), at the insertion point.
mlir::Value emitByteOffset(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value row, int64_t stride, mlir::Value col,
                           int64_t elementBytes);

/// Orders the thread's earlier accesses of shared memory against bulk copies
/// that come after it (PTX ISA, `fence.proxy.async`).
void fenceAsyncProxy(mlir::OpBuilder &builder, mlir::Location loc);

/// Splits the block at the insertion point and runs what `body` emits where
/// `condition` (i1) holds; a null condition always holds. Afterwards the
/// insertion point is behind it.
void emitIf(mlir::ConversionPatternRewriter &rewriter, mlir::Location loc,
            mlir::Value condition, llvm::function_ref<void()> body);

} // namespace mlatile
#endif
