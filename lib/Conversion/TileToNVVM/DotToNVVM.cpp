// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dot by mma.sync m16n8k16.
//
// A warp owns the 16 x 8 tiles (i, j) of c that its layout gives it. Per step
// of 16 along K it takes one fragment of A for each i and one of B for each j
// (DotOperand.h); a fragment feeds all products of its row or column of tiles.
#include "DotFactors.h"
#include "DotProduct.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

struct DotPattern : TilePattern<DotOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.isFP8() || op.getNarrow())
      return rewriter.notifyMatchFailure(op, "left to DotFP8ToNVVM.cpp");
    Location loc = op.getLoc();
    RankedTensorType c = op.getC().getType();
    const DistributedLayout &layout = LayoutAttr::of(c).getDistributed();
    std::optional<WarpGrid> grid = matchAccumulator(layout);
    if (!grid)
      return op.emitOpError("expected c in the layout of an accumulator");
    DotTiles dot(layout, *grid, op.getK(), op.getPackK());
    Type element = elementOf(op.getA().getType());
    if (packing(element))
      element = elementOf(op.getB().getType());
    auto a = makeDotOperand(rewriter, op, dot, /*isA=*/true, element,
                            adaptor.getA(), adaptor.getAScales());
    auto b = makeDotOperand(rewriter, op, dot, /*isA=*/false, element,
                            adaptor.getB(), adaptor.getBScales());
    std::optional<DotFactors> aFactors, bFactors;
    if (op.getAFactors())
      aFactors.emplace(*a, dot, true, op.getAFactors().getType(),
                       adaptor.getAFactors(), c.getDimSize(1));
    if (op.getBFactors())
      bFactors.emplace(*b, dot, false, op.getBFactors().getType(),
                       adaptor.getBFactors(), c.getDimSize(0));
    auto fragmentA = [&](int i, int j, int step) {
      return aFactors ? aFactors->fragment(i, step, j) : a->fragment(i, step);
    };
    auto fragmentB = [&](int i, int j, int step) {
      return bFactors ? bFactors->fragment(j, step, i) : b->fragment(j, step);
    };
    SmallVector<Value> sums =
        multiplyTiles(rewriter, loc, dot,
                      TileTypeConverter::unpack(rewriter, loc, adaptor.getC()),
                      [&](int i, int j, int step, MutableArrayRef<Value> tile) {
                        mma(rewriter, loc, fragmentA(i, j, step),
                            fragmentB(i, j, step), tile, element);
                      });
    rewriter.replaceOp(op, types().pack(rewriter, loc, c, sums));
    return success();
  }

private:
  static Type elementOf(Type type) {
    if (auto buffer = dyn_cast<BufferType>(type))
      return buffer.getElementType();
    return cast<RankedTensorType>(type).getElementType();
  }

  static void mma(OpBuilder &builder, Location loc, ArrayRef<Value> a,
                  ArrayRef<Value> b, MutableArrayRef<Value> c, Type element) {
    SmallVector<Type> members(c.size(), builder.getF32Type());
    NVVM::MMATypes type =
        element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
    Value result = NVVM::MmaOp::create(
        builder, loc,
        LLVM::LLVMStructType::getLiteral(builder.getContext(), members), a, b,
        ValueRange(ArrayRef<Value>(c)),
        ArrayRef<int64_t>{kMma16.m, kMma16.n, kMma16.k}, std::nullopt,
        std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
    for (auto [r, sum] : llvm::enumerate(c))
      sum = LLVM::ExtractValueOp::create(builder, loc, result, r);
  }
};

} // namespace

// mma.sync of 16-bit operands and ldmatrix are in the base of all targets.
void populateDotPatterns(TileTypeConverter &types, const Target &target,
                         RewritePatternSet &patterns) {
  patterns.add<DotPattern>(types);
  populateFP8DotPatterns(types, target, patterns);
}

} // namespace mlatile
