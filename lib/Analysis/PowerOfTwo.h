// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_ANALYSIS_POWEROFTWO_H
#define MLATILE_ANALYSIS_POWEROFTWO_H

#include <bit>
#include <cstdint>

namespace mlatile {

inline bool isPowerOfTwo(int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<uint64_t>(n));
}
/// Of a power of two.
inline int log2Exact(int64_t n) {
  return std::countr_zero(static_cast<uint64_t>(n));
}
/// The largest power of two that divides n >= 1.
inline int64_t powerOfTwoPart(int64_t n) { return n & -n; }

} // namespace mlatile
#endif
