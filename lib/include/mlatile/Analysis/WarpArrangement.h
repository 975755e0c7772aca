// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_ANALYSIS_WARPARRANGEMENT_H
#define MLATILE_ANALYSIS_WARPARRANGEMENT_H

#include <algorithm>
#include <cstdint>

namespace mlatile {

/// Warps over the rows and columns of an mma accumulator. Their product may be
/// less than the warps that there are: the others hold copies.
struct WarpArrangement {
  int64_t warpsM, warpsN;
};

/// The arrangement of `numWarps` over an accumulator of m x n, packed as
/// DistributedLayout::mmaAccumulator says, where a kernel asks for none. Along
/// N first: a row of scores then needs few registers, and B, the larger
/// operand, is read once. The compiler assigns it, the cost model counts with
/// it.
constexpr WarpArrangement arrangeWarps(int64_t m, int64_t n, int packM,
                                       int packN, int64_t numWarps) {
  int64_t rows = packM ? 8 << packM : 16, columns = 8 << packN;
  auto most = [](int64_t size, int64_t unit, int64_t warps) {
    int64_t powerOfTwo = size & -size;
    return std::max<int64_t>(std::min(warps, powerOfTwo / unit), 1);
  };
  int64_t warpsN = most(n, columns, numWarps);
  return {most(m, rows, numWarps / warpsN), warpsN};
}

} // namespace mlatile
#endif
