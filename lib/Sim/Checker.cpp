// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between threads in the checked mode: what barriers, mbarriers and
// waits make known to whom.
#include "Checker.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

Checker::Checker(Cta &cta, llvm::ArrayRef<Region> regions)
    : cta(cta), regions(regions), nwarps(cta.warps.size()) {
  lanes = nextAgent = nwarps * 32;
  threads.resize(lanes);
  ClockRef start(new Clock(lanes));
  for (const Warp &warp : cta.warps)
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (!(warp.live >> lane & 1)) // holds nobody back
        start->raise(tidOf(warp, lane), ~0u);
  start->seal();
  for (Thread &t : threads)
    t.known = start;
  size_t words = (cta.sharedBytes + 3) / 4;
  writes.resize(words);
  reads.resize(words * nwarps);
  splits.resize(words);
}

/// Adds what `lane` did and knows.
void Checker::joinLane(ClockRef &into, ClockRef &lastJoined, const Lane *lane) {
  const Thread &t = thread(lane);
  if (!into)
    into = new Clock(*t.known);
  else if (t.known != lastJoined)
    into->join(*t.known);
  lastJoined = t.known;
  into->raise(lane->tid, t.now);
  if (t.copyEngine != kNobody)
    into->raise(t.copyEngine, t.copiesDone);
  if (t.storeEngine != kNobody)
    into->raise(t.storeEngine, t.storesDone);
}

/// A warp brings what its lanes did and know to a round of a barrier; what they
/// do from now on is later than all of it.
void Checker::arriveAt(ClockRef &running, ClockRef &lastJoined,
                       const Warp &warp) {
  uint32_t now = 0;
  for (uint32_t mask = warp.live; mask; mask &= mask - 1) {
    const Lane *lane = &warp.lanes[llvm::countr_zero(mask)];
    joinLane(running, lastJoined, lane);
    now = std::max(now, thread(lane).now);
  }
  for (uint32_t mask = warp.live; mask; mask &= mask - 1)
    threads[tidOf(warp, llvm::countr_zero(mask))].now = now + 1;
}

void Checker::syncWarp(Warp &warp, uint32_t active) {
  ClockRef joined, last;
  uint32_t now = 0;
  for (uint32_t mask = active; mask; mask &= mask - 1) {
    const Lane *lane = &warp.lanes[llvm::countr_zero(mask)];
    joinLane(joined, last, lane);
    now = std::max(now, thread(lane).now);
  }
  joined->seal();
  for (uint32_t mask = active; mask; mask &= mask - 1) {
    Thread &t = threads[tidOf(warp, llvm::countr_zero(mask))];
    t.known = joined;
    t.now = now + 1;
  }
}

void Checker::barrierArrived(Warp &warp, uint32_t id, bool waits, Lane *by,
                             uint32_t site) {
  Round &round = rounds[id];
  ClockRef &left = round.left[warp.index];
  if (left) {
    if (!thread(by).known->coversOtherWarps(*left, warp.index))
      failAt(by, site,
             formatv("barrier {0}: warp {1} arrives again, but nothing orders "
                     "that after the end of the round in which it arrived "
                     "before, {2}: more than one phase of run-ahead",
                     id, warp.index, cta.siteName(round.leftSites[warp.index]))
                 .str());
    left = nullptr;
  }
  arriveAt(round.running, round.lastJoined, warp);
  round.warps |= 1u << warp.index;
  round.waiting |= static_cast<uint32_t>(waits) << warp.index;
  round.sites[warp.index] = site;
}

void Checker::barrierCompleted(uint32_t id) {
  Round &round = rounds[id];
  round.running->seal();
  for (uint32_t mask = round.warps; mask; mask &= mask - 1) {
    uint32_t w = llvm::countr_zero(mask);
    if (!(round.waiting >> w & 1)) {
      round.left[w] = round.running;
      round.leftSites[w] = round.sites[w];
      continue;
    }
    for (uint32_t live = cta.warps[w].live; live; live &= live - 1)
      threads[w * 32 + llvm::countr_zero(live)].known = round.running;
  }
  round.running = round.lastJoined = nullptr;
  round.warps = round.waiting = 0;
}

Checker::PhaseOrder &Checker::order(const Mbarrier &bar) {
  size_t index = &bar - cta.mbarriers.data();
  if (phases.size() <= index)
    phases.resize(index + 1);
  return phases[index];
}

void Checker::mbarrierInitialised(Lane *lane, const Mbarrier &bar,
                                  uint32_t site) {
  PhaseOrder &phase = order(bar);
  uint32_t engine = phase.engine, issued = phase.issued;
  phase = PhaseOrder();
  phase.engine = engine;
  phase.issued = phase.landed = issued;
  phase.initSite = site;
  phase.observers.resize(lanes);
  write(lane, bar.offset, 8, nullptr, site);
}

std::string Checker::initRaceText(const Access &init, const Actor &actor,
                                  uint32_t offset, const char *what) const {
  return formatv("race on the mbarrier at shared offset {0}: {1}, and {2} by "
                 "warp {3} lane {4} ({5}): nothing orders them",
                 offset, describe(init, unorderedLane(init, actor)),
                 cta.siteName(actor.site), actor.by->warpId, actor.by->laneId,
                 what)
      .str();
}

/// Every use of an mbarrier comes after its init.
void Checker::mbarrierUsed(Lane *lane, uint32_t offset, const char *what,
                           uint32_t site) {
  const Access &init = writes[offset / 4];
  if (splits[offset / 4] || init.agent == kNobody || init.agent >= lanes)
    return;
  Actor by = actor(lane, site);
  if (!ordered(init, by))
    failAt(lane, ~0u, initRaceText(init, by, offset, what));
}

void Checker::mbarrierArrived(Lane *lane, const Mbarrier &bar) {
  PhaseOrder &phase = order(bar);
  joinLane(phase.running, phase.lastJoined, lane);
  ++thread(lane).now;
}

void Checker::mbarrierCopyLanded(const Mbarrier &bar) {
  PhaseOrder &phase = order(bar);
  if (!phase.running)
    phase.running = new Clock(lanes);
  phase.running->raise(phase.engine, ++phase.landed);
}

void Checker::mbarrierDeferred(const Mbarrier &bar, Lane *of, uint32_t copies) {
  PhaseOrder &phase = order(bar);
  if (!phase.running)
    phase.running = new Clock(lanes);
  if (thread(of).copyEngine != kNobody)
    phase.running->raise(thread(of).copyEngine, copies);
}

void Checker::mbarrierCompleted(Lane *by, const Mbarrier &bar, uint32_t site) {
  PhaseOrder &phase = order(bar);
  if (!phase.running)
    phase.running = new Clock(lanes);
  for (uint32_t tid = 0; tid < lanes; ++tid) {
    const Observer &seen = phase.observers[tid];
    if (!seen.phases || seen.phases != bar.phase ||
        phase.running->of(tid) >= seen.time)
      continue;
    failAt(by, ~0u,
           formatv("mbarrier at shared offset {0} ({1}): phase {2} completes "
                   "with {3}, but nothing orders that after {4} by warp {5} "
                   "lane {6} for phase {7}: more than one phase of run-ahead",
                   bar.offset, cta.siteName(phase.initSite), bar.phase,
                   cta.siteName(site), cta.siteName(seen.site), tid / 32,
                   tid % 32, bar.phase - 1)
               .str());
  }
  phase.done = new Clock(*phase.running);
  phase.done->seal();
  phase.knownBefore = phase.knownAfter = nullptr;
}

void Checker::mbarrierWaits(Lane *lane, const Mbarrier &bar, uint64_t parity,
                            uint32_t site) {
  PhaseOrder &phase = order(bar);
  const Observer &seen = phase.observers[lane->tid];
  // Of a thread that has waited for every phase so far it is known which one
  // it wants.
  if (!seen.phases || seen.count != seen.phases)
    return;
  uint64_t wanted = seen.phases + ((seen.phases & 1) != parity);
  if (bar.phase >= wanted + 2)
    mbarrierLapped(lane, bar, wanted, site);
}

void Checker::mbarrierLapped(Lane *lane, const Mbarrier &bar, uint64_t wanted,
                             uint32_t site) {
  failAt(lane, ~0u,
         formatv("mbarrier at shared offset {0} ({1}): {2} by warp {3} lane "
                 "{4} waits for phase {5}, but phase {6} has completed too: "
                 "more than one phase of run-ahead",
                 bar.offset, cta.siteName(order(bar).initSite),
                 cta.siteName(site), lane->warpId, lane->laneId, wanted,
                 bar.phase - 1)
             .str());
}

void Checker::mbarrierObserved(Lane *lane, const Mbarrier &bar, uint32_t site) {
  PhaseOrder &phase = order(bar);
  if (!bar.phase)
    return; // a fresh barrier, and the parity of the phase before its first
  Thread &t = thread(lane);
  if (t.known != phase.knownBefore) {
    phase.knownBefore = t.known;
    if (phase.done->covers(*t.known)) {
      phase.knownAfter = phase.done;
    } else {
      phase.knownAfter = new Clock(*t.known);
      phase.knownAfter->join(*phase.done);
      phase.knownAfter->seal();
    }
  }
  t.known = phase.knownAfter;
  Observer &seen = phase.observers[lane->tid];
  seen.count += seen.phases != bar.phase;
  seen.phases = bar.phase;
  seen.time = t.now;
  seen.site = site;
}

void Checker::copiesLanded(Lane *lane, uint32_t count) {
  thread(lane).copiesDone = count;
}

void Checker::bulkStoresLanded(Lane *lane, uint32_t count) {
  thread(lane).storesDone += count;
}

void Checker::atomicBegins(Lane *lane, const void *address) {
  Thread &t = thread(lane);
  ClockRef &before = atomics[address];
  if (!before || before == t.known)
    return;
  ClockRef joined(new Clock(*t.known));
  joined->join(*before);
  joined->seal();
  t.known = joined;
}

void Checker::atomicEnds(Lane *lane, const void *address) {
  ClockRef after, last;
  joinLane(after, last, lane);
  after->seal();
  atomics[address] = after;
  ++thread(lane).now;
}

std::string Checker::atEnd() const {
  for (const Mbarrier &bar : cta.mbarriers) {
    if (!bar.live || (bar.pending == bar.expected && !bar.tx &&
                      bar.bulk.empty() && bar.deferred.empty()))
      continue;
    const PhaseOrder &phase = phases[&bar - cta.mbarriers.data()];
    return formatv("the kernel ends within phase {0} of the mbarrier at shared "
                   "offset {1} ({2}): {3} of {4} arrivals pending, {5} bytes "
                   "of transactions expected, {6} bulk copies and {7} "
                   "cp.async arrivals under way",
                   bar.phase, bar.offset, cta.siteName(phase.initSite),
                   bar.pending, bar.expected, bar.tx, bar.bulk.size(),
                   bar.deferred.size())
        .str();
  }
  for (uint32_t id = 0; id < cta.barriers.size(); ++id) {
    const CtaBarrier &barrier = cta.barriers[id];
    if (!barrier.arrived)
      continue;
    uint32_t warp = llvm::countr_zero(barrier.warps);
    return formatv("the kernel ends while barrier {0} has {1} of {2} threads, "
                   "among them warp {3}, {4}",
                   id, barrier.arrived, barrier.expected, warp,
                   cta.siteName(rounds[id].sites[warp]))
        .str();
  }
  return peersAtEnd();
}
