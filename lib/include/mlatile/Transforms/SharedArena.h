// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who touches which place of shared memory.
#ifndef MLATILE_TRANSFORMS_SHAREDARENA_H
#define MLATILE_TRANSFORMS_SHAREDARENA_H

#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

namespace mlatile {

/// The `tilegpu.alloc` behind stages and views of it, or null.
inline tilegpu::AllocOp allocOf(mlir::Value buffer) {
  while (mlir::Operation *op = buffer.getDefiningOp()) {
    if (auto alloc = llvm::dyn_cast<tilegpu::AllocOp>(op))
      return alloc;
    if (!llvm::isa<tilegpu::StageOp, tilegpu::ViewOp>(op))
      break;
    buffer = op->getOperand(0);
  }
  return nullptr;
}

} // namespace mlatile
#endif
