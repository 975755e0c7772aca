// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathered rows in shared memory: their buffers, their slot ids, reads of what
// has landed.
#ifndef MLATILE_LIB_TRANSFORMS_GATHEREDREADS_H
#define MLATILE_LIB_TRANSFORMS_GATHEREDREADS_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Target/Format.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

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

/// The buffers of all stages of a gather.
struct GatherRing {
  const CacheFormat *format = nullptr;
  mlir::Value rows, scales, slots; ///< rings; no scales where they are inline

  /// For `count` rows at a time. `copied`: the rows are only read to be written
  /// elsewhere, in segments, and never by ldmatrix.
  static GatherRing create(mlir::OpBuilder &entry, mlir::Location loc,
                           const CacheFormat &format, int64_t count,
                           int64_t stages, bool copied = false);
  GatheredStage stage(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value index) const;
  /// Issues the copies of the stage at `index`.
  void issue(mlir::OpBuilder &b, tile::GatherOp gather, mlir::Value ids,
             mlir::Value index, mlir::Value full) const;
  /// Arrivals at `full` of one issue of a gather, for which a ring was made, by
  /// `warps` warps.
  static int64_t arrivals(tile::GatherOp gather, int64_t warps);
};

/// Rows and their validity, the results of `op`, and every tile.dequant of them
/// become reads of `stage` at `op`, which has been waited for. The quantised
/// fields in `operands` (operandPacking) become a `tilegpu.load_quantised`; the
/// others a converted copy of 16 bits, allocated by `entry`.
mlir::LogicalResult
replaceByReads(mlir::Operation *op, mlir::Value rows, mlir::Value ok,
               const CacheFormat &format, const GatheredStage &stage,
               const llvm::DenseSet<mlir::Operation *> &operands,
               mlir::OpBuilder &entry);

/// Whether a store to one view may write what is loaded from the other: two
/// arguments of a kernel are two arrays.
bool mayBeSameArray(mlir::Value a, mlir::Value b);
/// The view whose array `op` writes: of a store or a counter; null for others.
mlir::Value writtenView(mlir::Operation *op);

/// What computes the slot ids of a gather from the induction variable of its
/// loop, in order: it can be computed iterations ahead.
class GatherIds {
public:
  /// Fails with an error on the gather where the ids depend on more, or may be
  /// written in the loop.
  static mlir::FailureOr<GatherIds> create(mlir::scf::ForOp loop,
                                           tile::GatherOp gather);
  /// The ids at another value of the induction variable of `loop`.
  mlir::Value at(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                 mlir::Value iv) const;

private:
  explicit GatherIds(tile::GatherOp gather)
      : gather(gather), ids(gather.getIds()) {}
  mlir::LogicalResult collect(mlir::scf::ForOp loop);
  mlir::LogicalResult checkNotStored(mlir::scf::ForOp loop, mlir::Value view);

  tile::GatherOp gather;
  mlir::Value ids;
  mlir::SetVector<mlir::Operation *> slice;
};

/// iv + count * step
mlir::Value inductionAhead(mlir::OpBuilder &b, mlir::scf::ForOp loop,
                           mlir::Value iv, int64_t count);

} // namespace mlatile
#endif
