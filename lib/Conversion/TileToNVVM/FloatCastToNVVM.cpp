// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith.extf and arith.truncf. Where the hardware converts pairs, neighbouring
// registers go together (PTX ISA, "cvt": .bf16x2.f32, .e4m3x2.f32,
// .f16x2.e4m3x2); what consumes pairs, mma operands and vector stores, then
// finds them packed.
#include "PerRegister.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mlatile {
namespace {

Value resized(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return LLVM::FPExtOp::create(builder, loc, type, value);
  if (from > to)
    return LLVM::FPTruncOp::create(builder, loc, type, value);
  if (value.getType() == type)
    return value;
  // f16 and bf16 meet in f32.
  value = LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), value);
  return LLVM::FPTruncOp::create(builder, loc, type, value);
}

/// Two e4m3 bytes to two floats of `type`; exact.
std::pair<Value, Value> fromE4M3(OpBuilder &builder, Location loc, Value low,
                                 Value high, Type type) {
  Type i16 = builder.getIntegerType(16);
  Value pair = LLVM::ZExtOp::create(builder, loc, i16, low);
  if (high) {
    Value upper = LLVM::ShlOp::create(
        builder, loc, LLVM::ZExtOp::create(builder, loc, i16, high),
        LLVM::ConstantOp::create(builder, loc, builder.getI16IntegerAttr(8)));
    pair = LLVM::OrOp::create(builder, loc, pair, upper);
  }
  Value halves = callIntrinsic(builder, loc, "llvm.nvvm.e4m3x2.to.f16x2.rn",
                               VectorType::get(2, builder.getF16Type()), pair);
  auto part = [&](int i) {
    Value half = LLVM::ExtractElementOp::create(builder, loc, halves,
                                                constI32(builder, loc, i));
    return resized(builder, loc, half, type);
  };
  return {part(0), high ? part(1) : Value()};
}

/// Two f32 to two e4m3 bytes: nearest even, saturating at 448, NaN stays NaN.
std::pair<Value, Value> toE4M3(OpBuilder &builder, Location loc, Value low,
                               Value high) {
  Type i8 = builder.getI8Type(), i16 = builder.getIntegerType(16);
  Value pair = callIntrinsic(builder, loc, "llvm.nvvm.ff.to.e4m3x2.rn", i16,
                             {high ? high : low, low});
  Value first = LLVM::TruncOp::create(builder, loc, i8, pair);
  if (!high)
    return {first, Value()};
  Value upper = LLVM::LShrOp::create(
      builder, loc, pair,
      LLVM::ConstantOp::create(builder, loc, builder.getI16IntegerAttr(8)));
  return {first, LLVM::TruncOp::create(builder, loc, i8, upper)};
}

/// Two f32 to two bf16, nearest even.
std::pair<Value, Value> toBF16(OpBuilder &builder, Location loc, Value low,
                               Value high) {
  Value pair =
      callIntrinsic(builder, loc, "llvm.nvvm.ff2bf16x2.rn",
                    VectorType::get(2, builder.getBF16Type()), {high, low});
  auto part = [&](int i) -> Value {
    return LLVM::ExtractElementOp::create(builder, loc, pair,
                                          constI32(builder, loc, i));
  };
  return {part(0), part(1)};
}

/// Both operations, on tensors and scalars. `high` may be null (an odd number
/// of registers).
template <typename Op>
struct FloatCastPattern : TilePattern<Op> {
  explicit FloatCastPattern(const LLVMTypeConverter &types)
      : TilePattern<Op>(types, kTensorBenefit) {}

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    auto tensor = dyn_cast<RankedTensorType>(op.getType());
    bool isNarrow = isa<Float8E4M3FNType>(from) || isa<Float8E4M3FNType>(to);
    if (!tensor && (!isNarrow || isa<VectorType>(op.getType())))
      return rewriter.notifyMatchFailure(op, "left to upstream");
    for (Type type : {from, to})
      if (!isa<Float8E4M3FNType>(type) && type.getIntOrFloatBitWidth() < 16)
        return op.emitOpError("cannot convert ") << from << " to " << to;

    SmallVector<Value> in{adaptor.getIn()};
    if (tensor) {
      if (!TileTypeConverter::layoutOf(tensor))
        return op.emitOpError("expected a tensor with a layout of its shape");
      in = TileTypeConverter::unpack(rewriter, loc, adaptor.getIn());
    }
    SmallVector<Value> out;
    for (size_t i = 0; i < in.size(); i += 2) {
      bool isPair = i + 1 < in.size();
      Value low = in[i], high = isPair ? in[i + 1] : Value();
      std::pair<Value, Value> result;
      if (isa<Float8E4M3FNType>(from)) {
        result = fromE4M3(rewriter, loc, low, high, to);
      } else if (isa<Float8E4M3FNType>(to)) {
        Type f32 = rewriter.getF32Type();
        low = resized(rewriter, loc, low, f32);
        high = high ? resized(rewriter, loc, high, f32) : high;
        result = toE4M3(rewriter, loc, low, high);
      } else if (from.isF32() && to.isBF16() && isPair) {
        result = toBF16(rewriter, loc, low, high);
      } else {
        result.first = resized(rewriter, loc, low, to);
        if (isPair)
          result.second = resized(rewriter, loc, high, to);
      }
      out.push_back(result.first);
      if (isPair)
        out.push_back(result.second);
    }
    rewriter.replaceOp(
        op, tensor ? this->types().pack(rewriter, loc, tensor, out) : out[0]);
    return success();
  }
};

} // namespace

void populateFloatCastPatterns(TileTypeConverter &types,
                               RewritePatternSet &patterns) {
  patterns
      .add<FloatCastPattern<arith::ExtFOp>, FloatCastPattern<arith::TruncFOp>>(
          types);
}

} // namespace mlatile
