// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run-time scalars: tile.program_id, tile.num_programs, tile.dim, tile.slots.
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

/// A special register along the axis of `op`, as index.
template <typename X, typename Y, typename Z, typename Op>
LogicalResult replaceBySpecialRegister(Op op,
                                       ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Type i32 = rewriter.getI32Type();
  Value read;
  switch (op.getAxis()) {
  case 0:
    read = X::create(rewriter, loc, i32);
    break;
  case 1:
    read = Y::create(rewriter, loc, i32);
    break;
  case 2:
    read = Z::create(rewriter, loc, i32);
    break;
  default:
    return op.emitOpError("expected an axis of 0, 1 or 2, got ")
           << op.getAxis();
  }
  rewriter.replaceOpWithNewOp<LLVM::ZExtOp>(op, rewriter.getI64Type(), read);
  return success();
}

struct ProgramIdPattern : ConvertOpToLLVMPattern<tile::ProgramIdOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::ProgramIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return replaceBySpecialRegister<NVVM::BlockIdXOp, NVVM::BlockIdYOp,
                                    NVVM::BlockIdZOp>(op, rewriter);
  }
};

struct NumProgramsPattern : ConvertOpToLLVMPattern<tile::NumProgramsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::NumProgramsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return replaceBySpecialRegister<NVVM::GridDimXOp, NVVM::GridDimYOp,
                                    NVVM::GridDimZOp>(op, rewriter);
  }
};

struct DimPattern : ConvertOpToLLVMPattern<tile::DimOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ViewValue view(rewriter, op.getLoc(), adaptor.getView());
    int64_t axis = op.getAxis();
    if (axis < 0 || axis >= view.rank())
      return op.emitOpError("expected an axis below ")
             << view.rank() << ", got " << axis;
    rewriter.replaceOp(op, view.extent(axis));
    return success();
  }
};

struct SlotsPattern : ConvertOpToLLVMPattern<tile::SlotsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::SlotsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, PoolValue(rewriter, op.getLoc(), adaptor.getPool()).slots);
    return success();
  }
};

} // namespace

void populateProgramPatterns(TileTypeConverter &types, const Target &,
                             RewritePatternSet &patterns) {
  patterns.add<ProgramIdPattern, NumProgramsPattern, DimPattern, SlotsPattern>(
      types);
}

} // namespace mlatile
