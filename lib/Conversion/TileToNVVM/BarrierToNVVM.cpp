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
    Location loc = op.getLoc();
    Value bar = mbarrierAddress(rewriter, loc, adaptor.getBars(), op.getIndex(),
                                adaptor.getIndex());
    Value first;
    if (op.getByWarp()) {
      NVVM::SyncWarpOp::create(rewriter, loc, constI32(rewriter, loc, -1));
      first = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq,
                                   laneId(rewriter, loc),
                                   constI32(rewriter, loc, 0));
    }
    emitIf(rewriter, loc, first, [&] {
      NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(), bar,
                                     /*count=*/Value());
    });
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
    Location loc = op.getLoc();
    if (op.getProxyFence())
      fenceAsyncProxy(rewriter, loc);
    switch (op.getScope()) {
    case SyncScope::Cta:
      NVVM::Barrier0Op::create(rewriter, loc);
      break;
    case SyncScope::Warp:
      NVVM::SyncWarpOp::create(rewriter, loc, constI32(rewriter, loc, -1));
      break;
    case SyncScope::Role: {
      auto role = RolesOp::around(op);
      if (!role)
        return op.emitOpError("expected to stand in a role");
      auto [roles, number] = *role;
      // Barrier 0 is the CTA's.
      NVVM::BarrierOp::create(
          rewriter, loc, TypeRange(), constI32(rewriter, loc, number + 1),
          constI32(rewriter, loc, 32 * roles.getWarps()[number]),
          NVVM::BarrierReductionAttr(), Value());
      break;
    }
    }
    rewriter.eraseOp(op);
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
