// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A roofline picture: TFLOP/s over FLOP a byte, both logarithmic.
#ifndef MLATILE_TOOLS_BENCH_ROOFLINE_H
#define MLATILE_TOOLS_BENCH_ROOFLINE_H

#include "Results.h"

#include <string>

namespace mlatile::bench {

/// SVG with the measured floors as roofs and a labelled point for each problem
/// that was measured. ArgumentError where there are no floors or no points.
std::string rooflineSvg(const Results &results);

} // namespace mlatile::bench
#endif
