// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotProduct.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlatile {

/// Steps that a set of sums must have for its additions to be worth it.
constexpr int kLeastSteps = 4;

SmallVector<Value> multiplyTiles(
    OpBuilder &builder, Location loc, const DotTiles &dot, SmallVector<Value> c,
    function_ref<void(int i, int j, int step, MutableArrayRef<Value> tile)> mma,
    int independent) {
  int tiles = dot.tilesM * dot.tilesN, sets = 1;
  while (sets * tiles < independent && 2 * sets * kLeastSteps <= dot.steps)
    sets *= 2;
  SmallVector<SmallVector<Value>> sums{std::move(c)};
  if (sets > 1) {
    Value zero =
        LLVM::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
    for (int s = 1; s < sets; ++s)
      sums.emplace_back(SmallVector<Value>(sums[0].size(), zero));
  }
  // The longer side outside: its fragments are then needed one after the
  // other, and only those of the shorter side at the same time.
  bool rowsOutside = dot.tilesM > dot.tilesN;
  int outside = rowsOutside ? dot.tilesM : dot.tilesN;
  int inside = rowsOutside ? dot.tilesN : dot.tilesM;
  for (int step = 0; step < dot.steps; ++step)
    for (int x = 0; x < outside; ++x)
      for (int y = 0; y < inside; ++y) {
        int i = rowsOutside ? x : y, j = rowsOutside ? y : x;
        MutableArrayRef<Value> tile(sums[step % sets]);
        tile = tile.slice(dot.registerOf(i, j), kMma16.regsC);
        mma(i, j, step, tile);
      }
  for (int width = sets / 2; width > 0; width /= 2)
    for (int s = 0; s < width; ++s)
      for (size_t r = 0; r < sums[s].size(); ++r)
        sums[s][r] =
            LLVM::FAddOp::create(builder, loc, sums[s][r], sums[s + width][r]);
  return sums[0];
}

} // namespace mlatile
