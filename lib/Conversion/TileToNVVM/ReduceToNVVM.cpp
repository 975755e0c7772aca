// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.reduce_warp: the registers of a thread as a balanced tree of halves,
// then one butterfly step (PTX ISA, "shfl.sync") a lane bit along the axis, the
// highest first. So where registers hold the highest bits of a coordinate, then
// lanes, the tree is that of the coordinate, whoever has what.
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

Value combine(OpBuilder &builder, Location loc, tile::ReduceKind kind, Value a,
              Value b) {
  switch (kind) {
  case tile::ReduceKind::AddF:
    return LLVM::FAddOp::create(builder, loc, a, b);
  case tile::ReduceKind::MaximumF:
    return LLVM::MaximumOp::create(builder, loc, a, b);
  case tile::ReduceKind::MinimumF:
    return LLVM::MinimumOp::create(builder, loc, a, b);
  case tile::ReduceKind::AddI:
    return LLVM::AddOp::create(builder, loc, a, b);
  case tile::ReduceKind::MaxSI:
    return LLVM::SMaxOp::create(builder, loc, a, b);
  }
  return {};
}

/// The value of the lane whose number differs in `bit`. Up to 32 bits.
Value exchange(OpBuilder &builder, Location loc, Value value, int bit) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type word = width == 32 ? type : i32;
  if (width < 32) {
    value = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(width),
                                    value);
    value = LLVM::ZExtOp::create(builder, loc, i32, value);
  }
  Value other = NVVM::ShflOp::create(
      builder, loc, word, constI32(builder, loc, -1), value,
      constI32(builder, loc, 1 << bit), constI32(builder, loc, 31),
      NVVM::ShflKind::bfly, UnitAttr());
  if (width < 32) {
    other = LLVM::TruncOp::create(builder, loc, builder.getIntegerType(width),
                                  other);
    other = LLVM::BitcastOp::create(builder, loc, type, other);
  }
  return other;
}

struct ReduceWarpPattern : TilePattern<tilegpu::ReduceWarpOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tilegpu::ReduceWarpOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto resultType = cast<RankedTensorType>(op.getResult().getType());
    auto source = TileTypeConverter::layoutOf(op.getSource().getType());
    auto result = TileTypeConverter::layoutOf(resultType);
    int axis = static_cast<int>(op.getAxis());
    auto across = source ? source->exchangeAlong(axis) : std::nullopt;
    if (!across || !result)
      return op.emitOpError("expected a layout that can be exchanged along ")
             << axis << " by lane bits";
    if (resultType.getElementTypeBitWidth() > 32)
      return op.emitOpError("expected an element of at most 32 bits, got ")
             << resultType.getElementType();

    // Which registers of the source end in which register of the result.
    bool kept = result->rank() == source->rank();
    SmallVector<SmallVector<Value>> groups(result->numRegs());
    for (auto [reg, value] : llvm::enumerate(
             TileTypeConverter::unpack(rewriter, loc, adaptor.getSource()))) {
      DistributedLayout::Coords coord = source->regCoord(reg);
      if (kept)
        coord[axis] = 0;
      else
        coord.erase(coord.begin() + axis);
      std::optional<int> to = result->registerOf(coord, 0, 0);
      if (!to)
        return op.emitOpError("expected a result layout that follows the "
                              "source");
      groups[*to].push_back(value);
    }

    SmallVector<Value> results;
    for (SmallVector<Value> &values : groups) {
      if (values.empty())
        return op.emitOpError("expected a result layout that follows the "
                              "source");
      for (size_t n = values.size(); n > 1; n = (n + 1) / 2)
        for (size_t i = 0; i < n / 2; ++i)
          values[i] = combine(rewriter, loc, op.getKind(), values[i],
                              values[i + (n + 1) / 2]);
      Value sum = values.front();
      for (int bit = 4; bit >= 0; --bit)
        if (across->laneMask >> bit & 1)
          sum = combine(rewriter, loc, op.getKind(), sum,
                        exchange(rewriter, loc, sum, bit));
      results.push_back(sum);
    }
    rewriter.replaceOp(op, types().pack(rewriter, loc, resultType, results));
    return success();
  }
};

} // namespace

void populateReducePatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns.add<ReduceWarpPattern>(types);
}

} // namespace mlatile
