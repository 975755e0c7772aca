// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.alloc, stage, view: addresses. store_shared, load_shared: registers
// that are neighbours in a row move together, up to 16 bytes at once.
#include "SharedAddress.h"
#include "SharedMove.h"
#include "TilePattern.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mlatile {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value offsetBytes(OpBuilder &builder, Location loc, Value pointer,
                  int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      builder, loc, pointer.getType(), builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value offsetBytes(OpBuilder &builder, Location loc, Value pointer,
                  Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(),
                             builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value offsetElements(OpBuilder &builder, Location loc, Value pointer,
                     Value index, Value converted, int64_t bytes) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return offsetBytes(builder, loc, pointer, constant.getSExtValue() * bytes);
  Value scaled = LLVM::MulOp::create(builder, loc, converted,
                                     constI32(builder, loc, bytes));
  return offsetBytes(builder, loc, pointer, scaled);
}

Value mbarrierAddress(OpBuilder &builder, Location loc, Value bars, Value index,
                      Value converted) {
  return offsetElements(builder, loc, bars, index, converted, kMBarrierBytes);
}

void fenceAsyncProxy(OpBuilder &builder, Location loc) {
  MLIRContext *context = builder.getContext();
  NVVM::FenceProxyOp::create(
      builder, loc,
      NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
}

Value emitByteOffset(OpBuilder &builder, Location loc, Value row,
                     int64_t stride, Value col, int64_t elementBytes) {
  Value rowBytes =
      LLVM::MulOp::create(builder, loc, row, constI32(builder, loc, stride));
  Value colBytes = LLVM::MulOp::create(builder, loc, col,
                                       constI32(builder, loc, elementBytes));
  return LLVM::AddOp::create(builder, loc, rowBytes, colBytes);
}

void emitIf(ConversionPatternRewriter &rewriter, Location loc, Value condition,
            llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  Block *before = rewriter.getInsertionBlock();
  Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
  Block *then = rewriter.createBlock(after);
  body();
  LLVM::BrOp::create(rewriter, loc, after);
  rewriter.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(rewriter, loc, condition, then, after);
  rewriter.setInsertionPointToStart(after);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

using namespace tilegpu;

struct AllocPattern : TilePattern<AllocOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(AllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getOffset())
      return op.emitOpError("expected an offset in the arena, which "
                            "tilegpu-plan-shared sets");
    rewriter.replaceOp(op, arenaAddress(rewriter, op.getLoc(),
                                        static_cast<int64_t>(*op.getOffset())));
    return success();
  }
};

struct StagePattern : TilePattern<StageOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(StageOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       offsetElements(rewriter, op.getLoc(), adaptor.getRing(),
                                      op.getIndex(), adaptor.getIndex(),
                                      op.getRing().getType().getStageBytes()));
    return success();
  }
};

struct ViewPattern : TilePattern<ViewOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       offsetBytes(rewriter, op.getLoc(), adaptor.getBuffer(),
                                   static_cast<int64_t>(op.getOffset())));
    return success();
  }
};

struct StoreSharedPattern : TilePattern<StoreSharedOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(StoreSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = cast<RankedTensorType>(op.getTile().getType());
    if (!LayoutAttr::of(tile))
      return op.emitOpError("expected a tile with a layout");
    SmallVector<Value> regs =
        TileTypeConverter::unpack(rewriter, loc, adaptor.getTile());
    // Of threads that hold copies one stores.
    Value first =
        firstHolder(rewriter, loc, LayoutAttr::of(tile).getDistributed());
    emitIf(rewriter, loc, first, [&] {
      SharedMove move(rewriter, loc, LayoutAttr::of(tile).getDistributed(),
                      op.getBuffer().getType(), adaptor.getBuffer());
      for (int i = 0; i < move.accesses(); ++i) {
        Value value =
            packVector(rewriter, loc,
                       ArrayRef(regs).slice(i * move.width(), move.width()));
        LLVM::StoreOp::create(rewriter, loc, value, move.address(i),
                              move.alignment());
      }
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Rows of bytes of which a thread has all columns, one a repetition: read in
/// whole vectors, past the last column up to the row's stride. Empty if the
/// tile is none.
SmallVector<Value> loadByteRows(OpBuilder &builder, Location loc,
                                RankedTensorType tile, BufferType buffer,
                                Value pointer) {
  const DistributedLayout &layout = LayoutAttr::of(tile).getDistributed();
  if (layout.rank() != 2 || buffer.getElementBits() != 8 ||
      layout.blockShape()[1] != 1)
    return {};
  int64_t stride = buffer.getStrideBytes(), columns = buffer.getCols();
  int64_t bytes = std::min<int64_t>(16, stride & -stride);
  if (bytes < 4 || columns < 2)
    return {};
  ThreadCoords coords(builder, loc, layout);
  int inBlock = layout.regsPerBlock();
  SmallVector<Value> regs(layout.numRegs());
  Type word = builder.getI32Type(), byte = builder.getI8Type();
  for (int row = 0; row < inBlock * layout.reps()[0]; ++row) {
    // Its first register; those of its columns follow a block apart.
    int reg =
        row / inBlock * inBlock * static_cast<int>(columns) + row % inBlock;
    Value start = offsetBytes(
        builder, loc, pointer,
        LLVM::MulOp::create(builder, loc, coords.coord(builder, loc, reg, 0),
                            constI32(builder, loc, stride)));
    for (int64_t first = 0; first < columns; first += bytes) {
      Value vector = LLVM::LoadOp::create(
          builder, loc, VectorType::get(bytes / 4, word),
          offsetBytes(builder, loc, start, first), unsigned(bytes));
      for (int64_t column = first; column < std::min(columns, first + bytes);
           ++column) {
        int64_t at = column - first;
        Value value = LLVM::ExtractElementOp::create(
            builder, loc, vector, constI32(builder, loc, at / 4));
        if (at % 4)
          value = LLVM::LShrOp::create(builder, loc, value,
                                       constI32(builder, loc, at % 4 * 8));
        regs[reg + column * inBlock] =
            LLVM::TruncOp::create(builder, loc, byte, value);
      }
    }
  }
  return regs;
}

struct LoadSharedPattern : TilePattern<LoadSharedOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = cast<RankedTensorType>(op.getTile().getType());
    if (!LayoutAttr::of(tile))
      return op.emitOpError("expected a tile with a layout");
    Type element = types().elementType(tile);
    if (element == rewriter.getI8Type()) {
      SmallVector<Value> bytes = loadByteRows(
          rewriter, loc, tile, op.getBuffer().getType(), adaptor.getBuffer());
      if (!bytes.empty()) {
        rewriter.replaceOp(op, types().pack(rewriter, loc, tile, bytes));
        return success();
      }
    }
    SharedMove move(rewriter, loc, LayoutAttr::of(tile).getDistributed(),
                    op.getBuffer().getType(), adaptor.getBuffer());
    SmallVector<Value> regs;
    for (int i = 0; i < move.accesses(); ++i) {
      Type type = element;
      if (move.width() > 1)
        type = VectorType::get(move.width(), element);
      Value value = LLVM::LoadOp::create(rewriter, loc, type, move.address(i),
                                         move.alignment());
      for (int e = 0; e < move.width(); ++e)
        regs.push_back(move.width() == 1 ? value
                                         : LLVM::ExtractElementOp::create(
                                               rewriter, loc, value,
                                               constI32(rewriter, loc, e)));
    }
    rewriter.replaceOp(op, types().pack(rewriter, loc, tile, regs));
    return success();
  }
};

} // namespace

void populateSharedPatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns.add<AllocPattern, StagePattern, ViewPattern, StoreSharedPattern,
               LoadSharedPattern>(types);
}

} // namespace mlatile
