// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NarrowOperands.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlatile {

using namespace tilegpu;

ArrayRef<Value> NarrowFragments::of(ArrayRef<Value> first,
                                    ArrayRef<Value> second) {
  auto &fragment = fragments[first[0]];
  if (!fragment.empty())
    return fragment;
  if (!zero)
    zero = constI32(builder, loc, 0);
  // Of A registers 0 and 1 are rows g and g + 8, and 2 and 3 those 8 along k;
  // of B register 1 is.
  size_t rows = first.size() / 2;
  for (ArrayRef<Value> step : {first, second})
    for (size_t row = 0; row < rows; ++row)
      fragment.push_back(step.empty() ? zero
                                      : rounded(step[row], step[row + rows]));
  return fragment;
}

Value NarrowFragments::rounded(Value low, Value high) {
  auto bytes = [&](Value pair) -> Value {
    Value two = callIntrinsic(builder, loc, "llvm.nvvm.f16x2.to.e4m3x2.rn",
                              builder.getI16Type(), pair);
    return LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), two);
  };
  Value upper = LLVM::ShlOp::create(builder, loc, bytes(high),
                                    constI32(builder, loc, 16));
  return LLVM::OrOp::create(builder, loc, bytes(low), upper);
}

namespace {

/// Transposed by the 16-bit ldmatrix, a lane gets columns 2g and 2g + 1 of rows
/// 2t and 2t + 1 of each 8: two such words, permuted, are four k of one column
/// each. That is the packed order of docs/Layouts.md along M or N.
class AcrossKOperand : public DotOperandLoader {
public:
  AcrossKOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                 bool isA, BufferType buffer, Value pointer)
      : DotOperandLoader(builder, loc, dot, isA, builder.getBF16Type()),
        buffer(buffer), tilesInBlock(DotTiles::tilesIn(/*pack=*/1, isA)),
        blockStride(16 * (isA ? dot.grid.warpsM : dot.grid.warpsN)) {
    SmallVector<std::array<int64_t, 2>> lanes;
    for (int bit = 0; bit < 5; ++bit)
      lanes.push_back({0, int64_t(1) << bit});
    start = offsetBytes(builder, loc, pointer,
                        threadOffset(lanes, buffer, /*rowsAreOuter=*/false));
  }

private:
  static constexpr int64_t kStep = isa::mmaShape(8).k;

  void load(int tile, int step) override {
    int block = tile / tilesInBlock;
    bool isWhole = (step + 1) * kStep <= buffer.getRows();
    SmallVector<Value> words =
        ldmatrix(offsetBytes(builder, loc, start,
                             step * kStep * buffer.getStrideBytes() +
                                 block * blockStride),
                 isWhole ? 4 : 2, /*transposed=*/true);
    Value evenLow = columns(words[0], words[1], 0);
    Value oddLow = columns(words[0], words[1], 1);
    Value evenHigh = i32(0), oddHigh = evenHigh;
    if (isWhole) {
      evenHigh = columns(words[2], words[3], 0);
      oddHigh = columns(words[2], words[3], 1);
    }
    if (isA) {
      fragments[{tile, step}] = {evenLow, oddLow, evenHigh, oddHigh};
      return;
    }
    fragments[{block * tilesInBlock, step}] = {evenLow, evenHigh};
    fragments[{block * tilesInBlock + 1, step}] = {oddLow, oddHigh};
  }

  /// Bytes `odd` and `odd` + 2 of both words.
  Value columns(Value low, Value high, int odd) {
    auto four = VectorType::get(4, builder.getI8Type());
    auto bytes = [&](Value word) -> Value {
      return LLVM::BitcastOp::create(builder, loc, four, word);
    };
    SmallVector<int32_t> which{odd, odd + 2, odd + 4, odd + 6};
    Value chosen = LLVM::ShuffleVectorOp::create(builder, loc, bytes(low),
                                                 bytes(high), which);
    return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), chosen);
  }

  BufferType buffer;
  int tilesInBlock;
  int64_t blockStride;
  Value start;
};

} // namespace

std::unique_ptr<DotOperandLoader>
makeAcrossKDotOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                      bool isA, BufferType buffer, Value pointer) {
  return std::make_unique<AcrossKOperand>(builder, loc, dot, isA, buffer,
                                          pointer);
}

} // namespace mlatile
