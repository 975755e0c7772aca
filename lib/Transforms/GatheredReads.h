// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of gathered rows that have landed in shared memory.
#ifndef MLATILE_LIB_TRANSFORMS_GATHEREDREADS_H
#define MLATILE_LIB_TRANSFORMS_GATHEREDREADS_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Target/Format.h"

namespace mlatile {

/// The buffers of one stage: data rows, scale rows (in the data rows where the
/// format has them inline), slot ids or -1.
struct GatheredStage {
  mlir::Value rows, scales, slots;
};

/// `columns` columns of `buffer` from byte `offset` on, as `element`.
mlir::Value viewColumns(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value buffer, int64_t offset, int64_t columns,
                        mlir::Type element);

/// Replaces a gather, and the tile.dequant of its rows, by reads of `stage`,
/// whose copies have been waited for. The quantised fields in `operands`
/// (operandPacking) become a `tilegpu.load_quantised`; the others a converted
/// copy of 16 bits, allocated by `entry`.
mlir::LogicalResult
replaceByReads(tile::GatherOp gather, const CacheFormat &format,
               const GatheredStage &stage,
               const llvm::DenseSet<mlir::Operation *> &operands,
               mlir::OpBuilder &entry);

} // namespace mlatile
#endif
