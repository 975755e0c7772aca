// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts to test with.
#ifndef MLATILE_TEST_UNIT_ANALYSIS_RANDOMLAYOUT_H
#define MLATILE_TEST_UNIT_ANALYSIS_RANDOMLAYOUT_H

#include "mlatile/Analysis/DistributedLayout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>

namespace mlatile {

using Coords = DistributedLayout::Coords;
using Bases = DistributedLayout::Bases;

inline DistributedLayout take(const DistributedLayout::Result &layout,
                              const std::string &error) {
  EXPECT_TRUE(layout) << error;
  return layout ? *layout : *DistributedLayout::replicated({1}, 1);
}

/// A random layout of 2-D tiles. `rows` and `cols` fix the shape up to the
/// factor that repetitions give; bases are shuffled, mixed and copied.
inline DistributedLayout random(std::mt19937_64 &rng, int64_t rows,
                                int64_t cols, int warpBits) {
  for (;;) {
    Coords block{1, 1};
    Bases units;
    for (int d = 0; d < 2; ++d)
      while ((d ? cols : rows) % (2 * block[d]) == 0 && rng() % 4) {
        Coords unit{0, 0};
        unit[d] = block[d];
        units.push_back(unit);
        block[d] *= 2;
      }
    // More vectors than needed: copies and dependent ones.
    size_t threads = 5 + warpBits;
    size_t regs = rng() % 4;
    while (units.size() < threads + regs)
      units.push_back(units.empty() || rng() % 3 == 0
                          ? Coords{0, 0}
                          : units[rng() % units.size()]);
    std::shuffle(units.begin(), units.end(), rng);
    if (rng() % 2 && units.size() > 1) { // mix two
      units[0][0] ^= units[1][0];
      units[0][1] ^= units[1][1];
    }
    auto at = units.begin();
    Bases lane(at, at + 5), warp(at + 5, at + threads);
    Bases reg(at + threads, units.end());
    auto layout = DistributedLayout::create(reg, lane, warp,
                                            {rows / block[0], cols / block[1]});
    if (layout && layout->shape() == Coords{rows, cols})
      return *layout;
  }
}

template <class Visit>
void forEachPlace(const DistributedLayout &layout, Visit visit) {
  for (int warp = 0; warp < layout.numWarps(); ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < layout.numRegs(); ++reg)
        visit(reg, lane, warp);
}

} // namespace mlatile
#endif
