// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes of a warp meeting at a group of collectives. The last to arrive
// executes the group and goes on; the others become ready.
#include "Entry.h"
#include "Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;

std::string mlatile::sim::divergence(const Cta &cta, const Group *first,
                                     const Group *second) {
  return llvm::formatv("diverged collectives: lanes of one warp wait at {0} "
                       "and at {1}",
                       cta.siteName(first->site), cta.siteName(second->site))
      .str();
}

namespace {

[[noreturn]] void failDiverged(Lane *lane, const Group *first,
                               const Group *second) {
  failAt(lane, second->site, divergence(ctaOf(lane), first, second));
}

[[noreturn]] void failMissingLanes(Lane *lane, const Group &group,
                                   uint32_t active) {
  failAt(lane, group.site,
         llvm::formatv("collective needs all 32 lanes of the warp, lanes "
                       "{0:x8} take part",
                       active)
             .str());
}

bool isBarrier(const Group &group) {
  OpCode code = group.ops.front().code;
  return code == OpCode::BarrierSync || code == OpCode::BarrierArrive ||
         code == OpCode::BarrierReduce;
}

/// Executes a group all of whose lanes, `active`, have arrived. `by` is the
/// last of them, or a lane whose exit completed the set.
void complete(Warp &warp, const Group &group, uint32_t active, Lane *by) {
  if (group.wholeWarp && active != kFullMask)
    failMissingLanes(by, group, active);
  Cta &cta = *warp.cta;
  ++cta.stats.rendezvous;
  ++cta.steps;
  bool member = active & laneBit(by);
  OpCode code = group.ops.front().code;
  auto sleep = [&](Wait wait) {
    for (unsigned i = 0; i < 32; ++i)
      if (active >> i & 1)
        warp.lanes[i].wait = wait;
    if (member)
      suspend(by, wait, group.site);
  };
  if (isBarrier(group)) {
    if (!arriveAtBarrier(warp, group.ops.front(), active, by))
      return sleep(Wait::Barrier);
  } else if (code == OpCode::ClusterArrive) {
    arriveAtCluster(warp, !group.ops.front().second, by, group.site);
  } else if (code == OpCode::ClusterWait) {
    if (!waitAtCluster(warp, by, group.site))
      return sleep(Wait::Cluster);
  } else {
    execute(warp, group, active, by);
  }
  warp.ready |= active & ~laneBit(by);
  // Other warps may run ahead anywhere; some seeds try it.
  if (member && cta.launch->seed && cta.nextRandom() % 4 == 0)
    yieldWarp(by);
}

} // namespace

void mlatile::sim::lanesExited(Warp &warp, Lane *by) {
  if (warp.full.group && warp.full.arrived == warp.live) {
    const Group *group = warp.full.group;
    warp.full.group = nullptr;
    complete(warp, *group, warp.full.arrived, by);
  }
  for (size_t i = 0; i < warp.partial.size();) {
    Rendezvous r = warp.partial[i];
    if (r.arrived != (r.mask & warp.live)) {
      ++i;
      continue;
    }
    warp.partial.erase(warp.partial.begin() + i);
    complete(warp, *r.group, r.arrived, by);
  }
}

void mlatile::sim::enterCollective(Lane *lane, const Group *group) {
  Warp &warp = *lane->warp;
  Rendezvous &r = warp.full;
  if (!r.group) {
    for (const Rendezvous &other : warp.partial)
      if (other.mask & laneBit(lane))
        failDiverged(lane, other.group, group);
    r.group = group;
    r.arrived = 0;
  } else if (r.group != group) {
    failDiverged(lane, r.group, group);
  }
  r.arrived |= laneBit(lane);
  if (r.arrived != warp.live) {
    suspend(lane, Wait::Collective, group->site);
    return;
  }
  r.group = nullptr;
  complete(warp, *group, r.arrived, lane);
}

void mlatile::sim::enterMaskedCollective(Lane *lane, const Group *group,
                                         uint32_t mask) {
  Warp &warp = *lane->warp;
  if (!(mask & laneBit(lane)))
    failAt(lane, group->site,
           llvm::formatv("lane {0} is not in the member mask {1:x8} it passes",
                         lane->laneId, mask)
               .str());
  if (mask == kFullMask)
    return enterCollective(lane, group);
  if (warp.full.group && (warp.full.arrived & mask))
    failDiverged(lane, warp.full.group, group);
  size_t found = warp.partial.size();
  for (size_t i = 0; i < warp.partial.size(); ++i) {
    const Rendezvous &other = warp.partial[i];
    if (other.group == group && other.mask == mask)
      found = i;
    else if ((other.arrived & mask) && (other.mask & laneBit(lane)))
      failDiverged(lane, other.group, group);
  }
  if (found == warp.partial.size())
    warp.partial.push_back({group, mask, 0});
  Rendezvous &r = warp.partial[found];
  r.arrived |= laneBit(lane);
  if (r.arrived != (mask & warp.live)) {
    suspend(lane, Wait::Collective, group->site);
    return;
  }
  uint32_t active = r.arrived;
  warp.partial.erase(warp.partial.begin() + found);
  complete(warp, *group, active, lane);
}
