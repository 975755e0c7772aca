// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.copy_async: by cp.async where all pieces of 16 bytes are aligned and
// whole, else by loads and stores of elements; one uniform branch for the op.
#include "SharedMove.h"
#include "TileAccess.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

class Copy {
public:
  Copy(ConversionPatternRewriter &rewriter, CopyAsyncOp op,
       CopyAsyncOp::Adaptor operands)
      : rewriter(rewriter), loc(op.getLoc()),
        element(op.getBuffer().getType().getElementType()),
        access(rewriter, loc, operands.getView(), operands.getIndices(),
               /*limit=*/Value(), op.getLayout().getDistributed(), element),
        move(rewriter, loc, op.getLayout().getDistributed(),
             op.getBuffer().getType(), operands.getBuffer()) {}

  void emit() {
    Value any = access.anyInRange();
    Value fit = LLVM::AndOp::create(rewriter, loc, any,
                                    access.vectorsFit(move.width()));
    Value ones = constant(rewriter.getI1Type(), 1);
    Value rest = LLVM::AndOp::create(
        rewriter, loc, any, LLVM::XOrOp::create(rewriter, loc, fit, ones));
    emitIf(rewriter, loc, fit, [&] { copyPieces(); });
    emitIf(rewriter, loc, rest, [&] { copyElements(); });
    emitIf(rewriter, loc, LLVM::XOrOp::create(rewriter, loc, any, ones),
           [&] { zero(); });
  }

private:
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(rewriter, loc, type, value);
  }

  void copyPieces() {
    access.startPath();
    Type i32 = rewriter.getI32Type();
    for (int i = 0; i < move.accesses(); ++i) {
      int reg = i * move.width();
      Value mask = access.mask(reg, /*whole=*/true);
      Value bytes = constant(i32, kPiece);
      if (mask)
        bytes = LLVM::SelectOp::create(rewriter, loc, mask, bytes,
                                       constant(i32, 0));
      NVVM::CpAsyncOp::create(rewriter, loc, move.address(i),
                              access.readable(reg, mask), kPiece,
                              NVVM::LoadCacheModifierKind::CG, bytes);
    }
  }

  void copyElements() {
    access.startPath();
    Value none = LLVM::ConstantOp::create(rewriter, loc, element,
                                          rewriter.getZeroAttr(element));
    for (int i = 0; i < move.accesses(); ++i)
      for (int e = 0; e < move.width(); ++e) {
        int reg = i * move.width() + e;
        Value mask = access.mask(reg, /*whole=*/false);
        Value value = LLVM::LoadOp::create(
            rewriter, loc, element, access.readable(reg, mask), access.bytes());
        if (mask)
          value = LLVM::SelectOp::create(rewriter, loc, mask, value, none);
        LLVM::StoreOp::create(
            rewriter, loc, value,
            offsetBytes(rewriter, loc, move.address(i), e * access.bytes()),
            access.bytes());
      }
  }

  void zero() {
    auto type = VectorType::get(kPiece / 4, rewriter.getI32Type());
    Value none = LLVM::ConstantOp::create(rewriter, loc, type,
                                          rewriter.getZeroAttr(type));
    for (int i = 0; i < move.accesses(); ++i)
      LLVM::StoreOp::create(rewriter, loc, none, move.address(i), kPiece);
  }

  static constexpr int kPiece = 16;

  ConversionPatternRewriter &rewriter;
  Location loc;
  Type element;
  TileAccess access;
  SharedMove move;
};

struct CopyPattern : TilePattern<CopyAsyncOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CopyAsyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Copy(rewriter, op, adaptor).emit();
    Value bar = mbarrierAddress(rewriter, loc, adaptor.getFull(), op.getIndex(),
                                adaptor.getIndex());
    NVVM::CpAsyncMBarrierArriveOp::create(rewriter, loc, bar, /*noinc=*/true);
    NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(), bar,
                                   /*count=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateCopyPatterns(TileTypeConverter &types, const Target &,
                          RewritePatternSet &patterns) {
  patterns.add<CopyPattern>(types);
}

} // namespace mlatile
