// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile in another layout, computed again instead of moved.
//
// Small tiles (the scales of gathered rows, masks, what follows from them) are
// read from shared memory and cheap to compute. Each thread can read what it
// needs of them in any layout; moving the result would take a buffer and a
// barrier. So can each warp load a few numbers of each split for itself.
#ifndef MLATILE_LIB_TRANSFORMS_REMATERIALISE_H
#define MLATILE_LIB_TRANSFORMS_REMATERIALISE_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "mlir/IR/Builders.h"

namespace mlatile {

/// `value` computed in `layout` at the builder's place, or null if it does not
/// come from reads of shared memory and constants alone by elementwise
/// operations, broadcasts, transpositions and reductions inside a thread, or
/// if that would take too many registers. Reads are repeated where they stand.
/// `withLoads`: also from global memory that the kernel never stores to, of one
/// or two elements a thread.
mlir::Value rematerialise(mlir::OpBuilder &b, mlir::Value value,
                          const DistributedLayout &layout,
                          bool withLoads = false);

} // namespace mlatile
#endif
