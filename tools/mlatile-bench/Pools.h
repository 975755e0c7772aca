// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools on the device, far larger than L2, kept from problem to problem.
#ifndef MLATILE_TOOLS_BENCH_POOLS_H
#define MLATILE_TOOLS_BENCH_POOLS_H

#include "Inputs.h"
#include "mlatile/Runtime/CudaDevice.h"

#include <list>

namespace mlatile::bench {

/// What tells one pool from another. Strides in bytes; 0: the format's own row
/// stride, and tight pages rounded up to a multiple of 576.
struct PoolKey {
  std::string format;
  int64_t pageSize = 0, pageStride = 0, rowStride = 0;
  int copy = 0; ///< a second pool of one kind
  bool operator==(const PoolKey &) const = default;
};

struct DevicePool {
  PoolKey key;
  run::Cache geometry; ///< without contents
  DeviceBuffer memory;
};

class Pools {
public:
  Pools(int64_t bytes, int ordinal) : bytes(bytes), ordinal(ordinal) {}

  /// Of at least `slots` slots; numbers stand in every token, which repeat
  /// after some thousand. Stays until two others have been asked for.
  const DevicePool &get(const PoolKey &key, int64_t slots);

private:
  int64_t bytes;
  int ordinal;
  std::list<DevicePool> pools; ///< the last one used first
};

} // namespace mlatile::bench
#endif
