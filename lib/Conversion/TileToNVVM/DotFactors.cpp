// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotFactors.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlatile {

using namespace tilegpu;

DotFactors::DotFactors(DotOperandLoader &operand, const DotTiles &dot, bool isA,
                       BufferType type, Value factors, int64_t size)
    : operand(operand), dot(dot), isA(isA), type(type),
      group(size / type.getRows()) {
  int pack = isA ? dot.grid.packN : dot.grid.packM;
  int64_t warps = isA ? dot.grid.warpsN : dot.grid.warpsM;
  blockStride = std::max(int64_t(8) << pack, int64_t(isA ? 8 : 16)) * warps;
  // Rows in groups, columns along K: groups are powers of two, so that the
  // parts of a thread and of a tile never share a bit.
  SmallVector<int64_t> rows(5, 0), columns(5, 0);
  for (int bit = 0; bit < 2; ++bit)
    columns[bit] = dot.pairStep() << bit;
  for (const auto &warp : dot.warps) {
    rows.push_back(warp[isA ? 1 : 0] / group);
    columns.push_back(0);
  }
  OpBuilder &builder = operand.getBuilder();
  Location loc = operand.getLoc();
  Value offset;
  {
    OpBuilder::InsertionGuard guard(builder);
    Value thread = threadId(builder, loc);
    setToEntry(builder, thread);
    Value row = emitBitLinear(builder, loc, thread, rows);
    Value column = emitBitLinear(builder, loc, thread, columns);
    offset = emitByteOffset(builder, loc, row, type.getStrideBytes(), column,
                            type.getElementBits() / 8);
  }
  start = offsetBytes(builder, loc, factors, offset);
}

ArrayRef<Value> DotFactors::fragment(int tile, int step, int other) {
  int inBlock = isA ? DotTiles::tilesIn(dot.grid.packN, false)
                    : DotTiles::tilesIn(dot.grid.packM, true);
  int64_t number = other / inBlock * blockStride / group;
  DotOperandLoader::Fragment &product = products[{tile, step, number}];
  if (!product.empty())
    return product;
  ArrayRef<Value> plain = operand.fragment(tile, step);
  // The registers of a lane: first those of the first half of the step.
  size_t perHalf = plain.size() / 2;
  OpBuilder &builder = operand.getBuilder();
  Location loc = operand.getLoc();
  auto vector = VectorType::get(2, type.getElementType());
  for (auto [r, value] : llvm::enumerate(plain)) {
    Value factor = pair(number, step, r / perHalf);
    Value wide = value;
    if (wide.getType() != vector)
      wide = LLVM::BitcastOp::create(builder, loc, vector, wide);
    Value scaled = LLVM::FMulOp::create(builder, loc, wide, factor);
    if (value.getType() != vector)
      scaled = LLVM::BitcastOp::create(builder, loc, value.getType(), scaled);
    product.push_back(scaled);
  }
  return product;
}

Value DotFactors::pair(int64_t number, int step, int half) {
  Value &factor = pairs[{number, step, half}];
  if (!factor) {
    OpBuilder &builder = operand.getBuilder();
    Location loc = operand.getLoc();
    int64_t column = dot.stepStart(step) + half * dot.halfStep();
    factor = LLVM::LoadOp::create(
        builder, loc, VectorType::get(2, type.getElementType()),
        offsetBytes(builder, loc, start,
                    number * type.getStrideBytes() +
                        column * type.getElementBits() / 8),
        4u);
  }
  return factor;
}

} // namespace mlatile
