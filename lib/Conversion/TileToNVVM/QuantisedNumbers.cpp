// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "QuantisedNumbers.h"

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {

Value emitE4M3Pair(OpBuilder &builder, Location loc, Value bytes) {
  auto vector = VectorType::get(2, builder.getI8Type());
  return NVVM::ConvertF8x2ToF16x2Op::create(
      builder, loc, VectorType::get(2, builder.getF16Type()),
      LLVM::BitcastOp::create(builder, loc, vector, bytes), /*relu=*/false,
      Float8E4M3FNType::get(builder.getContext()));
}

// The sign goes to the top of a half, the two bits of exponent and the one of
// mantissa to the bottom of its exponent and the top of its mantissa: that is
// the number (subnormal where e2m1 is) times 2^(1 - 15), without any
// instruction that a target may lack.
Value emitE2M1Pair(OpBuilder &builder, Location loc, Value nibbles, int i) {
  Value low = nibbles;
  if (i)
    low = LLVM::LShrOp::create(builder, loc, nibbles,
                               constI32(builder, loc, 4 * i));
  auto moved = [&](int64_t mask, int64_t shift) -> Value {
    Value bits =
        LLVM::AndOp::create(builder, loc, low, constI32(builder, loc, mask));
    return LLVM::ShlOp::create(builder, loc, bits,
                               constI32(builder, loc, shift));
  };
  Value bits = LLVM::OrOp::create(builder, loc, moved(0x00070007, 9),
                                  moved(0x00080008, 12));
  return LLVM::BitcastOp::create(
      builder, loc, VectorType::get(2, builder.getF16Type()), bits);
}

// The bytes 0 (a subnormal) and 255 (NaN) both have the top mantissa bit set on
// top of e in the exponent.
Value emitUE8M0(OpBuilder &builder, Location loc, Value byte) {
  auto i32 = [&](int64_t value) { return constI32(builder, loc, value); };
  Value e = LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), byte);
  Value exponent = LLVM::ShlOp::create(builder, loc, e, i32(23));
  Value less = LLVM::SubOp::create(builder, loc, e, i32(1));
  Value special = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::uge,
                                       less, i32(254));
  Value mantissa =
      LLVM::SelectOp::create(builder, loc, special, i32(0x00400000), i32(0));
  Value bits = LLVM::OrOp::create(builder, loc, exponent, mantissa);
  return LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
}

Value emitWiden(OpBuilder &builder, Location loc, Value pair, int half) {
  Value value = LLVM::ExtractElementOp::create(builder, loc, pair,
                                               constI32(builder, loc, half));
  return LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), value);
}

Value emitRoundedPair(OpBuilder &builder, Location loc, Type element, Value low,
                      Value high) {
  return callIntrinsic(builder, loc,
                       element.isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                        : "llvm.nvvm.ff2f16x2.rn",
                       VectorType::get(2, element), {high, low});
}

} // namespace mlatile
