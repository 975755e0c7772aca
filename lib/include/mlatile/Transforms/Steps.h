// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that kernels share: where their definitions come from, and how they get
// into a kernel.
#ifndef MLATILE_TRANSFORMS_STEPS_H
#define MLATILE_TRANSFORMS_STEPS_H

#include "mlatile/Compiler/KernelFiles.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlatile {

#define GEN_PASS_DECL
#include "mlatile/Transforms/Steps.h.inc"

#define GEN_PASS_REGISTRATION
#include "mlatile/Transforms/Steps.h.inc"

/// tile-link-steps with files that are looked at before all others.
std::unique_ptr<mlir::Pass> createLinkSteps(LinkStepsOptions options,
                                            std::vector<StepFile> own);

} // namespace mlatile
#endif
