// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of tilegpu.dot from quantised buffers.
//
// The 16-bit ldmatrix reads rows of 16 bytes, 8 << pack elements, and moves
// 16-bit units of 1 << pack elements. A lane gets a word of two units.
//
// Columns along K: the word is 2 << pack neighbours of one row. Its elements
// 4 s .. 4 s + 3 are the lane's part of step s of those that 16 bytes hold.
//
// Columns along M or N, transposed by ldmatrix: the word holds one unit of row
// 2 t and the same of row 2 t + 1. Pairs along K have an element of each. The
// elements of a unit belong to different tiles j of B, or to rows g and g + 8
// of a tile i of A.
#include "DotOperand.h"
#include "QuantisedNumbers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <array>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

/// The scales of an operand's rows, as f32.
class ScaleLoader {
public:
  /// `start`: the place of the thread's first row and, where `threadColumns`,
  /// of its first group.
  ScaleLoader(OpBuilder &builder, Location loc, BufferType type, Value start,
              bool threadColumns)
      : builder(builder), loc(loc), type(type), start(start) {
    // Whole vectors of a row, which stay inside the buffer's place: that is a
    // multiple of 16 bytes.
    int64_t stride = type.getStrideBytes();
    width = threadColumns ? 1 : std::min<int64_t>(16, stride & -stride);
  }

  /// The scale in row `row`, group `group`, both relative to the thread's.
  Value at(int64_t row, int64_t group) {
    Value &scale = scales[{row, group}];
    if (!scale)
      scale = number(byte(row, group));
    return scale;
  }

private:
  Value load(Type what, int64_t row, int64_t column, int64_t bytes) {
    return LLVM::LoadOp::create(
        builder, loc, what,
        offsetBytes(builder, loc, start, row * type.getStrideBytes() + column),
        static_cast<unsigned>(bytes));
  }

  Value byte(int64_t row, int64_t group) {
    if (width < 4)
      return load(builder.getI8Type(), row, group, 1);
    Value &vector = vectors[{row, group / width}];
    if (!vector)
      vector = load(VectorType::get(width / 4, builder.getI32Type()), row,
                    group / width * width, width);
    auto i32 = [&](int64_t value) { return constI32(builder, loc, value); };
    Value word = LLVM::ExtractElementOp::create(builder, loc, vector,
                                                i32(group % width / 4));
    if (group % 4)
      word = LLVM::LShrOp::create(builder, loc, word, i32(group % 4 * 8));
    return LLVM::TruncOp::create(builder, loc, builder.getI8Type(), word);
  }

  Value number(Value byte) {
    if (llvm::isa<Float8E8M0FNUType>(type.getElementType()))
      return emitUE8M0(builder, loc, byte);
    Value word = LLVM::ZExtOp::create(builder, loc, builder.getI16Type(), byte);
    return emitWiden(builder, loc, emitE4M3Pair(builder, loc, word), 0);
  }

  OpBuilder &builder;
  Location loc;
  BufferType type;
  Value start;
  int64_t width;
  std::map<std::pair<int64_t, int64_t>, Value> vectors, scales;
};

class QuantisedOperand : public DotOperandLoader {
public:
  QuantisedOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                   bool isA, Type element, BufferType buffer, bool rowsAreOuter,
                   Value pointer, BufferType scalesType, Value scalesPointer)
      : DotOperandLoader(builder, loc, dot, isA, element), buffer(buffer),
        rowsAreOuter(rowsAreOuter), pack(packing(buffer.getElementType())),
        chunk(int64_t(8) << pack) {
    int64_t warps = isA ? dot.grid.warpsM : dot.grid.warpsN;
    tileStride = (isA ? kMma16.m : kMma16.n) * warps;
    blockStride = chunk * warps;
    tilesInBlock = rowsAreOuter ? 1 : DotTiles::tilesIn(pack, isA);
    findTogether();
    start = offsetBytes(builder, loc, pointer,
                        threadOffset(laneBases(), buffer, rowsAreOuter));
    if (scalesType)
      findScales(scalesType, scalesPointer);
  }

private:
  /// Steps that one matrix holds.
  int stepsInChunk() const { return rowsAreOuter ? pack : 1; }

  /// How many matrices beside the first, along the two directions, come at
  /// once.
  void findTogether() {
    auto powerOfTwo = [](int count, int most) {
      return std::min(count & -count, most);
    };
    if (rowsAreOuter) {
      chunksTogether = powerOfTwo(dot.steps / stepsInChunk(), isA ? 2 : 4);
      return;
    }
    blocksTogether = powerOfTwo(tiles / tilesInBlock, 2);
    if (blocksTogether == 1)
      chunksTogether = powerOfTwo(dot.steps, 2);
  }

  SmallVector<std::array<int64_t, 2>> laneBases() const {
    SmallVector<std::array<int64_t, 2>> bases;
    for (int bit = 0; bit < 3; ++bit)
      bases.push_back(rowsAreOuter ? std::array<int64_t, 2>{1 << bit, 0}
                                   : std::array<int64_t, 2>{0, 1 << bit});
    if (!rowsAreOuter) {
      bases.push_back({0, 8});
      bases.push_back(blocksTogether == 2
                          ? std::array<int64_t, 2>{blockStride, 0}
                          : std::array<int64_t, 2>{0, kMma16.k});
    } else if (isA) {
      bases.push_back({8, 0});
      bases.push_back({0, chunk});
    } else {
      bases.push_back({0, chunk});
      bases.push_back({0, 2 * chunk});
    }
    return bases;
  }

  void findScales(BufferType type, Value pointer) {
    group = buffer.getCols() / type.getCols();
    // The lane's own row and, in columns, its own elements.
    SmallVector<std::array<int64_t, 2>> lanes;
    int64_t unit = int64_t(1) << pack;
    for (int bit = 0; bit < 5; ++bit) {
      int64_t row = bit < 2 ? 0 : 1 << (bit - 2);
      int64_t column = bit < 2 ? 2 * unit << bit : 0;
      if (!rowsAreOuter) {
        row = bit < 2 ? 2 << bit : 0;
        column = bit < 2 ? 0 : unit << (bit - 2);
      }
      column /= group;
      lanes.push_back(rowsAreOuter ? std::array<int64_t, 2>{row, column}
                                   : std::array<int64_t, 2>{column, row});
    }
    DistributedLayout::Bases warps = dot.warps;
    bool threadColumns = false;
    for (auto &warp : warps)
      if (!rowsAreOuter) {
        warp[isA ? 0 : 1] /= group;
        threadColumns |= warp[isA ? 0 : 1] != 0;
      }
    for (auto [outer, k] : lanes)
      threadColumns |= (rowsAreOuter ? k : outer) != 0;
    Value offset = threadOffset(lanes, type, rowsAreOuter, warps);
    scales.emplace(builder, loc, type,
                   offsetBytes(builder, loc, pointer, offset), threadColumns);
  }

  void load(int tile, int step) override {
    int firstBlock = tile / tilesInBlock / blocksTogether * blocksTogether;
    int firstChunk = step / stepsInChunk() / chunksTogether * chunksTogether;
    int64_t outer = firstBlock * (rowsAreOuter ? tileStride : blockStride);
    int64_t k = firstChunk * (rowsAreOuter ? chunk : kMma16.k);
    int64_t row = rowsAreOuter ? outer : k, column = rowsAreOuter ? k : outer;
    // Rows g and g + 8 of A, or both halves of a step.
    int halves = isA || !rowsAreOuter ? 2 : 1;
    SmallVector<Value> words =
        ldmatrix(offsetBytes(builder, loc, start,
                             row * buffer.getStrideBytes() +
                                 column * buffer.getElementBits() / 8),
                 halves * blocksTogether * chunksTogether,
                 /*transposed=*/!rowsAreOuter);
    ArrayRef<Value> rest = words;
    for (int b = 0; b < blocksTogether; ++b)
      for (int c = 0; c < chunksTogether; ++c) {
        if (rowsAreOuter)
          fillAlongK(firstBlock + b, firstChunk + c, rest.take_front(halves));
        else
          fillAcrossK(firstBlock + b, firstChunk + c, rest.take_front(halves));
        rest = rest.drop_front(halves);
      }
  }

  /// The fragments of tile `tile` of the steps of chunk `index`.
  void fillAlongK(int tile, int index, ArrayRef<Value> words) {
    SmallVector<SmallVector<Value>> pairs;
    for (auto [half, word] : llvm::enumerate(words)) {
      SmallVector<Value> scale;
      if (scales)
        scale.assign(2 << pack, scales->at(tile * tileStride + 8 * half,
                                           index * chunk / group));
      SmallVector<std::array<int, 2>> order;
      for (int i = 0; i < 1 << pack; ++i)
        order.push_back({2 * i, 2 * i + 1});
      pairs.push_back(convert(word, order, scale));
    }
    for (int s = 0; s < stepsInChunk(); ++s) {
      Fragment &fragment = fragments[{tile, index * stepsInChunk() + s}];
      for (int k = 0; k < 2; ++k)
        for (const auto &half : pairs)
          fragment.push_back(half[2 * s + k]);
    }
  }

  /// The fragments of step `step` of the tiles of block `block`; `words` has
  /// the two halves of the step.
  void fillAcrossK(int block, int step, ArrayRef<Value> words) {
    int unit = 1 << pack;
    SmallVector<SmallVector<Value>> pairs;
    for (auto [half, word] : llvm::enumerate(words)) {
      SmallVector<Value> scale;
      if (scales)
        for (int k = 0; k < 2; ++k)
          scale.append(unit, scales->at(step * kMma16.k + 8 * half + k,
                                        block * blockStride / group));
      SmallVector<std::array<int, 2>> order;
      for (int q = 0; q < unit; ++q)
        order.push_back({q, unit + q});
      pairs.push_back(convert(word, order, scale));
    }
    int rows = isA ? 2 : 1; // of a tile, in a unit
    for (int t = 0; t < tilesInBlock; ++t) {
      Fragment &fragment = fragments[{block * tilesInBlock + t, step}];
      for (const auto &half : pairs)
        for (int r = 0; r < rows; ++r)
          fragment.push_back(half[t * rows + r]);
    }
  }

  /// Pairs of elements of a word, by their numbers in it, as the mma wants
  /// them; `scale`, if not empty, has a factor for each element.
  SmallVector<Value> convert(Value word, ArrayRef<std::array<int, 2>> order,
                             ArrayRef<Value> scale) {
    SmallVector<Value> pairs;
    if (pack == 1 && scale.empty() && element.isF16()) {
      for (Value half : halvesOf(word, order))
        pairs.push_back(asOperand(emitE4M3Pair(builder, loc, half)));
      return pairs;
    }
    SmallVector<Value> numbers(order.size() * 2);
    if (pack == 1) {
      for (int i = 0; i < 2; ++i) {
        Value pair = emitE4M3Pair(builder, loc, halfOf(word, i));
        for (int half = 0; half < 2; ++half)
          numbers[2 * i + half] = emitWiden(builder, loc, pair, half);
      }
    } else {
      Value factor = LLVM::ConstantOp::create(
          builder, loc, builder.getF32FloatAttr(kE2M1Factor));
      for (int i = 0; i < 4; ++i) {
        Value pair = emitE2M1Pair(builder, loc, word, i);
        for (int half = 0; half < 2; ++half)
          numbers[i + 4 * half] = LLVM::FMulOp::create(
              builder, loc, emitWiden(builder, loc, pair, half), factor);
      }
    }
    for (auto [i, factor] : llvm::enumerate(scale))
      numbers[i] = LLVM::FMulOp::create(builder, loc, numbers[i], factor);
    for (auto [low, high] : order)
      pairs.push_back(asOperand(
          emitRoundedPair(builder, loc, element, numbers[low], numbers[high])));
    return pairs;
  }

  /// Bytes 2 i and 2 i + 1.
  Value halfOf(Value word, int i) {
    if (i)
      word = LLVM::LShrOp::create(builder, loc, word, i32(16));
    return LLVM::TruncOp::create(builder, loc, builder.getI16Type(), word);
  }

  /// The pairs of bytes, as i16: one permutation of the word for both.
  SmallVector<Value> halvesOf(Value word, ArrayRef<std::array<int, 2>> order) {
    SmallVector<int32_t> bytes;
    for (auto [low, high] : order)
      bytes.append({low, high});
    auto vector = VectorType::get(4, builder.getI8Type());
    Value permuted = LLVM::BitcastOp::create(builder, loc, vector, word);
    permuted =
        LLVM::ShuffleVectorOp::create(builder, loc, permuted, permuted, bytes);
    permuted =
        LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), permuted);
    return {halfOf(permuted, 0), halfOf(permuted, 1)};
  }

  BufferType buffer;
  bool rowsAreOuter;
  int pack;
  int64_t chunk; ///< elements of 16 bytes
  int64_t tileStride, blockStride;
  int tilesInBlock;
  int blocksTogether = 1, chunksTogether = 1;
  Value start;
  std::optional<ScaleLoader> scales;
  int64_t group = 1;
};

} // namespace

std::unique_ptr<DotOperandLoader>
makeQuantisedDotOperand(OpBuilder &builder, Location loc, const DotTiles &dot,
                        bool isA, Type element, BufferType buffer,
                        bool rowsAreOuter, Value pointer, BufferType scalesType,
                        Value scales) {
  return std::make_unique<QuantisedOperand>(builder, loc, dot, isA, element,
                                            buffer, rowsAreOuter, pointer,
                                            scalesType, scales);
}

} // namespace mlatile
