// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Registration/Registration.h"
#include "mlir/Transforms/Passes.h"

void mlatile::registerAllPasses() {
  // canonicalize, cse, inline, symbol-dce, loop-invariant-code-motion, ...
  mlir::registerTransformsPasses();
}
