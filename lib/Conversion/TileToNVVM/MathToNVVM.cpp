// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// math on laid-out tensors and scalars. Transcendentals are built on two
// instructions (PTX ISA, "ex2.approx.ftz.f32": 2 ulp; "lg2.approx.f32": 2^-22);
// 16-bit types are computed in f32 and rounded once.
#include "PerRegister.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace mlatile {
namespace {

Value constF32(OpBuilder &builder, Location loc, double value) {
  return LLVM::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
}

Value exp2(OpBuilder &builder, Location loc, Value x) {
  return callIntrinsic(builder, loc, "llvm.nvvm.ex2.approx.ftz", x.getType(),
                       x);
}

Value log2(OpBuilder &builder, Location loc, Value x) {
  return callIntrinsic(builder, loc, "llvm.nvvm.lg2.approx.f", x.getType(), x);
}

Value scaled(OpBuilder &builder, Location loc, Value x, double factor) {
  return LLVM::FMulOp::create(builder, loc, x, constF32(builder, loc, factor));
}

/// Near zero an odd polynomial (relative error 1e-7 up to 0.6), since
/// 1 - 2 / (e^2x + 1) cancels there; e^2x may become infinite, NaN stays NaN.
Value tanh(OpBuilder &b, Location loc, Value x) {
  Type f32 = x.getType();
  Value magnitude = LLVM::FAbsOp::create(b, loc, x);
  Value power = exp2(b, loc, scaled(b, loc, magnitude, 2.8853900817779268));
  Value one = constF32(b, loc, 1.0);
  Value quotient = LLVM::FDivOp::create(
      b, loc, constF32(b, loc, -2.0), LLVM::FAddOp::create(b, loc, power, one));
  Value large = LLVM::FAddOp::create(b, loc, quotient, one);
  large = LLVM::CopySignOp::create(b, loc, large, x);

  Value square = LLVM::FMulOp::create(b, loc, x, x);
  Value sum = constF32(b, loc, 0.015612404033148211);
  for (double factor :
       {-0.05221164218488956, 0.13313113018787656, -0.33332597269692354})
    sum =
        LLVM::FMAOp::create(b, loc, f32, sum, square, constF32(b, loc, factor));
  Value cube = LLVM::FMulOp::create(b, loc, square, x);
  Value small = LLVM::FMAOp::create(b, loc, f32, sum, cube, x);
  Value isSmall = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::olt,
                                       magnitude, constF32(b, loc, 0.6));
  return LLVM::SelectOp::create(b, loc, isSmall, small, large);
}

Value exp(OpBuilder &builder, Location loc, Value x) {
  return exp2(builder, loc, scaled(builder, loc, x, 1.4426950408889634));
}

Value log(OpBuilder &builder, Location loc, Value x) {
  return scaled(builder, loc, log2(builder, loc, x), 0.6931471805599453);
}

Value rsqrt(OpBuilder &builder, Location loc, Value x) {
  return LLVM::FDivOp::create(builder, loc, constF32(builder, loc, 1.0),
                              LLVM::SqrtOp::create(builder, loc, x));
}

/// An f32 function of one argument.
template <Value (*function)(OpBuilder &, Location, Value)>
struct InF32 {
  static constexpr bool scalars = true;
  template <typename Op>
  static Value emit(OpBuilder &builder, Location loc, Op op,
                    ArrayRef<Value> operands, Type type) {
    if (!type.isF32() && !type.isBF16() && !type.isF16()) {
      op.emitOpError("expected f32, f16 or bf16, got ") << type;
      return {};
    }
    if (type.isF32())
      return function(builder, loc, operands[0]);
    Value wide =
        LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), operands[0]);
    return LLVM::FPTruncOp::create(builder, loc, type,
                                   function(builder, loc, wide));
  }
};

/// An LLVM intrinsic with the same operands.
template <typename To>
struct Same {
  static constexpr bool scalars = true;
  template <typename Op>
  static Value emit(OpBuilder &builder, Location loc, Op,
                    ArrayRef<Value> operands, Type type) {
    return To::create(builder, loc, TypeRange{type}, operands)->getResult(0);
  }
};

template <typename Op, Value (*function)(OpBuilder &, Location, Value)>
using F32 = PerRegisterPattern<Op, InF32<function>>;
template <typename Op, typename To>
using Plain = PerRegisterPattern<Op, Same<To>>;

} // namespace

void populateMathPatterns(TileTypeConverter &types, const Target &,
                          RewritePatternSet &patterns) {
  patterns.add<
      F32<math::Exp2Op, exp2>, F32<math::ExpOp, exp>, F32<math::Log2Op, log2>,
      F32<math::LogOp, log>, F32<math::TanhOp, tanh>, F32<math::RsqrtOp, rsqrt>,
      Plain<math::FmaOp, LLVM::FMAOp>, Plain<math::AbsFOp, LLVM::FAbsOp>,
      Plain<math::SqrtOp, LLVM::SqrtOp>,
      Plain<math::CopySignOp, LLVM::CopySignOp>,
      Plain<math::FloorOp, LLVM::FFloorOp>, Plain<math::CeilOp, LLVM::FCeilOp>,
      Plain<math::TruncOp, LLVM::FTruncOp>,
      Plain<math::RoundEvenOp, LLVM::RoundEvenOp>>(types);
}

} // namespace mlatile
