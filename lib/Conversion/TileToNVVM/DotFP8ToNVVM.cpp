// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dot of two operands of f8E4M3FN, or of one that is made so
// (`narrow`), by block-scaled mma.sync m16n8k32.
//
// A fragment of m16n8k32 in 8 bits is that of m16n8k16 in 16 bits with two
// neighbours of K in the place of one element (isa::mmaA, isa::mmaB): operands
// are read as buffers of such pairs, and nothing is converted. Scales come as
// they are stored: a lane holds those of one row of A (column of B), four
// groups of K in a register, of which an instruction names one byte.
#include "DotProduct.h"
#include "NarrowOperands.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

constexpr isa::MmaShape kMma8 = isa::mmaShape(8);
/// Half as many sets of sums as in 16 bits: steps are half as many, and
/// registers are short beside the accumulators of swapab.
constexpr int kIndependentFP8 = kIndependent / 2;

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
    if (!op.isFP8() && !op.getNarrow())
      return rewriter.notifyMatchFailure(op, "left to DotToNVVM.cpp");
    if (!target.has(Feature::MmaBlockScale))
      return op.emitOpError("target ")
             << target.name << " has no mma of f8E4M3FN with block scaling";
    const DistributedLayout &layout =
        LayoutAttr::of(op.getC().getType()).getDistributed();
    std::optional<WarpGrid> grid = matchAccumulator(layout);
    if (!grid)
      return op.emitOpError("expected c in the layout of an accumulator");
    // Pairs of elements stand for elements of 16 bits.
    int64_t k = llvm::alignTo(op.getK(), kMma8.k);
    DotTiles dot(layout, *grid, k / 2, /*packK=*/0);
    SmallVector<Value> sums =
        op.isFP8() ? multiplyBuffers(op, adaptor, dot, rewriter)
                   : multiplyNarrowed(op, adaptor, dot, rewriter);
    rewriter.replaceOp(
        op, types().pack(rewriter, op.getLoc(), op.getC().getType(), sums));
    return success();
  }

private:
  static SmallVector<Value> multiplyBuffers(DotOp op, OpAdaptor adaptor,
                                            const DotTiles &dot,
                                            OpBuilder &builder) {
    Location loc = op.getLoc();
    auto operand = [&](bool isA, Value original, Value converted) {
      return makeBufferDotOperand(builder, loc, dot, isA,
                                  pairsOf(cast<BufferType>(original.getType())),
                                  /*rowsAreOuter=*/true, converted);
    };
    auto a = operand(/*isA=*/true, op.getA(), adaptor.getA());
    auto b = operand(/*isA=*/false, op.getB(), adaptor.getB());
    auto typeOf = [](Value scales) {
      return scales ? cast<BufferType>(scales.getType()) : BufferType();
    };
    BlockScales aScales(builder, loc, dot, /*isA=*/true, op.getK(),
                        typeOf(op.getAScales()), adaptor.getAScales());
    BlockScales bScales(builder, loc, dot, /*isA=*/false, op.getK(),
                        typeOf(op.getBScales()), adaptor.getBScales());
    return multiplyTiles(
        builder, loc, dot,
        TileTypeConverter::unpack(builder, loc, adaptor.getC()),
        [&](int i, int j, int step, MutableArrayRef<Value> tile) {
          ArrayRef<Value> left = a->fragment(i, step);
          ArrayRef<Value> right = b->fragment(j, step);
          mma(builder, loc, left, right, aScales.at(i, step),
              bScales.at(j, step), tile);
        },
        kIndependentFP8);
  }

  static SmallVector<Value> multiplyNarrowed(DotOp op, OpAdaptor adaptor,
                                             const DotTiles &dot,
                                             OpBuilder &builder) {
    Location loc = op.getLoc();
    Type f16 = builder.getF16Type();
    bool narrowsA = elementOf(op.getA().getType()).isF16();
    DotTiles wide(dot);
    wide.steps = static_cast<int>(op.getK() / kMma16.k);
    auto rounded = makeDotOperand(builder, op, wide, narrowsA, f16,
                                  narrowsA ? adaptor.getA() : adaptor.getB(),
                                  /*scales=*/Value());
    std::optional<DotFactors> factors;
    if (Value original = narrowsA ? op.getAFactors() : op.getBFactors())
      factors.emplace(*rounded, wide, narrowsA,
                      cast<BufferType>(original.getType()),
                      narrowsA ? adaptor.getAFactors() : adaptor.getBFactors(),
                      op.getC().getType().getDimSize(narrowsA ? 1 : 0));
    auto original =
        cast<BufferType>((narrowsA ? op.getB() : op.getA()).getType());
    NarrowFragments narrowed(builder, loc);
    auto stored =
        makeAcrossKDotOperand(builder, loc, dot, /*isA=*/!narrowsA, original,
                              narrowsA ? adaptor.getB() : adaptor.getA());
    BlockScales ones(builder, loc, dot, narrowsA, op.getK(), BufferType(),
                     Value());
    auto fragment = [&](int own, int other, int step) {
      DotOperandLoader::Fragment halves[2];
      for (int s = 0; s < 2 && 2 * step + s < wide.steps; ++s) {
        ArrayRef<Value> regs = factors
                                   ? factors->fragment(own, 2 * step + s, other)
                                   : rounded->fragment(own, 2 * step + s);
        halves[s].assign(regs.begin(), regs.end());
      }
      return narrowed.of(halves[0], halves[1]);
    };
    return multiplyTiles(
        builder, loc, dot,
        TileTypeConverter::unpack(builder, loc, adaptor.getC()),
        [&](int i, int j, int step, MutableArrayRef<Value> tile) {
          ArrayRef<Value> own =
              narrowsA ? fragment(i, j, step) : fragment(j, i, step);
          ArrayRef<Value> other = stored->fragment(narrowsA ? j : i, step);
          mma(builder, loc, narrowsA ? own : other, narrowsA ? other : own,
              ones.at(0, 0), ones.at(0, 0), tile);
        });
  }

  static Type elementOf(Type type) {
    if (auto buffer = dyn_cast<BufferType>(type))
      return buffer.getElementType();
    return cast<RankedTensorType>(type).getElementType();
  }

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
