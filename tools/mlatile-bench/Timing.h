// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a call takes on the device: docs/Benchmark.md, "Protocol".
#ifndef MLATILE_TOOLS_BENCH_TIMING_H
#define MLATILE_TOOLS_BENCH_TIMING_H

#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/CudaStream.h"
#include "mlatile/Runtime/Kernel.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace mlatile::bench {

struct Protocol {
  int calls = 20;       ///< of a graph, at most
  int replays = 30;     ///< of the graph, at most
  bool warm = false;    ///< one set of inputs, and nothing read between replays
  double seconds = 0.5; ///< of the device, for one measurement
  int64_t flushBytes = 256ll << 20; ///< read between replays; at least 2 x L2
};

/// Microseconds a call; of the replays.
struct Timing {
  double median = 0, fastest = 0, slowest = 0;
  int calls = 0, replays = 0;
};
/// The values in any order, at least one.
Timing statistics(std::vector<double> microseconds);

/// Reads bytes that nothing else reads, so that L2 holds nothing else.
class Flush {
public:
  Flush(int64_t bytes, const DeviceInfo &device, int ordinal);
  void launch(void *stream) const;
  int64_t bytes() const { return size; }

private:
  std::shared_ptr<const Kernel> kernel;
  DeviceBuffer data, sums;
  int64_t size = 0, programs = 0, rowsPerProgram = 0;
  int ordinal;
};

/// Puts call number i into a stream.
using Work = std::function<void(int, void *)>;

class Stopwatch {
public:
  /// `device` is that of the ordinal.
  Stopwatch(const Protocol &protocol, const DeviceInfo &device, int ordinal);

  const Protocol &protocol() const { return options; }
  int64_t flushedBytes() const { return flush ? flush->bytes() : 0; }
  /// Calls for one graph, from one call that is run and timed: as many as take
  /// a few milliseconds. `estimate` receives its microseconds.
  int callsFor(const Work &work, double &estimate);
  /// Captures `calls` calls, replays, and takes the time of each replay.
  Timing measure(const Work &work, int calls, double estimate);

private:
  Protocol options;
  int ordinal;
  DeviceStream stream;
  std::optional<Flush> flush;
};

} // namespace mlatile::bench
#endif
