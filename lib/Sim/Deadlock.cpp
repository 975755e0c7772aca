// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who waits on what, for the message of a CTA that cannot go on.
#include "Cluster.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

namespace {

std::string describeWait(const Cta &cta, const Lane &lane) {
  const std::string &site = cta.siteName(lane.waitSite);
  switch (lane.wait) {
  case Wait::Mbarrier:
  case Wait::Poll: {
    if (lane.waitMbarrier == kNoMbarrier)
      return formatv("poll memory at {0}", site).str();
    const Mbarrier &bar = cta.mbarriers[lane.waitMbarrier];
    std::string what = lane.waitByToken
                           ? formatv("phase {0}", lane.waitPhase).str()
                           : formatv("parity {0}", lane.waitPhase).str();
    return formatv("wait for {0} of the mbarrier at shared offset {1} "
                   "(phase {2} runs, {3} of {4} arrivals pending, {5} bytes "
                   "expected) at {6}",
                   what, bar.offset, bar.phase, bar.pending, bar.expected,
                   bar.tx, site)
        .str();
  }
  case Wait::Barrier: {
    for (unsigned id = 0; id < cta.barriers.size(); ++id) {
      const CtaBarrier &barrier = cta.barriers[id];
      if (barrier.waiting >> lane.warpId & 1)
        return formatv("wait at barrier {0} ({1} of {2} threads arrived) at "
                       "{3}",
                       id, barrier.arrived,
                       barrier.expected ? barrier.expected : cta.liveWarps * 32,
                       site)
            .str();
    }
    return formatv("wait at a barrier at {0}", site).str();
  }
  case Wait::Cluster:
    return formatv("wait at the barrier of the cluster ({0} of {1} warps "
                   "arrived) at {2}",
                   cta.cluster->arrived, cta.cluster->expected(), site)
        .str();
  case Wait::Collective:
    return formatv("wait for the other lanes of their warp at {0}", site).str();
  case Wait::Exited:
    return "have exited";
  case Wait::None:
    break;
  }
  return "are ready";
}

std::string laneRanges(uint32_t mask) {
  std::string text;
  while (mask) {
    unsigned first = llvm::countr_zero(mask);
    unsigned length = llvm::countr_one(mask >> first);
    text += formatv("{0}{1}", text.empty() ? "" : ",", first).str();
    if (length > 1)
      text += formatv("-{0}", first + length - 1).str();
    mask &= length == 32 ? 0 : ~(((1u << length) - 1) << first);
  }
  return text;
}

} // namespace

std::string mlatile::sim::describeDeadlock(const Cta &cta) {
  std::string text = "deadlock: no thread can go on";
  for (const Warp &warp : cta.warps) {
    std::vector<std::pair<std::string, uint32_t>> reasons;
    for (unsigned i = 0; i < 32; ++i) {
      const Lane &lane = warp.lanes[i];
      if (!(warp.live >> i & 1))
        continue;
      std::string reason = describeWait(cta, lane);
      if (reasons.empty() || reasons.back().first != reason) {
        auto same = std::find_if(reasons.begin(), reasons.end(),
                                 [&](auto &r) { return r.first == reason; });
        if (same != reasons.end()) {
          same->second |= 1u << i;
          continue;
        }
        reasons.push_back({std::move(reason), 0});
      }
      reasons.back().second |= 1u << i;
    }
    for (auto &[reason, mask] : reasons)
      text += formatv("\n  warp {0} lanes {1}: {2}", warp.index,
                      laneRanges(mask), reason)
                  .str();
  }
  return text;
}
