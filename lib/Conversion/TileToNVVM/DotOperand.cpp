// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of tilegpu.dot from registers and from 16-bit buffers.
//
// ldmatrix moves four 8 x 8 matrices at a time: one A fragment, or two B
// fragments (of two neighbours j, or of two steps where the number of j is
// odd). Lane l names row l % 8 of matrix l / 8. So the place of its row, in
// (outer, k), outer being M or N, is linear in the bits of the thread number;
// it is computed once, and every fragment is a constant offset from it.
#include "DotOperand.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

using namespace mlir;

namespace mlatile {

using namespace tilegpu;

Value DotOperandLoader::asOperand(Value pair) {
  Type want = element.isBF16() ? Type(builder.getI32Type())
                               : VectorType::get(2, element);
  if (pair.getType() == want)
    return pair;
  return LLVM::BitcastOp::create(builder, loc, want, pair);
}

SmallVector<Value> DotOperandLoader::ldmatrix(Value address, int matrices,
                                              bool transposed) {
  MLIRContext *context = builder.getContext();
  Type type = builder.getI32Type();
  if (matrices > 1)
    type = LLVM::LLVMStructType::getLiteral(
        context, SmallVector<Type>(matrices, builder.getI32Type()));
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, type, address, static_cast<uint32_t>(matrices),
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  if (matrices == 1)
    return {loaded};
  SmallVector<Value> regs;
  for (int i = 0; i < matrices; ++i)
    regs.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return regs;
}

Value DotOperandLoader::threadOffset(
    ArrayRef<std::array<int64_t, 2>> laneBases, BufferType buffer,
    bool rowsAreOuter, const DistributedLayout::Bases &warpBases) {
  OpBuilder::InsertionGuard guard(builder);
  Value thread = threadId(builder, loc);
  setToEntry(builder, thread);
  SmallVector<int64_t> outer, k;
  for (auto [outerBasis, kBasis] : laneBases) {
    outer.push_back(outerBasis);
    k.push_back(kBasis);
  }
  for (const auto &warp : warpBases) {
    outer.push_back(warp[isA ? 0 : 1]);
    k.push_back(0);
  }
  // Rows in rows, columns in bytes.
  auto bytes = [&](SmallVector<int64_t> bases) {
    for (int64_t &basis : bases)
      basis = basis * buffer.getElementBits() / 8;
    return bases;
  };
  Value row = emitBitLinear(builder, loc, thread, rowsAreOuter ? outer : k);
  Value column =
      emitBitLinear(builder, loc, thread, bytes(rowsAreOuter ? k : outer));
  return emitByteOffset(builder, loc, row, buffer.getStrideBytes(), column, 1);
}

namespace {

/// From the registers of a tensor in operand layout: fragments are stored one
/// after the other, those of packed steps together, row-major over the tiles.
class TensorOperand : public DotOperandLoader {
public:
  TensorOperand(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
                Type element, Value tensor)
      : DotOperandLoader(builder, loc, dot, isA, element),
        regs(TileTypeConverter::unpack(builder, loc, tensor)) {}

private:
  void load(int tile, int step) override {
    int together = std::max(dot.packK, 1);
    int blocks = dot.steps / together, block = step / together;
    int index = isA ? tile * blocks + block : block * tiles + tile;
    index = index * together + step % together;
    Fragment &fragment = fragments[{tile, step}];
    for (int r = 0; r < fragmentRegs; ++r) {
      auto pair = ArrayRef(regs).slice((index * fragmentRegs + r) * 2, 2);
      fragment.push_back(asOperand(packVector(builder, loc, pair)));
    }
  }

  SmallVector<Value> regs;
};

/// From shared memory, by ldmatrix. Where the other operand has K in an order
/// of its own, either K runs along the rows here, or the columns are in that
/// order.
class BufferOperand : public DotOperandLoader {
public:
  /// `rowsAreOuter`: rows of the buffer run along M (N), columns along K.
  BufferOperand(OpBuilder &builder, Location loc, const DotTiles &dot, bool isA,
                BufferType buffer, bool rowsAreOuter, Value pointer)
      : DotOperandLoader(builder, loc, dot, isA, buffer.getElementType()),
        buffer(buffer), rowsAreOuter(rowsAreOuter),
        packK(rowsAreOuter ? 0 : dot.packK) {
    tileStride = isA ? kMma16.m * dot.grid.warpsM : kMma16.n * dot.grid.warpsN;
    pairTiles = !isA && tiles % 2 == 0;
    SmallVector<std::array<int64_t, 2>> lanes;
    for (int bit = 0; bit < 5; ++bit)
      lanes.push_back(laneBasis(bit));
    start = offsetBytes(builder, loc, pointer,
                        threadOffset(lanes, buffer, rowsAreOuter));
  }

private:
  /// Where bit 0, 1, 2 of a row of the matrix, or bit 3, the second half of a
  /// step, stands along K.
  int64_t alongK(int bit) const {
    if (packK == 0 || bit == 0)
      return int64_t(1) << bit;
    return bit == 3 ? 2 : int64_t(1) << (bit + packK);
  }

  int64_t stepStart(int step) const {
    return packK ? dot.stepStart(step) : int64_t(step) * kMma16.k;
  }

  /// (outer, k) of what bit `bit` of the lane selects.
  std::array<int64_t, 2> laneBasis(int bit) const {
    if (bit < 3) // the row of a matrix
      return rowsAreOuter ? std::array<int64_t, 2>{1 << bit, 0}
                          : std::array<int64_t, 2>{0, alongK(bit)};
    if (isA) // isa::mmaA: registers 1 and 3 are 8 rows down, 2 and 3 8 along k
      return bit == 3 ? std::array<int64_t, 2>{8, 0}
                      : std::array<int64_t, 2>{0, alongK(3)};
    if (bit == 3) // isa::mmaB: register 1 is 8 along k
      return {0, alongK(3)};
    return pairTiles ? std::array<int64_t, 2>{tileStride, 0}
                     : std::array<int64_t, 2>{0, stepStart(1)};
  }

  void load(int tile, int step) override {
    // The first of the fragments that come together.
    int firstTile = pairTiles ? tile & ~1 : tile;
    int firstStep = isA || pairTiles ? step : step & ~1;
    int tilesLoaded = pairTiles ? 2 : 1;
    int stepsLoaded = isA || pairTiles ? 1 : std::min(2, dot.steps - firstStep);
    SmallVector<Value> regs = ldmatrix(address(firstTile, firstStep),
                                       fragmentRegs * tilesLoaded * stepsLoaded,
                                       // A row of memory is a row of the
                                       // fragment where it runs along k.
                                       /*transposed=*/!rowsAreOuter);
    ArrayRef<Value> rest = regs;
    for (int t = 0; t < tilesLoaded; ++t)
      for (int s = 0; s < stepsLoaded; ++s) {
        Fragment &fragment = fragments[{firstTile + t, firstStep + s}];
        for (Value reg : rest.take_front(fragmentRegs))
          fragment.push_back(asOperand(reg));
        rest = rest.drop_front(fragmentRegs);
      }
  }

  Value address(int tile, int step) {
    int64_t outer = int64_t(tile) * tileStride, k = stepStart(step);
    int64_t row = rowsAreOuter ? outer : k, col = rowsAreOuter ? k : outer;
    return offsetBytes(builder, loc, start,
                       row * buffer.getStrideBytes() +
                           col * buffer.getElementBytes());
  }

  BufferType buffer;
  bool rowsAreOuter;
  int packK; ///< how elements along K are out of order in the buffer
  int64_t tileStride = 0;
  bool pairTiles = false;
  Value start;
};

/// From shared memory, K packed along the columns: what a lane needs of a row,
/// of all steps that are packed together, is one vector.
class PackedBufferOperand : public DotOperandLoader {
public:
  PackedBufferOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                      bool isA, BufferType buffer, Value pointer)
      : DotOperandLoader(builder, loc, dot, isA, buffer.getElementType()),
        buffer(buffer) {
    tileStride = isA ? kMma16.m * dot.grid.warpsM : kMma16.n * dot.grid.warpsN;
    int64_t own = dot.pairStep(); // elements of a lane
    SmallVector<std::array<int64_t, 2>> lanes{
        {0, own}, {0, 2 * own}, {1, 0}, {2, 0}, {4, 0}};
    start = offsetBytes(builder, loc, pointer,
                        threadOffset(lanes, buffer, /*rowsAreOuter=*/true));
  }

private:
  void load(int tile, int step) override {
    int together = dot.packK, first = step / together * together;
    int halves = isA ? 2 : 1; // rows g and g + 8
    SmallVector<SmallVector<Value>> words;
    for (int half = 0; half < halves; ++half) {
      int64_t bytes = (tile * tileStride + 8 * half) * buffer.getStrideBytes() +
                      int64_t(first) * kMma16.k * buffer.getElementBytes();
      auto type = VectorType::get(2 * together, builder.getI32Type());
      Value vector = LLVM::LoadOp::create(
          builder, loc, type, offsetBytes(builder, loc, start, bytes),
          static_cast<unsigned>(8 * together));
      auto &row = words.emplace_back();
      for (int i = 0; i < 2 * together; ++i)
        row.push_back(
            LLVM::ExtractElementOp::create(builder, loc, vector, i32(i)));
    }
    for (int s = 0; s < together; ++s) {
      Fragment &fragment = fragments[{tile, first + s}];
      for (int k = 0; k < 2; ++k)
        for (int half = 0; half < halves; ++half)
          fragment.push_back(asOperand(words[half][2 * s + k]));
    }
  }

  BufferType buffer;
  int64_t tileStride = 0;
  Value start;
};

} // namespace

std::unique_ptr<DotOperandLoader> makeDotOperand(OpBuilder &builder, DotOp op,
                                                 const DotTiles &dot, bool isA,
                                                 Type element, Value converted,
                                                 Value scales) {
  Location loc = op.getLoc();
  Value operand = isA ? op.getA() : op.getB();
  auto buffer = dyn_cast<BufferType>(operand.getType());
  if (!buffer)
    return std::make_unique<TensorOperand>(builder, loc, dot, isA, element,
                                           converted);
  bool rowsAreOuter = isA ? !op.getATransposed() : op.getBTransposed();
  if (packing(buffer.getElementType())) {
    Value unconverted = isA ? op.getAScales() : op.getBScales();
    return makeQuantisedDotOperand(
        builder, loc, dot, isA, element, buffer, rowsAreOuter, converted,
        unconverted ? cast<BufferType>(unconverted.getType()) : BufferType(),
        scales);
  }
  bool isPacked = isA ? op.getAPacked() : op.getBPacked();
  if (dot.packK && rowsAreOuter && !isPacked)
    return std::make_unique<PackedBufferOperand>(builder, loc, dot, isA, buffer,
                                                 converted);
  return makeBufferDotOperand(builder, loc, dot, isA, buffer, rowsAreOuter,
                              converted);
}

std::unique_ptr<DotOperandLoader>
makeBufferDotOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                     bool isA, BufferType buffer, bool rowsAreOuter,
                     Value pointer) {
  return std::make_unique<BufferOperand>(builder, loc, dot, isA, buffer,
                                         rowsAreOuter, pointer);
}

} // namespace mlatile
