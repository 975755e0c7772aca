// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// More values for a loop to carry.
#ifndef MLATILE_LIB_TRANSFORMS_CARRIEDVALUES_H
#define MLATILE_LIB_TRANSFORMS_CARRIEDVALUES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlatile {

/// The loop that takes the place of `loop`, and of its body, and carries
/// `inits` behind what that one carries. The body returns them unchanged until
/// their yields are set (setLastYields).
mlir::scf::ForOp carryMore(mlir::scf::ForOp loop, mlir::ValueRange inits);

/// What the body of `loop` returns for the last values that it carries.
void setLastYields(mlir::scf::ForOp loop, mlir::ValueRange values);

} // namespace mlatile
#endif
