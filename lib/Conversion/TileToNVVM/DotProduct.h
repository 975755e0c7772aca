// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the products of a dot, whatever instruction makes them.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_DOTPRODUCT_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_DOTPRODUCT_H

#include "DotOperand.h"
#include "mlatile/Target/Target.h"
#include "mlir/IR/PatternMatch.h"

namespace mlatile {

/// Products that depend on each other should stand this far apart.
inline constexpr int kIndependent = 4;

/// All products of a warp, added to `c`, the registers of its accumulator.
/// `mma` adds the product of tile (i, j) and a step to the four registers of
/// that tile. With fewer than `independent` tiles, steps are dealt to several
/// sets of sums, which are added in the end.
llvm::SmallVector<mlir::Value>
multiplyTiles(mlir::OpBuilder &builder, mlir::Location loc, const DotTiles &dot,
              llvm::SmallVector<mlir::Value> c,
              llvm::function_ref<void(int i, int j, int step,
                                      llvm::MutableArrayRef<mlir::Value> tile)>
                  mma,
              int independent = kIndependent);

/// tilegpu.dot of two operands of f8E4M3FN (DotFP8ToNVVM.cpp).
void populateFP8DotPatterns(TileTypeConverter &types, const Target &target,
                            mlir::RewritePatternSet &patterns);

} // namespace mlatile
#endif
