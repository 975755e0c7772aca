// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma with AVX2, FMA and F16C; bit for bit what Mma.cpp computes.
#include "Mma.h"
#include "Transpose.h"
#include "mlatile/Target/Instructions.h"

#if defined(__x86_64__)
#include <immintrin.h>

using namespace mlatile;
using namespace mlatile::sim;

#define MLATILE_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace {

// What the code below relies on: lanes 4g to 4g + 3 of an operand register
// hold 16 contiguous bytes of row g of A, of column g of B.
constexpr bool contiguous(int bits) {
  int per = 32 / bits;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < per; ++i) {
      int at = per * (lane % 4) + i, span = 4 * per;
      for (int reg = 0; reg < 4; ++reg)
        if (isa::mmaA(bits, lane, reg, i) !=
            isa::Coord{lane / 4 + 8 * (reg % 2), at + span * (reg / 2)})
          return false;
      for (int reg = 0; reg < 2; ++reg)
        if (isa::mmaB(bits, lane, reg, i) !=
            isa::Coord{at + span * reg, lane / 4})
          return false;
    }
  return true;
}
static_assert(contiguous(16) && contiguous(8));

/// Eight 16-bit patterns to f32.
template <Element E>
MLATILE_AVX2 __m256 widen(__m128i x) {
  if constexpr (E == Element::BF16)
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  __m256 value = _mm256_cvtph_ps(x);
  if constexpr (E == Element::E4M3) // exponent bias 7 read with bias 15
    value = _mm256_mul_ps(value, _mm256_set1_ps(256.0f));
  return value;
}

/// Eight bytes to the 16-bit patterns that widen<E> takes.
template <Element E>
MLATILE_AVX2 __m128i toHalf(__m128i bytes) {
  __m128i x = _mm_cvtepu8_epi16(bytes);
  if constexpr (E == Element::E5M2)
    return _mm_slli_epi16(x, 8);
  __m128i magnitude = _mm_and_si128(x, _mm_set1_epi16(0x7f));
  __m128i sign = _mm_slli_epi16(_mm_xor_si128(x, magnitude), 8);
  __m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f));
  __m128i half = _mm_or_si128(_mm_slli_epi16(magnitude, 7),
                              _mm_and_si128(nan, _mm_set1_epi16(0x7e00)));
  return _mm_or_si128(half, sign);
}

inline __m128i load16(const uint32_t *reg, int g) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i *>(reg + 4 * g));
}

template <Element E>
MLATILE_AVX2 void decodeA(const MmaShapeInfo &info, const uint32_t *const *regs,
                          MmaOperands &x) {
  for (int reg = 0; reg < info.regsA; ++reg)
    for (int g = 0; g < 8; ++g) {
      float *row = x.a[g + 8 * (reg % 2)];
      __m128i bytes = load16(regs[reg], g);
      if constexpr (E == Element::BF16 || E == Element::F16) {
        _mm256_store_ps(row + 8 * (reg / 2), widen<E>(bytes));
      } else {
        row += 16 * (reg / 2);
        _mm256_store_ps(row, widen<E>(toHalf<E>(bytes)));
        _mm256_store_ps(row + 8,
                        widen<E>(toHalf<E>(_mm_unpackhi_epi64(bytes, bytes))));
      }
    }
}

template <Element E>
MLATILE_AVX2 void storeTransposed(__m128i (&columns)[8], float (*rows)[8]) {
  transpose8x8(columns);
  for (int i = 0; i < 8; ++i)
    _mm256_store_ps(rows[i], widen<E>(columns[i]));
}

template <Element E>
MLATILE_AVX2 void decodeB(const MmaShapeInfo &info, const uint32_t *const *regs,
                          MmaOperands &x) {
  for (int reg = 0; reg < info.regsB; ++reg) {
    __m128i low[8], high[8];
    for (int g = 0; g < 8; ++g)
      low[g] = load16(regs[reg], g);
    if constexpr (E == Element::BF16 || E == Element::F16) {
      storeTransposed<E>(low, x.b + 8 * reg);
    } else {
      for (int g = 0; g < 8; ++g) {
        high[g] = toHalf<E>(_mm_unpackhi_epi64(low[g], low[g]));
        low[g] = toHalf<E>(low[g]);
      }
      storeTransposed<E>(low, x.b + 16 * reg);
      storeTransposed<E>(high, x.b + 16 * reg + 8);
    }
  }
}

bool anyDecodeA(const MmaShapeInfo &info, const uint32_t *const *regs,
                MmaOperands &x) {
  switch (info.a) {
  case Element::BF16:
    return decodeA<Element::BF16>(info, regs, x), true;
  case Element::F16:
    return decodeA<Element::F16>(info, regs, x), true;
  case Element::E4M3:
    return decodeA<Element::E4M3>(info, regs, x), true;
  case Element::E5M2:
    return decodeA<Element::E5M2>(info, regs, x), true;
  default:
    return false;
  }
}

bool anyDecodeB(const MmaShapeInfo &info, const uint32_t *const *regs,
                MmaOperands &x) {
  switch (info.b) {
  case Element::BF16:
    return decodeB<Element::BF16>(info, regs, x), true;
  case Element::F16:
    return decodeB<Element::F16>(info, regs, x), true;
  case Element::E4M3:
    return decodeB<Element::E4M3>(info, regs, x), true;
  case Element::E5M2:
    return decodeB<Element::E5M2>(info, regs, x), true;
  default:
    return false;
  }
}

// Registers 0 and 1 of C hold the even and odd columns of rows 0 to 7.
constexpr bool columnsInterleave() {
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 4; ++reg)
      if (isa::mmaC(lane, reg) !=
          isa::Coord{lane / 4 + 8 * (reg / 2), 2 * (lane % 4) + reg % 2})
        return false;
  return true;
}
static_assert(columnsInterleave());

void loadC(const uint32_t *const *regs, MmaOperands &x) {
  for (int m = 0; m < 16; ++m) {
    auto half = [&](int odd) {
      return _mm_castsi128_ps(load16(regs[m / 8 * 2 + odd], m % 8));
    };
    __m128 even = half(0), odd = half(1);
    _mm_store_ps(x.c[m], _mm_unpacklo_ps(even, odd));
    _mm_store_ps(x.c[m] + 4, _mm_unpackhi_ps(even, odd));
  }
}

void storeD(const MmaOperands &x, uint32_t *const *regs) {
  __m128 nan = _mm_castsi128_ps(_mm_set1_epi32(kMmaNan));
  for (int m = 0; m < 16; ++m) {
    __m128 low = _mm_load_ps(x.c[m]), high = _mm_load_ps(x.c[m] + 4);
    auto store = [&](int odd, __m128 value) {
      __m128 isNan = _mm_cmpunord_ps(value, value);
      value = _mm_or_ps(_mm_and_ps(isNan, nan), _mm_andnot_ps(isNan, value));
      float *to = reinterpret_cast<float *>(regs[m / 8 * 2 + odd]);
      _mm_storeu_ps(to + 4 * (m % 8), value);
    };
    store(0, _mm_shuffle_ps(low, high, 0x88));
    store(1, _mm_shuffle_ps(low, high, 0xdd));
  }
}

MLATILE_AVX2 void multiply(int k, MmaOperands &x) {
  for (int m = 0; m < 16; m += 8) {
    __m256 sum[8];
    for (int i = 0; i < 8; ++i)
      sum[i] = _mm256_load_ps(x.c[m + i]);
    for (int j = 0; j < k; ++j) {
      __m256 b = _mm256_load_ps(x.b[j]);
      for (int i = 0; i < 8; ++i)
        sum[i] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(&x.a[m + i][j]), b, sum[i]);
    }
    for (int i = 0; i < 8; ++i)
      _mm256_store_ps(x.c[m + i], sum[i]);
  }
}

MLATILE_AVX2 void multiplyScaled(int k, int blocks, MmaOperands &x) {
  int each = k / blocks;
  for (int m = 0; m < 16; m += 4) {
    __m256 sum[4];
    for (int i = 0; i < 4; ++i)
      sum[i] = _mm256_load_ps(x.c[m + i]);
    for (int block = 0; block < blocks; ++block) {
      __m256 scale[4];
      for (int i = 0; i < 4; ++i) {
        __m256d a = _mm256_set1_pd(x.scaleA[block][m + i]);
        __m256d low = _mm256_mul_pd(a, _mm256_load_pd(x.scaleB[block]));
        __m256d high = _mm256_mul_pd(a, _mm256_load_pd(x.scaleB[block] + 4));
        scale[i] = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
      }
      for (int j = block * each; j < (block + 1) * each; ++j) {
        __m256 b = _mm256_load_ps(x.b[j]);
        for (int i = 0; i < 4; ++i)
          sum[i] = _mm256_fmadd_ps(
              _mm256_mul_ps(_mm256_broadcast_ss(&x.a[m + i][j]), b), scale[i],
              sum[i]);
      }
    }
    for (int i = 0; i < 4; ++i)
      _mm256_store_ps(x.c[m + i], sum[i]);
  }
}

} // namespace

const MmaFast *mlatile::sim::mmaFast() {
  static const MmaFast fast = {anyDecodeA, anyDecodeB, loadC,
                               storeD,     multiply,   multiplyScaled};
  static const bool usable = __builtin_cpu_supports("avx2") &&
                             __builtin_cpu_supports("fma") &&
                             __builtin_cpu_supports("f16c");
  return usable ? &fast : nullptr;
}

#else
const mlatile::sim::MmaFast *mlatile::sim::mmaFast() { return nullptr; }
#endif
