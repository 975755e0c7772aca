// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_SIM_TRANSPOSE_H
#define MLATILE_LIB_SIM_TRANSPOSE_H

#if defined(__x86_64__)
#include <emmintrin.h>

namespace mlatile::sim {

/// An 8 x 8 matrix of 16-bit elements, a row a register.
inline void transpose8x8(__m128i (&x)[8]) {
  __m128i a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
    a[2 * i + 1] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      b[4 * i + 2 * j] = _mm_unpacklo_epi32(a[4 * i + j], a[4 * i + 2 + j]);
      b[4 * i + 2 * j + 1] = _mm_unpackhi_epi32(a[4 * i + j], a[4 * i + 2 + j]);
    }
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = _mm_unpacklo_epi64(b[i], b[4 + i]);
    x[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[4 + i]);
  }
}

} // namespace mlatile::sim
#endif
#endif
