// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dot by mma.sync m16n8k16.
//
// A warp owns the 16 x 8 tiles (i, j) of c that its layout gives it. Per step
// of 16 along K it takes one fragment of A for each i and one of B for each j;
// a B fragment feeds the products of all i. Fragments come from tensors
// (registers in operand layout) or from buffers by ldmatrix, four 8 x 8
// matrices at a time: one A fragment, or two B fragments (of two neighbours j,
// or of two steps where the number of j is odd).
//
// Lane l of an ldmatrix names row l % 8 of matrix l / 8. So the place of its
// row, in (outer, k), outer being M or N, is linear in the bits of the thread
// number; it is computed once, and every fragment is a constant offset from it.
#include "SharedAddress.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Instructions.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <array>
#include <map>
#include <memory>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

constexpr isa::MmaShape kMma = isa::mmaShape(16);
/// Products that depend on each other should stand this far apart.
constexpr int kIndependent = 4;

/// What both operands need to know of the product.
struct DotTiles {
  WarpGrid grid;
  int tilesM, tilesN, steps; ///< of one warp
  DistributedLayout::Bases warps;
};

/// Fragments of one operand, loaded when first asked for.
class Operand {
public:
  Operand(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
          Type element)
      : builder(builder), loc(loc), dot(dot), isA(isA), element(element),
        tiles(isA ? dot.tilesM : dot.tilesN),
        fragmentRegs(isA ? kMma.regsA : kMma.regsB) {}
  virtual ~Operand() = default;

  /// The registers of the fragment of tile `tile` (i or j) and step `step`.
  ArrayRef<Value> fragment(int tile, int step) {
    auto &entry = fragments[{tile, step}];
    if (entry.empty()) {
      load(tile, step);
      return fragments[{tile, step}];
    }
    return entry;
  }

protected:
  /// Puts at least that fragment into `fragments`.
  virtual void load(int tile, int step) = 0;

  /// An i32 or a pair of elements as the mma wants it: i32 for bf16, a vector
  /// for f16.
  Value asOperand(Value pair) {
    Type want = element.isBF16() ? Type(builder.getI32Type())
                                 : VectorType::get(2, element);
    if (pair.getType() == want)
      return pair;
    return LLVM::BitcastOp::create(builder, loc, want, pair);
  }

  OpBuilder &builder;
  Location loc;
  const DotTiles &dot;
  bool isA;
  Type element;
  int tiles, fragmentRegs;
  std::map<std::pair<int, int>, SmallVector<Value, 4>> fragments;
};

/// From the registers of a tensor in operand layout: fragments are stored one
/// after the other, row-major over the tiles.
class TensorOperand : public Operand {
public:
  TensorOperand(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
                Type element, Value tensor)
      : Operand(builder, loc, dot, isA, element),
        regs(TileTypeConverter::unpack(builder, loc, tensor)) {}

private:
  void load(int tile, int step) override {
    int index = isA ? tile * dot.steps + step : step * tiles + tile;
    auto &fragment = fragments[{tile, step}];
    for (int r = 0; r < fragmentRegs; ++r) {
      Value pair =
          LLVM::PoisonOp::create(builder, loc, VectorType::get(2, element));
      for (int h = 0; h < 2; ++h)
        pair = LLVM::InsertElementOp::create(
            builder, loc, pair, regs[(index * fragmentRegs + r) * 2 + h],
            constI32(builder, loc, h));
      fragment.push_back(asOperand(pair));
    }
  }

  SmallVector<Value> regs;
};

/// From shared memory.
class BufferOperand : public Operand {
public:
  /// `rowsAreOuter`: rows of the buffer run along M (N), columns along K.
  BufferOperand(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
                BufferType buffer, bool rowsAreOuter, Value pointer)
      : Operand(builder, loc, dot, isA, buffer.getElementType()),
        buffer(buffer), rowsAreOuter(rowsAreOuter) {
    tileStride = isA ? kMma.m * dot.grid.warpsM : kMma.n * dot.grid.warpsN;
    pairTiles = !isA && tiles % 2 == 0;
    start = offsetBytes(builder, loc, pointer, laneOffset());
  }

private:
  /// (outer, k) of what bit `bit` of the lane selects.
  std::array<int64_t, 2> laneBasis(int bit) const {
    if (bit < 3) // the row of a matrix
      return rowsAreOuter ? std::array<int64_t, 2>{1 << bit, 0}
                          : std::array<int64_t, 2>{0, 1 << bit};
    if (isA) // isa::mmaA: registers 1 and 3 are 8 rows down, 2 and 3 8 along k
      return bit == 3 ? std::array<int64_t, 2>{8, 0}
                      : std::array<int64_t, 2>{0, 8};
    if (bit == 3) // isa::mmaB: register 1 is 8 along k
      return {0, 8};
    return pairTiles ? std::array<int64_t, 2>{tileStride, 0}
                     : std::array<int64_t, 2>{0, kMma.k};
  }

  /// Byte offset of the row that this lane names, in the entry block.
  Value laneOffset() {
    OpBuilder::InsertionGuard guard(builder);
    Value thread = threadId(builder, loc);
    setToEntry(builder, thread);
    SmallVector<int64_t> outer, k;
    for (int bit = 0; bit < 5; ++bit) {
      outer.push_back(laneBasis(bit)[0]);
      k.push_back(laneBasis(bit)[1]);
    }
    for (const auto &warp : dot.warps) {
      outer.push_back(warp[isA ? 0 : 1]);
      k.push_back(0);
    }
    // A pair of tiles is not linear in the bits if tiles are no power of two
    // apart; they are, as warps are.
    Value outerPart = emitBitLinear(builder, loc, thread, outer);
    Value kPart = emitBitLinear(builder, loc, thread, k);
    return emitByteOffset(
        builder, loc, rowsAreOuter ? outerPart : kPart, buffer.getStrideBytes(),
        rowsAreOuter ? kPart : outerPart, buffer.getElementBytes());
  }

  void load(int tile, int step) override {
    // The first of the fragments that come together.
    int firstTile = pairTiles ? tile & ~1 : tile;
    int firstStep = isA || pairTiles ? step : step & ~1;
    int tilesLoaded = pairTiles ? 2 : 1;
    int stepsLoaded = isA || pairTiles ? 1 : std::min(2, dot.steps - firstStep);
    SmallVector<Value> regs =
        ldmatrix(address(firstTile, firstStep),
                 fragmentRegs * tilesLoaded * stepsLoaded);
    ArrayRef<Value> rest = regs;
    for (int t = 0; t < tilesLoaded; ++t)
      for (int s = 0; s < stepsLoaded; ++s) {
        auto &fragment = fragments[{firstTile + t, firstStep + s}];
        for (Value reg : rest.take_front(fragmentRegs))
          fragment.push_back(asOperand(reg));
        rest = rest.drop_front(fragmentRegs);
      }
  }

  Value address(int tile, int step) {
    int64_t outer = int64_t(tile) * tileStride, k = int64_t(step) * kMma.k;
    int64_t row = rowsAreOuter ? outer : k, col = rowsAreOuter ? k : outer;
    return offsetBytes(builder, loc, start,
                       row * buffer.getStrideBytes() +
                           col * buffer.getElementBytes());
  }

  SmallVector<Value> ldmatrix(Value address, int matrices) {
    MLIRContext *context = builder.getContext();
    SmallVector<Type> members(matrices, builder.getI32Type());
    Value loaded = NVVM::LdMatrixOp::create(
        builder, loc, LLVM::LLVMStructType::getLiteral(context, members),
        address, static_cast<uint32_t>(matrices),
        // A row of memory is a row of the fragment where it runs along k.
        rowsAreOuter ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> regs;
    for (int i = 0; i < matrices; ++i)
      regs.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
    return regs;
  }

  BufferType buffer;
  bool rowsAreOuter;
  int64_t tileStride = 0;
  bool pairTiles = false;
  Value start;
};

struct DotPattern : ConvertOpToLLVMPattern<DotOp> {
  explicit DotPattern(TileTypeConverter &types)
      : ConvertOpToLLVMPattern(types), types(types) {}

  LogicalResult
  matchAndRewrite(DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType c = op.getC().getType();
    const DistributedLayout &layout = LayoutAttr::of(c).getDistributed();
    std::optional<WarpGrid> grid = matchAccumulator(layout);
    if (!grid)
      return op.emitOpError("expected c in the layout of an accumulator");
    DotTiles dot{*grid, static_cast<int>(layout.reps()[0]),
                 static_cast<int>(layout.reps()[1]), steps(op),
                 layout.warpBases()};

    auto a = operand(rewriter, op, dot, /*isA=*/true, adaptor.getA());
    auto b = operand(rewriter, op, dot, /*isA=*/false, adaptor.getB());
    SmallVector<Value> sums =
        multiply(rewriter, loc, dot, *a, *b,
                 TileTypeConverter::unpack(rewriter, loc, adaptor.getC()),
                 elementOf(op.getA().getType()));
    rewriter.replaceOp(op, types.pack(rewriter, loc, c, sums));
    return success();
  }

private:
  static Type elementOf(Type type) {
    if (auto buffer = dyn_cast<BufferType>(type))
      return buffer.getElementType();
    return cast<RankedTensorType>(type).getElementType();
  }

  static int steps(DotOp op) {
    Type a = op.getA().getType();
    int64_t k;
    if (auto buffer = dyn_cast<BufferType>(a))
      k = buffer.getShape()[op.getATransposed() ? 0 : 1];
    else
      k = cast<RankedTensorType>(a).getDimSize(1);
    return static_cast<int>(k / kMma.k);
  }

  static std::unique_ptr<Operand> operand(OpBuilder &builder, DotOp op,
                                          const DotTiles &dot, bool isA,
                                          Value converted) {
    Type type = (isA ? op.getA() : op.getB()).getType();
    if (auto buffer = dyn_cast<BufferType>(type))
      return std::make_unique<BufferOperand>(
          builder, op.getLoc(), dot, isA, buffer,
          isA ? !op.getATransposed() : op.getBTransposed(), converted);
    return std::make_unique<TensorOperand>(builder, op.getLoc(), dot, isA,
                                           elementOf(type), converted);
  }

  /// All products of the warp. With fewer than kIndependent tiles, steps are
  /// dealt to several sets of sums, which are added in the end.
  static SmallVector<Value> multiply(OpBuilder &builder, Location loc,
                                     const DotTiles &dot, Operand &a,
                                     Operand &b, SmallVector<Value> c,
                                     Type element) {
    int tiles = dot.tilesM * dot.tilesN, sets = 1;
    while (sets * tiles < kIndependent && 2 * sets <= dot.steps)
      sets *= 2;
    SmallVector<SmallVector<Value>> sums{std::move(c)};
    if (sets > 1) {
      Value zero =
          LLVM::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
      for (int s = 1; s < sets; ++s)
        sums.emplace_back(SmallVector<Value>(sums[0].size(), zero));
    }
    for (int step = 0; step < dot.steps; ++step)
      for (int j = 0; j < dot.tilesN; ++j)
        for (int i = 0; i < dot.tilesM; ++i) {
          MutableArrayRef<Value> tile(sums[step % sets]);
          tile = tile.slice((i * dot.tilesN + j) * kMma.regsC, kMma.regsC);
          mma(builder, loc, a.fragment(i, step), b.fragment(j, step), tile,
              element);
        }
    for (int width = sets / 2; width > 0; width /= 2)
      for (int s = 0; s < width; ++s)
        for (size_t r = 0; r < sums[s].size(); ++r)
          sums[s][r] = LLVM::FAddOp::create(builder, loc, sums[s][r],
                                            sums[s + width][r]);
    return sums[0];
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
        ArrayRef<int64_t>{kMma.m, kMma.n, kMma.k}, std::nullopt, std::nullopt,
        std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
    for (auto [r, sum] : llvm::enumerate(c))
      sum = LLVM::ExtractValueOp::create(builder, loc, result, r);
  }

  TileTypeConverter &types;
};

} // namespace

// mma.sync of 16-bit operands and ldmatrix are in the base of all targets.
void populateDotPatterns(TileTypeConverter &types, const Target &,
                         RewritePatternSet &patterns) {
  patterns.add<DotPattern>(types);
}

} // namespace mlatile
