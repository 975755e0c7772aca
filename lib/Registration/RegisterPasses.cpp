// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Conversion/TileToNVVM/Passes.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Pipelines/Pipelines.h"
#include "mlatile/Registration/Registration.h"
#include "mlatile/Transforms/Passes.h"
#include "mlatile/Transforms/Specialise.h"
#include "mlatile/Transforms/Steps.h"
#include "mlir/Transforms/Passes.h"

void mlatile::registerAllPasses() {
  // canonicalize, cse, inline, symbol-dce, loop-invariant-code-motion, ...
  mlir::registerTransformsPasses();
  registerSpecialisePasses();
  registerStepsPasses();
  registerTransformsPasses();
  registerTileToNVVMPasses();
  registerPipelines();
}
