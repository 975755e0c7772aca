// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks of the checked mode. An agent is a lane of the CTA or an engine
// that copies for it; each counts its own time. A clock says up to which time
// its holder comes after each agent.
#ifndef MLATILE_LIB_SIM_CLOCK_H
#define MLATILE_LIB_SIM_CLOCK_H

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace mlatile::sim {

/// Lanes of a barrier share one clock, so that most joins are comparisons of
/// pointers. Nothing changes after seal().
class Clock : public llvm::RefCountedBase<Clock> {
public:
  /// Agents below `lanes`, a multiple of 32, are lanes.
  explicit Clock(uint32_t lanes) : times(lanes), warps(lanes / 32) {}

  uint32_t of(uint32_t agent) const {
    return agent < times.size() ? times[agent] : 0;
  }
  /// The least of the warp's lanes.
  uint32_t ofWarp(uint32_t warp) const { return warps[warp]; }

  void raise(uint32_t agent, uint32_t time) {
    if (agent >= times.size())
      times.resize(agent + 1);
    times[agent] = std::max(times[agent], time);
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }
  void seal() {
    for (size_t warp = 0; warp < warps.size(); ++warp)
      warps[warp] = *std::min_element(times.begin() + warp * 32,
                                      times.begin() + warp * 32 + 32);
  }
  bool covers(const Clock &other) const {
    for (uint32_t i = 0; i < other.times.size(); ++i)
      if (of(i) < other.times[i])
        return false;
    return true;
  }
  /// At least `other` for all lanes but those of `warp`.
  bool coversOtherWarps(const Clock &other, uint32_t warp) const {
    for (uint32_t i = 0; i < warps.size() * 32; ++i)
      if (i / 32 != warp && times[i] < other.times[i])
        return false;
    return true;
  }

private:
  std::vector<uint32_t> times, warps;
};

using ClockRef = llvm::IntrusiveRefCntPtr<Clock>;

} // namespace mlatile::sim
#endif
