// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.convert_layout by movmatrix: pairs of 16-bit registers are transposed
// 8 x 8 matrices of the source. There is neither an operation nor an intrinsic
// for it, hence the assembly.
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

struct MovmatrixPattern : TilePattern<tilegpu::ConvertLayoutOp> {
  explicit MovmatrixPattern(TileTypeConverter &types)
      : TilePattern(types, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(tilegpu::ConvertLayoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getType();
    auto from = TileTypeConverter::layoutOf(op.getSource().getType());
    auto to = TileTypeConverter::layoutOf(type);
    if (!from || !to || type.getElementTypeBitWidth() != 16 ||
        registersOnly(*from, *to))
      return rewriter.notifyMatchFailure(op, "not for movmatrix");
    auto pairs = matrixTransposes(*from, *to);
    if (!pairs)
      return rewriter.notifyMatchFailure(op, "not for movmatrix");
    SmallVector<Value> source =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getSource());
    Type i32 = rewriter.getI32Type();
    SmallVector<Value> regs;
    for (int pair : *pairs) {
      Value word =
          packVector(rewriter, loc, ArrayRef<Value>(source).slice(2 * pair, 2));
      Type vector = word.getType();
      word = LLVM::BitcastOp::create(rewriter, loc, i32, word);
      auto moved = LLVM::InlineAsmOp::create(
          rewriter, loc, i32, word,
          "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::tailcallkind::TailCallKind::None,
          LLVM::AsmDialectAttr::get(op.getContext(), LLVM::AsmDialect::AD_ATT),
          /*operand_attrs=*/ArrayAttr());
      Value halves =
          LLVM::BitcastOp::create(rewriter, loc, vector, moved.getRes());
      for (int half = 0; half < 2; ++half)
        regs.push_back(LLVM::ExtractElementOp::create(
            rewriter, loc, halves, constI32(rewriter, loc, half)));
    }
    rewriter.replaceOp(op, types().pack(rewriter, loc, type, regs));
    return success();
  }
};

} // namespace

// movmatrix is in the base of all targets.
void populateMovmatrixPatterns(TileTypeConverter &types, const Target &,
                               RewritePatternSet &patterns) {
  patterns.add<MovmatrixPattern>(types);
}

} // namespace mlatile
