// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures problems one after another.
#ifndef MLATILE_TOOLS_BENCH_BENCH_H
#define MLATILE_TOOLS_BENCH_BENCH_H

#include "Progress.h"
#include "Results.h"

#include <functional>

namespace mlatile::bench {

struct BenchOptions {
  std::vector<NamedProblem> problems;
  Protocol protocol;
  int64_t poolBytes = 2ll << 30;
  bool floors = true;
  int ordinal = 0;
  bool cooperative = true; ///< LaunchOptions
};

/// Told each result when it is known. What fails of a problem stands in its
/// result; UnsupportedError where there is no device to measure on, or no
/// kernel of the floors.
Results measure(const BenchOptions &options, Progress &progress,
                const std::function<void(const Results &)> &begun,
                const std::function<void(const Result &)> &measured);

/// The card of the cost model that a device is, by its name; "" if none.
std::string cardOf(const DeviceInfo &device);

} // namespace mlatile::bench
#endif
