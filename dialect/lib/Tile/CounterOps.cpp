// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of counters. Numbers are those of the ODS text.
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

/// atomic_inc_c1, atomic_inc_c2; wait_until_c1, wait_until_c2
static LogicalResult verifyCounter(Operation *op, ViewType view,
                                   size_t numIndices) {
  if (static_cast<int64_t>(numIndices) != view.getRank()) // c1
    return op->emitOpError() << "expected one index a dimension of the view, "
                             << view.getRank() << ", got " << numIndices;
  if (!view.getElementType().isSignlessInteger(32)) // c2
    return op->emitOpError()
           << "expected counters of i32, got " << view.getElementType();
  return success();
}

LogicalResult AtomicIncOp::verify() {
  return verifyCounter(*this, getView().getType(), getIndices().size());
}

LogicalResult WaitUntilOp::verify() {
  if (failed(verifyCounter(*this, getView().getType(), getIndices().size())))
    return failure();
  for (auto loop = (*this)->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    WalkResult walk =
        loop->walk([](GatherOp) { return WalkResult::interrupt(); });
    if (walk.wasInterrupted()) // wait_until_c3
      return emitOpError() << "expected no loop that gathers around it, got "
                              "one of '"
                           << loop->getName() << "'";
  }
  return success();
}
