// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that several ops share.
#ifndef MLATILE_DIALECT_TILEGPU_LIB_VERIFY_H
#define MLATILE_DIALECT_TILEGPU_LIB_VERIFY_H

#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

namespace mlatile::tilegpu {

/// An index that is a constant must lie in [0, count).
mlir::LogicalResult verifyConstantIndex(mlir::Operation *op, mlir::Value index,
                                        int64_t count);

/// Rank 2 and rows that start at multiples of 16 bytes.
mlir::LogicalResult verifyAlignedRows(mlir::Operation *op, llvm::StringRef name,
                                      BufferType type);

/// A view of two dimensions or more, as many as there are indices.
mlir::LogicalResult verifyTileOfView(mlir::Operation *op, mlir::Type view,
                                     size_t indices);

} // namespace mlatile::tilegpu
#endif
