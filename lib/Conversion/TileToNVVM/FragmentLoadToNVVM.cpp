// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.load_shared of a first operand of mma.sync: by ldmatrix, whose
// results stand in neighbouring registers, as the mma wants them.
#include "DotOperand.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

struct FragmentLoadPattern : TilePattern<LoadSharedOp> {
  explicit FragmentLoadPattern(TileTypeConverter &types)
      : TilePattern(types, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(LoadSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tile = cast<RankedTensorType>(op.getTile().getType());
    if (!op.readsFragments())
      return failure();
    Location loc = op.getLoc();
    auto grid = matchOperandA(LayoutAttr::of(tile).getDistributed());
    int64_t k = tile.getDimSize(1);
    // Any accumulator of these warps has these fragments.
    auto c = DistributedLayout::mmaAccumulator(
        tile.getDimSize(0), 8L * grid->warpsN, grid->warpsM, grid->warpsN);
    if (!c)
      return failure();
    DotTiles dot(*c, *grid, k, /*packK=*/0);
    auto loader = makeBufferDotOperand(
        rewriter, loc, dot, /*isA=*/true, op.getBuffer().getType(),
        /*rowsAreOuter=*/true, adaptor.getBuffer());
    Type pairType = VectorType::get(2, types().elementType(tile));
    SmallVector<Value> regs;
    for (int tileRow = 0; tileRow < dot.tilesM; ++tileRow)
      for (int step = 0; step < dot.steps; ++step)
        for (Value word : loader->fragment(tileRow, step)) {
          Value pair = word;
          if (pair.getType() != pairType)
            pair = LLVM::BitcastOp::create(rewriter, loc, pairType, word);
          for (int half = 0; half < 2; ++half)
            regs.push_back(LLVM::ExtractElementOp::create(
                rewriter, loc, pair, constI32(rewriter, loc, half)));
        }
    rewriter.replaceOp(op, types().pack(rewriter, loc, tile, regs));
    return success();
  }
};

} // namespace

void populateFragmentLoadPatterns(TileTypeConverter &types, const Target &,
                                  RewritePatternSet &patterns) {
  patterns.add<FragmentLoadPattern>(types);
}

} // namespace mlatile
