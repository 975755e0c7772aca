// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that compute nothing but choose registers: tile.full, tile.iota,
// tile.broadcast, tile.transpose, tilegpu.convert_layout, extract_slice,
// insert_slice.
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;

namespace mlatile {
namespace {

template <typename Op>
struct LayoutPattern : ConvertOpToLLVMPattern<Op> {
  using ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;

protected:
  const TileTypeConverter &types() const {
    return *static_cast<const TileTypeConverter *>(this->getTypeConverter());
  }
  /// Replaces `op` by its result with register i = from[map[i]].
  LogicalResult moveRegisters(Op op, Value from, ArrayRef<int> map,
                              ConversionPatternRewriter &rewriter) const {
    SmallVector<Value> source =
        TileTypeConverter::unpack(rewriter, op.getLoc(), from);
    SmallVector<Value> regs;
    for (int i : map) {
      if (i < 0 || i >= static_cast<int>(source.size()))
        return op.emitOpError("register ") << i << " is not in the source";
      regs.push_back(source[i]);
    }
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    rewriter.replaceOp(op, types().pack(rewriter, op.getLoc(), type, regs));
    return success();
  }
  LogicalResult noLayout(Op op) const {
    return op.emitOpError("expected tensors with layouts of their shapes");
  }
};

struct FullPattern : LayoutPattern<tile::FullOp> {
  using LayoutPattern::LayoutPattern;
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

struct IotaPattern : LayoutPattern<tile::IotaOp> {
  using LayoutPattern::LayoutPattern;
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

struct BroadcastPattern : LayoutPattern<tile::BroadcastOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult
  matchAndRewrite(tile::BroadcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = TileTypeConverter::layoutOf(op.getOperand().getType());
    auto to = TileTypeConverter::layoutOf(op.getResult().getType());
    if (!from || !to)
      return noLayout(op);
    int axis = static_cast<int>(op.getAxis());
    if (!from->isSliceOf(*to, axis))
      return op.emitOpError("expected the operand in the result's layout "
                            "without dimension ")
             << axis << ", got " << from->str();
    return moveRegisters(op, adaptor.getOperand(), to->sliceRegisters(axis),
                         rewriter);
  }
};

struct TransposePattern : LayoutPattern<tile::TransposeOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult
  matchAndRewrite(tile::TransposeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = TileTypeConverter::layoutOf(op.getOperand().getType());
    auto to = TileTypeConverter::layoutOf(op.getResult().getType());
    if (!from || !to)
      return noLayout(op);
    // Swapping the result instead keeps the numbers of the source's registers.
    auto swapped = tilegpu::transposedLayout(*to);
    auto map = swapped ? registersOnly(*from, *swapped) : std::nullopt;
    if (!map)
      return op.emitOpError("expected the operand in the result's layout with "
                            "dimensions swapped, got ")
             << from->str();
    // `swapped` may number its registers otherwise than the result.
    SmallVector<int> regs;
    for (int reg = 0; reg < to->numRegs(); ++reg) {
      DistributedLayout::Coords coord = to->regCoord(reg);
      std::swap(coord[0], coord[1]);
      std::optional<int> same = swapped->registerOf(coord, 0, 0);
      regs.push_back(same ? (*map)[*same] : -1);
    }
    return moveRegisters(op, adaptor.getOperand(), regs, rewriter);
  }
};

struct ConvertLayoutPattern : LayoutPattern<tilegpu::ConvertLayoutOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult
  matchAndRewrite(tilegpu::ConvertLayoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = TileTypeConverter::layoutOf(op.getSource().getType());
    auto to = TileTypeConverter::layoutOf(op.getResult().getType());
    if (!from || !to)
      return noLayout(op);
    auto map = registersOnly(*from, *to);
    if (!map)
      return op.emitOpError("moves elements between threads and should have "
                            "gone through shared memory before");
    return moveRegisters(op, adaptor.getSource(), *map, rewriter);
  }
};

struct ExtractSlicePattern : LayoutPattern<tilegpu::ExtractSliceOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult
  matchAndRewrite(tilegpu::ExtractSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto whole = TileTypeConverter::layoutOf(op.getSource().getType());
    auto window = TileTypeConverter::layoutOf(op.getResult().getType());
    if (!whole || !window)
      return noLayout(op);
    auto map = tilegpu::windowRegisters(*whole, *window, op.getOffsets());
    if (!map)
      return op.emitOpError("expected registers that hold the window");
    return moveRegisters(op, adaptor.getSource(), *map, rewriter);
  }
};

struct InsertSlicePattern : LayoutPattern<tilegpu::InsertSliceOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult
  matchAndRewrite(tilegpu::InsertSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getResult().getType();
    auto whole = TileTypeConverter::layoutOf(type);
    auto window = TileTypeConverter::layoutOf(op.getSource().getType());
    if (!whole || !window)
      return noLayout(op);
    auto map = tilegpu::windowRegisters(*whole, *window, op.getOffsets());
    if (!map)
      return op.emitOpError("expected registers that hold the window");
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
  patterns.add<FullPattern, IotaPattern, BroadcastPattern, TransposePattern,
               ConvertLayoutPattern, ExtractSlicePattern, InsertSlicePattern>(
      types);
}

} // namespace mlatile
