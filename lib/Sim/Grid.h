// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One grid being run by some host threads.
#ifndef MLATILE_LIB_SIM_GRID_H
#define MLATILE_LIB_SIM_GRID_H

#include "Machine.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mlatile::sim {

/// Clusters are started in the order of the seed, at most `resident` CTAs at
/// once. A CTA that waits for others stays and makes way for the next; those of
/// a cluster are run by one host thread only.
class Grid {
public:
  Grid(const LaunchContext &context, uint64_t count, uint64_t resident);

  /// Runs the grid on this host thread and on `threads - 1` more.
  void run(unsigned threads);

  std::string error; ///< empty: all is well
  uint64_t failedCta = ~0ull;
  Stats stats;

private:
  class Worker;

  /// The first CTA of the next cluster that may start; none: `count`.
  uint64_t take();
  void fail(uint64_t cta, std::string message);
  std::string describeStall(const Cta &cta) const;

  const LaunchContext &context;
  uint64_t count, resident;
  std::atomic<uint64_t> next{0};    ///< CTAs started
  std::atomic<uint64_t> running{0}; ///< started, not ended
  /// Grows when a CTA starts, ends, or does something between two waits.
  std::atomic<uint64_t> progress{0};
  std::atomic<unsigned> workers{0}, idleWorkers{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
};

} // namespace mlatile::sim
#endif
