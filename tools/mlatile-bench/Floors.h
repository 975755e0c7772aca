// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the card can do at best, measured: docs/Benchmark.md, "Floors".
#ifndef MLATILE_TOOLS_BENCH_FLOORS_H
#define MLATILE_TOOLS_BENCH_FLOORS_H

#include "Pools.h"
#include "Timing.h"

#include <map>
#include <string>
#include <tuple>

namespace mlatile::bench {

class Floors {
public:
  Floors(Stopwatch &stopwatch, const DeviceInfo &device, int ordinal);

  /// Microseconds in which a kernel that does nothing else gathers so many
  /// random rows of a pool. Measured once for a number of rows.
  double gather(const DevicePool &pool, int64_t rows);
  /// FLOP a second of mma alone, bf16. Measured once.
  double mmaRate();
  /// The most bytes a second that gather() has seen.
  double gatherRate() const { return bestGather; }

private:
  double measureGather(const DevicePool &pool, int64_t rows);

  Stopwatch &stopwatch;
  DeviceInfo device;
  int ordinal;
  std::map<std::tuple<std::string, int64_t, int64_t>, double> gathers;
  double mma = 0, bestGather = 0;
};

} // namespace mlatile::bench
#endif
