// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_COMPILER_METADATA_H
#define MLATILE_LIB_COMPILER_METADATA_H

#include "mlatile/Compiler/Compiler.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlatile {

/// Fills in what the planned second-level kernel says: buffers, loops over
/// candidates.
void readSecondLevel(mlir::Operation *kernel, CompiledKernel &result);
/// Fills in the parameters that specialisation bound.
void readParams(mlir::Operation *kernel, CompiledKernel &result);
/// Fills in what the lowered function says: name, threads, shared memory,
/// arguments.
void readFunction(mlir::Operation *function, CompiledKernel &result);

/// The kernels of a file that nothing is bound of (compiler_c.h).
llvm::json::Array describeKernels(mlir::ModuleOp module);

} // namespace mlatile
#endif
