// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.atomic_inc, tile.wait_until: thread 0 speaks for the block, and barriers
// join the others to what it orders.
//
// NVPTX drops the ordering of an atomicrmw, hence a fence and a relaxed one.
#include "TileAccess.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

constexpr StringLiteral kDeviceScope = "device";
constexpr unsigned kCounterBytes = 4;

/// Where one thread looks after a counter of a view.
class CounterAccess {
public:
  CounterAccess(ConversionPatternRewriter &b, Location loc, Value view,
                ValueRange indices)
      : b(b), loc(loc), access(b, loc, view, indices, /*limit=*/Value(),
                               /*tileLayout=*/std::nullopt, b.getI32Type()) {}

  /// i1: this thread, if the counter is in the view.
  Value mine() {
    return LLVM::AndOp::create(b, loc, access.mayStore(), access.anyInRange());
  }
  Value address() { return access.address(0); }

private:
  ConversionPatternRewriter &b;
  Location loc;
  TileAccess access;
};

Value narrowed(OpBuilder &b, Location loc, Value index) {
  return LLVM::TruncOp::create(b, loc, b.getI32Type(), index);
}

/// Splits behind the insertion point, in front of `op`; gives the block before
/// and the one with `op`.
std::pair<Block *, Block *> splitBefore(ConversionPatternRewriter &b,
                                        Operation *op) {
  Block *before = b.getInsertionBlock();
  return {before, b.splitBlock(before, Block::iterator(op))};
}

struct AtomicIncPattern : ConvertOpToLLVMPattern<tile::AtomicIncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::AtomicIncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    if (!op.getRelaxed())
      NVVM::Barrier0Op::create(b, loc);
    CounterAccess counter(b, loc, adaptor.getView(), adaptor.getIndices());
    Value mine = counter.mine();
    auto [before, after] = splitBefore(b, op);
    Block *count = b.createBlock(after);
    if (!op.getRelaxed())
      LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acq_rel,
                            kDeviceScope);
    Value last = LLVM::SubOp::create(
        b, loc, narrowed(b, loc, adaptor.getModulo()), constI32(b, loc, 1));
    LLVM::AtomicRMWOp::create(
        b, loc, LLVM::AtomicBinOp::uinc_wrap, counter.address(), last,
        LLVM::AtomicOrdering::monotonic, kDeviceScope, kCounterBytes);
    LLVM::BrOp::create(b, loc, ValueRange(), after);
    b.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(b, loc, mine, count, after);
    b.eraseOp(op);
    return success();
  }
};

struct WaitUntilPattern : ConvertOpToLLVMPattern<tile::WaitUntilOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(tile::WaitUntilOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    CounterAccess counter(b, loc, adaptor.getView(), adaptor.getIndices());
    Value mine = counter.mine();
    Value address = counter.address();
    Value bound = narrowed(b, loc, adaptor.getBound());
    auto [before, after] = splitBefore(b, op);
    Block *loop = b.createBlock(after);
    Value count = LLVM::LoadOp::create(
        b, loc, b.getI32Type(), address, kCounterBytes, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire,
        kDeviceScope);
    Value done =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::uge, count, bound);
    LLVM::CondBrOp::create(b, loc, done, after, loop);
    b.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(b, loc, mine, loop, after);
    b.setInsertionPointToStart(after);
    NVVM::Barrier0Op::create(b, loc);
    b.eraseOp(op);
    return success();
  }
};

} // namespace

void populateCounterPatterns(TileTypeConverter &types, const Target &,
                             RewritePatternSet &patterns) {
  patterns.add<AtomicIncPattern, WaitUntilPattern>(types);
}

} // namespace mlatile
