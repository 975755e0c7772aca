// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_TRANSFORMS_DOTSTOTILEGPU_H
#define MLATILE_LIB_TRANSFORMS_DOTSTOTILEGPU_H

#include "OperandStager.h"

namespace mlatile {

/// Replaces a product by `tilegpu.dot`.
mlir::LogicalResult lowerDot(OperandStager &stager, tile::DotOp dot);
/// Replaces a product with scales by one `tilegpu.dot` a block.
mlir::LogicalResult lowerDotScaled(OperandStager &stager,
                                   tile::DotScaledOp dot);

} // namespace mlatile
#endif
