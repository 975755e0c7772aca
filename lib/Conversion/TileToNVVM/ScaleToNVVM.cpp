// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.scale: a branch that the lanes of a warp take together.
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

struct ScalePattern : TilePattern<tilegpu::ScaleOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tilegpu::ScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto layout = TileTypeConverter::layoutOf(type);
    if (!layout || !TileTypeConverter::layoutOf(op.getFactor().getType()))
      return op.emitOpError("expected tiles with layouts");
    SmallVector<Value> regs =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getTile());
    SmallVector<Value> factors =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getFactor());

    Value one =
        LLVM::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(1.0f));
    Value differs;
    for (Value factor : factors) {
      Value other = LLVM::FCmpOp::create(rewriter, loc,
                                         LLVM::FCmpPredicate::une, factor, one);
      differs =
          differs ? LLVM::OrOp::create(rewriter, loc, differs, other) : other;
    }
    Value any = NVVM::VoteSyncOp::create(rewriter, loc, rewriter.getI1Type(),
                                         constI32(rewriter, loc, -1), differs,
                                         NVVM::VoteSyncKind::any);

    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    SmallVector<Type> elements(regs.size(), rewriter.getF32Type());
    SmallVector<Location> locs(regs.size(), loc);
    SmallVector<Value> results(after->addArguments(elements, locs));
    Block *multiply = rewriter.createBlock(after);
    std::vector<int> which =
        layout->sliceRegisters(static_cast<int>(op.getAxis()));
    SmallVector<Value> products;
    for (auto [reg, factor] : llvm::zip_equal(regs, which))
      products.push_back(
          LLVM::FMulOp::create(rewriter, loc, reg, factors[factor]));
    LLVM::BrOp::create(rewriter, loc, products, after);
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, loc, any, multiply, ValueRange(), after,
                           regs);
    rewriter.setInsertionPointToStart(after);
    rewriter.replaceOp(op, types().pack(rewriter, loc, type, results));
    return success();
  }
};

} // namespace

void populateScalePatterns(TileTypeConverter &types, const Target &,
                           RewritePatternSet &patterns) {
  patterns.add<ScalePattern>(types);
}

} // namespace mlatile
