// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of the order between launches. Numbers are those of the ODS text.
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

/// launch_dependents_c1, wait_dependencies_c1
static LogicalResult verifyOutsideLoops(Operation *op) {
  if (auto loop = op->getParentOfType<LoopLikeOpInterface>())
    return op->emitOpError() << "expected no loop around it, got one of '"
                             << loop->getName() << "'";
  return success();
}

LogicalResult LaunchDependentsOp::verify() { return verifyOutsideLoops(*this); }

LogicalResult WaitDependenciesOp::verify() { return verifyOutsideLoops(*this); }
