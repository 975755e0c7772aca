// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dot of two operands of f8E4M3FN by block-scaled mma.sync m16n8k32.
//
// A fragment of m16n8k32 in 8 bits is that of m16n8k16 in 16 bits with two
// neighbours of K in the place of one element (isa::mmaA, isa::mmaB): operands
// are read as buffers of such pairs, and nothing is converted. Scales come as
// they are stored: a lane holds those of one row of A (column of B), four
// groups of K in a register, of which an instruction names one byte.
#include "DotProduct.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

constexpr isa::MmaShape kMma8 = isa::mmaShape(8);

/// `buffer` with pairs of elements along K for elements. bf16 stands for any 16
/// bits whose fragments are i32.
BufferType pairsOf(BufferType buffer) {
  return BufferType::get(
      buffer.getContext(), {buffer.getRows(), buffer.getCols() / 2},
      BFloat16Type::get(buffer.getContext()), buffer.getStrideBytes());
}

/// The scales of one operand, or ones.
class BlockScales {
public:
  /// The scale of tile `tile` in a step: a register and the byte in it.
  struct Place {
    Value word;
    int byte;
  };

  BlockScales(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
              int64_t k, BufferType type, Value pointer)
      : builder(builder), loc(loc) {
    if (!type)
      return;
    stride = type.getStrideBytes();
    stepsInGroup = k / type.getCols() / kMma8.k;
    tileRows = isA ? kMma8.m * dot.grid.warpsM : kMma8.n * dot.grid.warpsN;
    OpBuilder::InsertionGuard guard(builder);
    Value thread = threadId(builder, loc);
    setToEntry(builder, thread);
    // isa::blockScaleLaneA, isa::blockScaleLaneB for thread-id 0; lanes that
    // are not read hold copies.
    SmallVector<int64_t> rows{isA ? 8 : 0, 0, 1, 2, 4};
    for (const auto &warp : dot.warps)
      rows.push_back(warp[isA ? 0 : 1]);
    Value row = emitBitLinear(builder, loc, thread, rows);
    offset =
        emitByteOffset(builder, loc, row, stride, constI32(builder, loc, 0), 1);
    this->pointer = pointer;
  }

  Place at(int tile, int step) {
    if (!pointer) {
      if (!ones)
        ones = constI32(builder, loc, 0x7F7F7F7F);
      return {ones, 0};
    }
    int group = static_cast<int>(step / stepsInGroup);
    Value &word = words[{tile, group / 4}];
    if (!word) {
      if (!start)
        start = offsetBytes(builder, loc, pointer, offset);
      word = LLVM::LoadOp::create(
          builder, loc, builder.getI32Type(),
          offsetBytes(builder, loc, start,
                      tile * tileRows * stride + group / 4 * 4),
          4u);
    }
    return {word, group % 4};
  }

private:
  OpBuilder &builder;
  Location loc;
  int64_t stride = 0, stepsInGroup = 1, tileRows = 0;
  Value pointer, offset, start, ones;
  std::map<std::pair<int, int>, Value> words;
};

struct FP8DotPattern : TilePattern<DotOp> {
  FP8DotPattern(TileTypeConverter &types, const Target &target)
      : TilePattern<DotOp>(types), target(target) {}

  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.isFP8())
      return rewriter.notifyMatchFailure(op, "left to DotToNVVM.cpp");
    if (!target.has(Feature::MmaBlockScale))
      return op.emitOpError("target ")
             << target.name << " has no mma of f8E4M3FN with block scaling";
    Location loc = op.getLoc();
    RankedTensorType c = op.getC().getType();
    const DistributedLayout &layout = LayoutAttr::of(c).getDistributed();
    std::optional<WarpGrid> grid = matchAccumulator(layout);
    auto aType = dyn_cast<BufferType>(op.getA().getType());
    auto bType = dyn_cast<BufferType>(op.getB().getType());
    if (!grid || !aType || !bType)
      return op.emitOpError("expected buffers, and c in the layout of an "
                            "accumulator");
    DotTiles dot(layout, *grid, op.getK() / 2, /*packK=*/0);
    auto a =
        makeBufferDotOperand(rewriter, loc, dot, /*isA=*/true, pairsOf(aType),
                             /*rowsAreOuter=*/true, adaptor.getA());
    auto b =
        makeBufferDotOperand(rewriter, loc, dot, /*isA=*/false, pairsOf(bType),
                             /*rowsAreOuter=*/true, adaptor.getB());
    auto typeOf = [](Value scales) {
      return scales ? cast<BufferType>(scales.getType()) : BufferType();
    };
    BlockScales aScales(rewriter, loc, dot, /*isA=*/true, op.getK(),
                        typeOf(op.getAScales()), adaptor.getAScales());
    BlockScales bScales(rewriter, loc, dot, /*isA=*/false, op.getK(),
                        typeOf(op.getBScales()), adaptor.getBScales());
    SmallVector<Value> sums =
        multiplyTiles(rewriter, loc, dot,
                      TileTypeConverter::unpack(rewriter, loc, adaptor.getC()),
                      [&](int i, int j, int step, MutableArrayRef<Value> tile) {
                        ArrayRef<Value> left = a->fragment(i, step);
                        ArrayRef<Value> right = b->fragment(j, step);
                        mma(rewriter, loc, left, right, aScales.at(i, step),
                            bScales.at(j, step), tile);
                      });
    rewriter.replaceOp(op, types().pack(rewriter, loc, c, sums));
    return success();
  }

private:
  static void mma(OpBuilder &builder, Location loc, ArrayRef<Value> a,
                  ArrayRef<Value> b, BlockScales::Place aScale,
                  BlockScales::Place bScale, MutableArrayRef<Value> c) {
    SmallVector<Type> members(c.size(), builder.getF32Type());
    auto selector = [&](int value) -> Value {
      return LLVM::ConstantOp::create(builder, loc,
                                      builder.getI16IntegerAttr(value));
    };
    Value result = NVVM::MmaBlockScaleOp::create(
        builder, loc,
        LLVM::LLVMStructType::getLiteral(builder.getContext(), members), a, b,
        ValueRange(ArrayRef<Value>(c)), aScale.word, selector(aScale.byte),
        selector(0), bScale.word, selector(bScale.byte), selector(0),
        ArrayRef<int64_t>{kMma8.m, kMma8.n, kMma8.k},
        std::array<NVVM::MMATypes, 2>{NVVM::MMATypes::e4m3,
                                      NVVM::MMATypes::e4m3},
        NVVM::ScaleVecSize::X1, NVVM::BlockScaleFormat::UE8M0,
        NVVM::MMABlockScaleKind::MXF8F6F4);
    for (auto [r, sum] : llvm::enumerate(c))
      sum = LLVM::ExtractValueOp::create(builder, loc, result, r);
  }

  const Target &target;
};

} // namespace

void populateFP8DotPatterns(TileTypeConverter &types, const Target &target,
                            RewritePatternSet &patterns) {
  patterns.add<FP8DotPattern>(types, target);
}

} // namespace mlatile
