// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mma.h"
#include "mlatile/Target/Instructions.h"
#include <cmath>
#include <cstring>

using namespace mlatile;
using namespace mlatile::sim;

namespace {

float decode(Element element, int bits, uint32_t word, int index) {
  switch (element) {
  case Element::F16:
    return halfToFloat(word >> 16 * index);
  case Element::BF16:
    return bfloatToFloat(word >> 16 * index);
  default:
    break;
  }
  if (bits == 4)
    return decodeNibbleTable()[word >> 4 * index & 15];
  return decodeTable(element)[word >> 8 * index & 255];
}

void decodeA(const MmaShapeInfo &info, const uint32_t *const *regs,
             MmaOperands &out) {
  for (int reg = 0; reg < info.regsA; ++reg)
    for (int lane = 0; lane < isa::kWarpLanes; ++lane)
      for (int i = 0; i < 32 / info.bits; ++i) {
        isa::Coord at = isa::mmaA(info.bits, lane, reg, i);
        out.a[at.row][at.col] = decode(info.a, info.bits, regs[reg][lane], i);
      }
}

void decodeB(const MmaShapeInfo &info, const uint32_t *const *regs,
             MmaOperands &out) {
  for (int reg = 0; reg < info.regsB; ++reg)
    for (int lane = 0; lane < isa::kWarpLanes; ++lane)
      for (int i = 0; i < 32 / info.bits; ++i) {
        isa::Coord at = isa::mmaB(info.bits, lane, reg, i);
        out.b[at.row][at.col] = decode(info.b, info.bits, regs[reg][lane], i);
      }
}

void multiply(int k, MmaOperands &x) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      float sum = x.c[m][n];
      for (int i = 0; i < k; ++i)
        sum = std::fma(x.a[m][i], x.b[i][n], sum);
      x.c[m][n] = sum;
    }
}

/// A scale outside the normal range of f32 (their product may be, though each
/// is in it) is applied in double.
bool extreme(double scale) {
  double magnitude = std::fabs(scale);
  return magnitude != 0 && (magnitude < 0x1p-126 || magnitude > 0x1p127);
}

void multiplyScaled(int k, int blocks, MmaOperands &x) {
  int each = k / blocks;
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      float sum = x.c[m][n];
      for (int block = 0; block < blocks; ++block) {
        double scale = x.scaleA[block][m] * x.scaleB[block][n];
        for (int i = block * each; i < (block + 1) * each; ++i) {
          // Exact: significands of at most four bits.
          float product = x.a[m][i] * x.b[i][n];
          sum = extreme(scale)
                    ? static_cast<float>(std::fma(static_cast<double>(product),
                                                  scale,
                                                  static_cast<double>(sum)))
                    : std::fma(product, static_cast<float>(scale), sum);
        }
      }
      x.c[m][n] = sum;
    }
}

bool anyExtreme(int blocks, const MmaOperands &x) {
  for (int block = 0; block < blocks; ++block)
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n)
        if (extreme(x.scaleA[block][m] * x.scaleB[block][n]))
          return true;
  return false;
}

/// Operands a, b, c are followed by scale-a, byte-id-a, thread-id-a, scale-b,
/// byte-id-b, thread-id-b.
const char *decodeScales(const Op &op, const uint32_t *rows, MmaOperands &x) {
  const MmaShapeInfo &info = op.mma;
  unsigned first = info.regsA + info.regsB + info.regsC;
  uint32_t byteA = op.input(first + 1, rows, 0),
           threadA = op.input(first + 2, rows, 0),
           byteB = op.input(first + 4, rows, 0),
           threadB = op.input(first + 5, rows, 0);
  for (unsigned lane = 1; lane < 32; ++lane)
    if (op.input(first + 1, rows, lane) != byteA ||
        op.input(first + 2, rows, lane) != threadA ||
        op.input(first + 4, rows, lane) != byteB ||
        op.input(first + 5, rows, lane) != threadB)
      return "block scale selectors differ between lanes";
  if (threadA > 1)
    return "expected a thread-id-a of 0 or 1";
  if (threadB > 3)
    return "expected a thread-id-b of 0 to 3";
  for (uint32_t byte : {byteA, byteB}) {
    if (info.scaleBlocks == 1 && byte > 3)
      return "expected a scale byte-id of 0 to 3 for scale_vec::1X";
    if (info.scaleBlocks == 2 && byte != 0 && byte != 2)
      return "expected a scale byte-id of 0 or 2 for scale_vec::2X";
    if (info.scaleBlocks == 4 && byte != 0)
      return "expected a scale byte-id of 0 for scale_vec::4X";
  }
  for (int block = 0; block < info.scaleBlocks; ++block) {
    for (int m = 0; m < 16; ++m) {
      uint32_t word = op.input(first, rows, isa::blockScaleLaneA(m, threadA));
      x.scaleA[block][m] = decodeScale(info.scale, word >> 8 * (byteA + block));
    }
    for (int n = 0; n < 8; ++n) {
      uint32_t word =
          op.input(first + 3, rows, isa::blockScaleLaneB(n, threadB));
      x.scaleB[block][n] = decodeScale(info.scale, word >> 8 * (byteB + block));
    }
  }
  return nullptr;
}

void loadC(const Op &op, const uint32_t *const *regs, MmaOperands &x) {
  for (int reg = 0; reg < 4; ++reg)
    for (int lane = 0; lane < isa::kWarpLanes; ++lane) {
      isa::Coord at = isa::mmaC(lane, reg);
      x.c[at.row][at.col] =
          op.mma.halfAccumulator
              ? halfToFloat(regs[reg / 2][lane] >> 16 * (reg % 2))
              : __builtin_bit_cast(float, regs[reg][lane]);
    }
}

void storeD(const Op &op, const MmaOperands &x, uint32_t *const *regs) {
  for (int reg = 0; reg < 4; ++reg)
    for (int lane = 0; lane < isa::kWarpLanes; ++lane) {
      isa::Coord at = isa::mmaC(lane, reg);
      float value = x.c[at.row][at.col];
      if (op.mma.halfAccumulator) {
        uint32_t half = floatToHalf(value);
        uint32_t &word = regs[reg / 2][lane];
        word = reg % 2 ? (word & 0xffff) | half << 16 : half;
      } else {
        regs[reg][lane] =
            std::isnan(value) ? kMmaNan : __builtin_bit_cast(uint32_t, value);
      }
    }
}

} // namespace

const char *mlatile::sim::runMma(const Op &op, uint32_t *rows, bool fast) {
  const MmaShapeInfo &info = op.mma;
  // A constant operand has no row of its own.
  uint32_t constants[10][32];
  const uint32_t *regs[10];
  unsigned count = info.regsA + info.regsB + info.regsC;
  for (unsigned i = 0; i < count; ++i) {
    if (op.in[i] != kImmediate) {
      regs[i] = rows + op.in[i] * 32u;
      continue;
    }
    for (uint32_t &word : constants[i])
      word = op.value[i];
    regs[i] = constants[i];
  }
  const uint32_t *const *a = regs, *const *b = a + info.regsA,
                        *const *c = b + info.regsB;
  uint32_t *d[4];
  for (unsigned i = 0; i < op.outputs; ++i)
    d[i] = rows + op.out[i] * 32u;

  MmaOperands x;
  if (info.scaleBlocks)
    if (const char *wrong = decodeScales(op, rows, x))
      return wrong;
  const MmaFast *host = fast ? mmaFast() : nullptr;
  if (!host || !host->decodeA(info, a, x))
    decodeA(info, a, x);
  if (!host || !host->decodeB(info, b, x))
    decodeB(info, b, x);
  bool fastAccumulator = host && !info.halfAccumulator;
  fastAccumulator ? host->loadC(c, x) : loadC(op, c, x);
  if (!info.scaleBlocks)
    host ? host->multiply(info.k, x) : multiply(info.k, x);
  else if (host && !anyExtreme(info.scaleBlocks, x))
    host->multiplyScaled(info.k, info.scaleBlocks, x);
  else
    multiplyScaled(info.k, info.scaleBlocks, x);
  fastAccumulator ? host->storeD(x, d) : storeD(op, x, d);
  return nullptr;
}
