// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_CONVERSION_TILETONVVM_PASSES_H
#define MLATILE_CONVERSION_TILETONVVM_PASSES_H

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlatile {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "mlatile/Conversion/TileToNVVM/Passes.h.inc"

} // namespace mlatile
#endif
