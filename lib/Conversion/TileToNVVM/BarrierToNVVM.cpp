// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.mbarrier_init, mbarrier_arrive, mbarrier_wait, sync.
#include "SharedAddress.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

struct MBarrierInitPattern : ConvertOpToLLVMPattern<MBarrierInitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(MBarrierInitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value thread = threadId(rewriter, loc);
    Value first = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq,
                                       thread, constI32(rewriter, loc, 0));
    emitIf(rewriter, loc, first, [&] {
      Value count = constI32(rewriter, loc, op.getCount());
      int64_t bars = op.getBars().getType().getCount();
      for (int64_t i = 0; i < bars; ++i)
        NVVM::MBarrierInitOp::create(
            rewriter, loc,
            offsetBytes(rewriter, loc, adaptor.getBars(), kMBarrierBytes * i),
            count,
            /*predicate=*/Value());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct MBarrierArrivePattern : ConvertOpToLLVMPattern<MBarrierArriveOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(MBarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value bar = mbarrierAddress(rewriter, op.getLoc(), adaptor.getBars(),
                                op.getIndex(), adaptor.getIndex());
    NVVM::MBarrierArriveOp::create(rewriter, op.getLoc(), rewriter.getI64Type(),
                                   bar,
                                   /*count=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A loop around try_wait, which may give up before the phase has completed.
struct MBarrierWaitPattern : ConvertOpToLLVMPattern<MBarrierWaitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(MBarrierWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value bar = mbarrierAddress(rewriter, loc, adaptor.getBars(), op.getIndex(),
                                adaptor.getIndex());
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    Block *loop = rewriter.createBlock(after);
    Value done = NVVM::MBarrierTryWaitOp::create(
        rewriter, loc, rewriter.getI1Type(), bar, adaptor.getParity(),
        /*ticks=*/Value());
    LLVM::CondBrOp::create(rewriter, loc, done, after, loop);
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, loop);
    rewriter.eraseOp(op);
    return success();
  }
};

struct SyncPattern : ConvertOpToLLVMPattern<SyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(SyncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getScope() == SyncScope::Cta)
      rewriter.replaceOpWithNewOp<NVVM::Barrier0Op>(op);
    else
      rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(
          op, constI32(rewriter, op.getLoc(), -1));
    return success();
  }
};

} // namespace

void populateBarrierPatterns(TileTypeConverter &types, const Target &,
                             RewritePatternSet &patterns) {
  patterns.add<MBarrierInitPattern, MBarrierArrivePattern, MBarrierWaitPattern,
               SyncPattern>(types);
}

} // namespace mlatile
