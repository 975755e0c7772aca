// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that compute nothing but choose registers: tile.full, tile.iota,
// tile.broadcast, tile.transpose, tilegpu.convert_layout, extract_slice,
// insert_slice.
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

#include <numeric>

using namespace mlir;

namespace mlatile {
namespace {

LogicalResult noLayout(Operation *op) {
  return op->emitOpError("expected tensors with layouts of their shapes");
}

struct FullPattern : TilePattern<tile::FullOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tile::FullOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto layout = TileTypeConverter::layoutOf(type);
    if (!layout)
      return noLayout(op);
    SmallVector<Value> regs(layout->numRegs(), adaptor.getValue());
    rewriter.replaceOp(op, types().pack(rewriter, op.getLoc(), type, regs));
    return success();
  }
};

struct IotaPattern : TilePattern<tile::IotaOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tile::IotaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto layout = TileTypeConverter::layoutOf(type);
    if (!layout)
      return noLayout(op);
    auto element = dyn_cast<IntegerType>(types().elementType(type));
    if (layout->rank() != 1 || !element)
      return op.emitOpError("expected one dimension of integers, got ") << type;
    Location loc = op.getLoc();
    ThreadCoords coords(rewriter, loc, *layout);
    SmallVector<Value> regs;
    for (int reg = 0; reg < layout->numRegs(); ++reg) {
      Value value = coords.coord(rewriter, loc, reg, 0);
      if (element.getWidth() > 32)
        value = LLVM::ZExtOp::create(rewriter, loc, element, value);
      else if (element.getWidth() < 32)
        value = LLVM::TruncOp::create(rewriter, loc, element, value);
      regs.push_back(value);
    }
    rewriter.replaceOp(op, types().pack(rewriter, loc, type, regs));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Register i of the result is register map[i] of the only operand.
//===----------------------------------------------------------------------===//

using RegisterMap = FailureOr<std::vector<int>>;

RegisterMap registerMap(tile::BroadcastOp op, const DistributedLayout &from,
                        const DistributedLayout &to) {
  int axis = static_cast<int>(op.getAxis());
  if (!from.isSliceOf(to, axis))
    return op.emitOpError("expected the operand in the result's layout "
                          "without dimension ")
           << axis << ", got " << from.str();
  return to.sliceRegisters(axis);
}

RegisterMap registerMap(tile::TransposeOp op, const DistributedLayout &from,
                        const DistributedLayout &to) {
  // Swapping the result instead keeps the numbers of the source's registers.
  auto swapped = tilegpu::transposedLayout(to);
  auto map = swapped ? registersOnly(from, *swapped) : std::nullopt;
  if (!map)
    return op.emitOpError("expected the operand in the result's layout with "
                          "dimensions swapped, got ")
           << from.str();
  // `swapped` may number its registers otherwise than the result.
  std::vector<int> regs;
  for (int reg = 0; reg < to.numRegs(); ++reg) {
    DistributedLayout::Coords coord = to.regCoord(reg);
    std::swap(coord[0], coord[1]);
    std::optional<int> same = swapped->registerOf(coord, 0, 0);
    regs.push_back(same ? (*map)[*same] : -1);
  }
  return regs;
}

RegisterMap registerMap(tilegpu::ConvertLayoutOp op,
                        const DistributedLayout &from,
                        const DistributedLayout &to) {
  auto map = registersOnly(from, to);
  if (!map)
    return op.emitOpError("moves elements between threads and should have "
                          "gone through shared memory before");
  return *map;
}

RegisterMap registerMap(tilegpu::PackColumnsOp, const DistributedLayout &from,
                        const DistributedLayout &) {
  std::vector<int> same(from.numRegs());
  std::iota(same.begin(), same.end(), 0);
  return same;
}

/// Of a window, also where it is written.
template <typename Op>
RegisterMap windowMap(Op op, const DistributedLayout &whole,
                      const DistributedLayout &window) {
  auto map = tilegpu::windowRegisters(whole, window, op.getOffsets());
  if (!map)
    return op.emitOpError("expected registers that hold the window");
  return *map;
}

RegisterMap registerMap(tilegpu::ExtractSliceOp op,
                        const DistributedLayout &from,
                        const DistributedLayout &to) {
  return windowMap(op, from, to);
}

template <typename Op>
struct MoveRegistersPattern : TilePattern<Op> {
  using TilePattern<Op>::TilePattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto from = TileTypeConverter::layoutOf(op->getOperand(0).getType());
    auto to = TileTypeConverter::layoutOf(type);
    if (!from || !to)
      return noLayout(op);
    RegisterMap map = registerMap(op, *from, *to);
    if (failed(map))
      return failure();
    SmallVector<Value> source = TileTypeConverter::unpack(
        rewriter, op.getLoc(), adaptor.getOperands().front());
    SmallVector<Value> regs;
    for (int i : *map) {
      if (i < 0 || i >= static_cast<int>(source.size()))
        return op.emitOpError("register ") << i << " is not in the source";
      regs.push_back(source[i]);
    }
    rewriter.replaceOp(op,
                       this->types().pack(rewriter, op.getLoc(), type, regs));
    return success();
  }
};

struct InsertSlicePattern : TilePattern<tilegpu::InsertSliceOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tilegpu::InsertSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getResult().getType();
    auto whole = TileTypeConverter::layoutOf(type);
    auto window = TileTypeConverter::layoutOf(op.getSource().getType());
    if (!whole || !window)
      return noLayout(op);
    RegisterMap map = windowMap(op, *whole, *window);
    if (failed(map))
      return failure();
    SmallVector<Value> regs =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getDest());
    SmallVector<Value> source =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getSource());
    for (auto [reg, value] : llvm::zip_equal(*map, source))
      regs[reg] = value;
    rewriter.replaceOp(op, types().pack(rewriter, loc, type, regs));
    return success();
  }
};

} // namespace

void populateLayoutPatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns
      .add<FullPattern, IotaPattern, MoveRegistersPattern<tile::BroadcastOp>,
           MoveRegistersPattern<tile::TransposeOp>,
           MoveRegistersPattern<tilegpu::ConvertLayoutOp>,
           MoveRegistersPattern<tilegpu::PackColumnsOp>,
           MoveRegistersPattern<tilegpu::ExtractSliceOp>, InsertSlicePattern>(
          types);
}

} // namespace mlatile
