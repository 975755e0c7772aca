// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_CONVERSION_TILETONVVM_DISSOLVESTRUCTS_H
#define MLATILE_CONVERSION_TILETONVVM_DISSOLVESTRUCTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlatile {

/// Replaces block arguments of struct type by one argument a member, reads
/// members where they were put in, merges blocks with their only predecessor,
/// and removes what is dead or computed twice.
void dissolveStructs(mlir::LLVM::LLVMFuncOp function);

} // namespace mlatile
#endif
