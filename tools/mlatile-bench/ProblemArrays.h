// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrays of one problem on the device, and its call with one set of indices
// after another.
#ifndef MLATILE_TOOLS_BENCH_PROBLEMARRAYS_H
#define MLATILE_TOOLS_BENCH_PROBLEMARRAYS_H

#include "Candidates.h"
#include "Pools.h"
#include "mlatile/Runtime/Call.h"

#include <list>
#include <vector>

namespace mlatile::bench {

class ProblemArrays {
public:
  /// Checked and planned as any call is. `skip` is a fraction of the entries.
  ProblemArrays(const Problem &problem, double skip, Pools &pools, int ordinal);

  const Plan &plan() const { return *base.plan; }
  /// Fresh indices for so many calls; those from before are gone.
  void makeSets(int sets);
  /// So many sets stay below a sane size.
  int mostSets() const;
  /// The call with set number `set`.
  const Call &call(int set) const { return calls[static_cast<size_t>(set)]; }

  /// The first cache's pool, and how many of its rows have the bytes that a
  /// call gathers from both.
  const DevicePool &pool() const { return *sources.front().pool; }
  int64_t gatheredRows() const;
  int64_t gatheredBytes() const;

  /// Whether the last call wrote numbers into its first and last row.
  bool wroteNumbers() const;

private:
  struct OneList {
    const DevicePool *pool = nullptr;
    int64_t width = 0;
    RandomSlots source;
    DeviceBuffer entries; ///< [sets, rows, width]
  };
  DeviceBuffer &keep(DeviceBuffer buffer);
  Tensor tensor(const DeviceBuffer &buffer, DType type,
                std::vector<int64_t> shape) const;
  Tensor lengths(int64_t width);
  void *entriesOf(const OneList &list, int set) const;

  Problem problem;
  double skip;
  int ordinal;
  std::vector<OneList> sources;
  std::list<DeviceBuffer> buffers;
  const DeviceBuffer *out = nullptr;
  Call base;
  std::vector<Call> calls;
};

} // namespace mlatile::bench
#endif
