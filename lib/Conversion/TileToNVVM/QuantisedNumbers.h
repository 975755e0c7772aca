// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8 and 4 bits as wider ones, with instructions that every target
// has.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_QUANTISEDNUMBERS_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_QUANTISEDNUMBERS_H

#include "mlir/IR/Builders.h"

namespace mlatile {

/// Two e4m3 bytes (an i16, low byte first) as a pair of f16; exact.
mlir::Value emitE4M3Pair(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value bytes);

/// Nibbles i and i + 4 of the eight e2m1 in an i32 as a pair of f16, each
/// smaller by kE2M1Factor; exact.
mlir::Value emitE2M1Pair(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value nibbles, int i);
inline constexpr float kE2M1Factor = 1 << 14;

/// 2^(e - 127) of a byte e as f32; NaN for 255.
mlir::Value emitUE8M0(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value byte);

/// Half 0 or 1 of a pair of f16, as f32.
mlir::Value emitWiden(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value pair, int half);

/// A pair of bf16 or f16 from two f32, rounded to nearest even.
mlir::Value emitRoundedPair(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Type element, mlir::Value low,
                            mlir::Value high);

} // namespace mlatile
#endif
