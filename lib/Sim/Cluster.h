// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs that run together, on one host thread, and read each other's shared
// memory. A CTA of a kernel without clusters is alone in one.
#ifndef MLATILE_LIB_SIM_CLUSTER_H
#define MLATILE_LIB_SIM_CLUSTER_H

#include "Machine.h"

namespace mlatile::sim {

struct Cluster {
  std::vector<Cta *> ctas; ///< by rank
  uint64_t round = 0;      ///< completions of the barrier
  uint32_t arrived = 0;    ///< warps, in the running round
  uint32_t ended = 0;      ///< CTAs

  /// Warps that a round waits for: all that have not exited.
  uint32_t expected() const {
    uint32_t warps = 0;
    for (const Cta *cta : ctas)
      warps += cta->life == Cta::Life::Unborn ? cta->warps.size()
               : cta->life == Cta::Life::Runs ? cta->liveWarps
                                              : 0;
    return warps;
  }
  /// The CTA whose shared memory holds `address`; null if none does.
  Cta *owner(const void *address) const {
    for (Cta *cta : ctas)
      if (cta->owns(address, 1))
        return cta;
    return nullptr;
  }
};

} // namespace mlatile::sim
#endif
