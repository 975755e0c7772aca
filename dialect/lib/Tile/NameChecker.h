// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names in a kernel, and in the steps that it calls, against the parameters of
// the kernel.
#ifndef MLATILE_DIALECT_LIB_TILE_NAMECHECKER_H
#define MLATILE_DIALECT_LIB_TILE_NAMECHECKER_H

#include "mlatile/Dialect/Tile/IR/Bindings.h"

namespace mlatile::tile {

class NameChecker {
public:
  /// For the ops of a kernel.
  explicit NameChecker(KernelOp kernel) : kernel(kernel) {}
  /// For the ops of steps that `call` brings in, with their names bound;
  /// without a kernel only values that are bound are checked. Errors stand at
  /// the call.
  NameChecker(KernelOp kernel, CallOp call) : kernel(kernel), call(call) {}

  /// kernel_c6, param_c1, param_c2, require_c2 and dequant_c3 of one op.
  llvm::LogicalResult check(mlir::Operation *op, const Bindings &bindings = {});
  /// kernel_c6 of a type that stands at an op.
  llvm::LogicalResult check(mlir::Operation *op, mlir::Type type,
                            const Bindings &bindings = {});

private:
  mlir::InFlightDiagnostic error(mlir::Operation *op);
  llvm::LogicalResult check(mlir::Operation *op, mlir::StringAttr name,
                            NameUse use, const Bindings &bindings);
  llvm::LogicalResult checkValue(mlir::Operation *op, BindingAttr binding,
                                 NameUse use);
  llvm::LogicalResult checkDequant(DequantOp op, const Bindings &bindings);

  KernelOp kernel;
  CallOp call;
};

} // namespace mlatile::tile
#endif
