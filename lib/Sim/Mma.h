// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync on whole warps. Sum order of every variant: C first, then k
// ascending, one f32 FMA each; so hosts agree bit for bit. (The hardware's
// order and rounding are unspecified.)
#ifndef MLATILE_LIB_SIM_MMA_H
#define MLATILE_LIB_SIM_MMA_H

#include "Operation.h"
#include <cstdint>

namespace mlatile::sim {

inline constexpr int kMmaMaxK = 64;
inline constexpr uint32_t kMmaNan = 0x7fffffff;

/// Operands as matrices.
struct MmaOperands {
  alignas(64) float a[16][kMmaMaxK]; ///< (m, k)
  alignas(64) float b[kMmaMaxK][8];  ///< (k, n)
  alignas(64) float c[16][8];        ///< (m, n), becomes D
  /// Block scales, (block, m) and (block, n).
  alignas(64) double scaleA[4][16], scaleB[4][8];
};

/// Values of all encodings of an 8-bit container. e2m1 is what the byte-wide
/// kinds read: bits 5:0 as e2m3, so a nibble shifted left by 2 is exact.
const float *decodeTable(Element element);
/// Values of the 16 nibbles of e2m1.
const float *decodeNibbleTable();
double decodeScale(ScaleType type, uint8_t byte);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float bfloatToFloat(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
uint16_t floatToBfloat(float value);

/// D = A B + C over `rows` (32 words each, as in Op). `fast` allows host
/// vector instructions; the result is the same bit for bit. Returns null, or
/// what is wrong with the scale selectors.
const char *runMma(const Op &op, uint32_t *rows, bool fast = true);

/// Host vector forms. Null where the host lacks them.
struct MmaFast {
  /// Decodes operand registers of element type `a`, `b`; false: not this one.
  bool (*decodeA)(const MmaShapeInfo &info, const uint32_t *const *regs,
                  MmaOperands &out);
  bool (*decodeB)(const MmaShapeInfo &info, const uint32_t *const *regs,
                  MmaOperands &out);
  /// f32 accumulators; a NaN becomes the canonical one.
  void (*loadC)(const uint32_t *const *regs, MmaOperands &out);
  void (*storeD)(const MmaOperands &operands, uint32_t *const *regs);
  void (*multiply)(int k, MmaOperands &operands);
  void (*multiplyScaled)(int k, int blocks, MmaOperands &operands);
};
const MmaFast *mmaFast();

} // namespace mlatile::sim
#endif
