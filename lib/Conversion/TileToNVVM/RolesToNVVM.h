// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_ROLESTONVVM_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_ROLESTONVVM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlatile {

/// Makes branches on the warp number of every `tilegpu.roles`, whose regions
/// are converted already.
void inlineRoles(mlir::ModuleOp module);

} // namespace mlatile
#endif
