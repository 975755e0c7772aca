// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes between the author's level and `convert-tile-to-nvvm`.
#ifndef MLATILE_TRANSFORMS_PASSES_H
#define MLATILE_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlatile {

#define GEN_PASS_DECL
#include "mlatile/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mlatile/Transforms/Passes.h.inc"

} // namespace mlatile
#endif
