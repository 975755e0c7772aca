// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse MLA in float64 over the bytes of the pool, and the error of a result.
#ifndef MLATILE_TOOLS_RUN_REFERENCE_H
#define MLATILE_TOOLS_RUN_REFERENCE_H

#include "Inputs.h"

#include <string>
#include <vector>

namespace mlatile::run {

/// The results of some rows.
struct Expected {
  std::vector<int64_t> rows;     ///< which, R of them
  std::vector<double> out;       ///< [R, H, d_v]
  std::vector<double> lse;       ///< [R, H], natural log
  std::vector<double> magnitude; ///< [R, H], max_d sum_c w[c] |v[c, d]|
};
/// Of at most so many rows (0: all): the first, the last, and random ones
/// between. On so many threads; 0 is one a processor.
Expected computeReference(const Inputs &inputs, int64_t mostRows = 0,
                          unsigned threads = 0);

/// Bounds of a compute mode: error, cosine, lse (base 2).
struct Bounds {
  double error, cosine, lse;
};
Bounds boundsOf(const std::string &compute);

struct Comparison {
  bool ok = true;
  double error = 0; ///< worst over rows and heads
  int64_t row = 0, head = 0;
  double cosine = 1;     ///< least
  double lse = 0;        ///< worst absolute error, base 2
  double lseRatio = 0;   ///< worst error over its bound
  std::string unwritten; ///< where a result has a NaN, or was written beside
};
/// out: bf16 [T, H + slice, d_v]; lse: base 2 [T, H + slice], or empty. Both
/// held bytes of 0xFF before; rows that are not compared must hold no NaN,
/// heads that slice adds nothing else.
Comparison compareWith(const Inputs &inputs, const Expected &expected,
                       const std::vector<uint16_t> &out,
                       const std::vector<float> &lse, const Bounds &bounds);

} // namespace mlatile::run
#endif
