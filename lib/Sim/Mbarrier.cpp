// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarrier objects. PTX ISA, "mbarrier": a phase completes when no arrival and
// no transaction byte is pending. State lives beside shared memory; the eight
// bytes themselves hold a mark that shows when something else writes there.
#include "Checker.h"
#include "Entry.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstring>

using namespace mlatile::sim;
using llvm::formatv;

namespace {

constexpr uint32_t kMaxCount = (1u << 20) - 1;
constexpr int64_t kMaxTx = (1 << 20) - 1;
constexpr uint64_t kMark = 0x6d62617272696572ull;

uint32_t checkedOffset(Lane *lane, const void *address, uint32_t site,
                       const char *what) {
  Cta &cta = ctaOf(lane);
  if (!cta.owns(address, 8))
    failAt(lane, site,
           formatv("{0}: mbarrier address {1} is not in shared memory", what,
                   address)
               .str());
  uint32_t offset = static_cast<const uint8_t *>(address) - cta.shared;
  if (offset % 8)
    failAt(lane, site,
           formatv("{0}: mbarrier at shared offset {1} is not 8-byte aligned",
                   what, offset)
               .str());
  return offset;
}

Mbarrier *lookUp(Cta &cta, uint32_t offset) {
  for (Mbarrier &bar : cta.mbarriers)
    if (bar.offset == offset && bar.live)
      return &bar;
  return nullptr;
}

void setMark(Cta &cta, const Mbarrier &bar, uint64_t mark) {
  std::memcpy(cta.shared + bar.offset, &mark, 8);
}

bool satisfied(const Mbarrier &bar, bool byToken, uint64_t wanted) {
  return byToken ? bar.phase > wanted : (bar.phase & 1) != wanted;
}

void completePhaseIfDone(Lane *by, Mbarrier &bar, uint32_t site) {
  if (bar.pending || bar.tx)
    return;
  Cta &cta = ctaOf(by);
  if (!bar.bulk.empty())
    failAt(by, site,
           formatv("mbarrier at shared offset {0}: phase {1} completes while "
                   "{2} bulk copies towards it are in flight: expect_tx is "
                   "too small",
                   bar.offset, bar.phase, bar.bulk.size())
               .str());
  if (cta.checker)
    cta.checker->mbarrierCompleted(by, bar, site);
  ++bar.phase;
  bar.pending = bar.expected;
  bar.observed = false;
  ++cta.steps;
  ++cta.stats.mbarrierPhases;
  for (Lane *waiter : bar.waiters)
    wake(waiter);
  bar.waiters.clear();
}

void addTx(Lane *lane, Mbarrier &bar, int64_t bytes, uint32_t site) {
  bar.tx += bytes;
  if (bar.tx > kMaxTx || bar.tx < -kMaxTx)
    failAt(lane, site,
           formatv("mbarrier at shared offset {0}: transaction count {1} is "
                   "out of range (+-{2})",
                   bar.offset, bar.tx, kMaxTx)
               .str());
  ++ctaOf(lane).steps;
}

/// Lands what the running phase waits for, as far as it has been issued.
bool landTowards(Cta &cta, Mbarrier &bar, Lane *by) {
  bool landed = false;
  uint64_t phase = bar.phase;
  while (bar.phase == phase && !bar.deferred.empty()) {
    DeferredArrival arrival = bar.deferred.front();
    bar.deferred.erase(bar.deferred.begin());
    landThreadCopies(arrival.lane, arrival.copies);
    if (cta.checker)
      cta.checker->mbarrierDeferred(bar, arrival.lane, arrival.copies);
    arriveOn(by, bar, 1, arrival.site);
    landed = true;
  }
  while (bar.phase == phase && !bar.bulk.empty()) {
    BulkCopy copy = bar.bulk.front();
    bar.bulk.erase(bar.bulk.begin());
    std::memcpy(copy.dst, copy.src, copy.size);
    --cta.inFlight;
    if (cta.checker)
      cta.checker->mbarrierCopyLanded(bar);
    completeTx(by, bar, copy.size, copy.site);
    landed = true;
  }
  return landed;
}

uint32_t waitFor(Lane *lane, void *address, bool byToken, uint64_t wanted,
                 bool blocks, uint32_t site) {
  Cta &cta = ctaOf(lane);
  Mbarrier &bar = findMbarrier(lane, address, site, "wait");
  uint32_t index = &bar - cta.mbarriers.data();
  if (cta.checker && !byToken)
    cta.checker->mbarrierWaits(lane, bar, wanted, site);
  uint64_t began = bar.phase;
  for (;;) {
    Mbarrier &current = cta.mbarriers[index];
    bool lapped = !byToken && current.phase >= began + 2;
    if (lapped && cta.checker && !satisfied(current, byToken, wanted))
      cta.checker->mbarrierLapped(lane, current, began, site);
    if (!satisfied(current, byToken, wanted))
      landTowards(cta, current, lane);
    if (satisfied(current, byToken, wanted)) {
      current.observed = true;
      if (cta.checker)
        cta.checker->mbarrierObserved(lane, current, site);
      return 1;
    }
    lane->waitMbarrier = index;
    lane->waitByToken = byToken;
    lane->waitPhase = wanted;
    if (!blocks) {
      poll(lane, index, site);
      Mbarrier &after = cta.mbarriers[index];
      if (!satisfied(after, byToken, wanted))
        return 0;
      after.observed = true;
      if (cta.checker)
        cta.checker->mbarrierObserved(lane, after, site);
      return 1;
    }
    current.waiters.push_back(lane);
    suspend(lane, Wait::Mbarrier, site);
  }
}

} // namespace

Mbarrier &mlatile::sim::findMbarrier(Lane *lane, const void *address,
                                     uint32_t site, const char *what) {
  Cta &cta = ctaOf(lane);
  uint32_t offset = checkedOffset(lane, address, site, what);
  Mbarrier *bar = lookUp(cta, offset);
  if (!bar)
    failAt(lane, site,
           formatv("{0}: mbarrier at shared offset {1} is used before its init",
                   what, offset)
               .str());
  uint64_t mark;
  std::memcpy(&mark, cta.shared + offset, 8);
  if (mark != kMark)
    failAt(lane, site,
           formatv("{0}: the 8 bytes of the mbarrier at shared offset {1} were "
                   "overwritten",
                   what, offset)
               .str());
  if (cta.checker)
    cta.checker->mbarrierUsed(lane, offset, what, site);
  return *bar;
}

void mlatile::sim::arriveOn(Lane *lane, Mbarrier &bar, uint32_t count,
                            uint32_t site) {
  if (!count || count > bar.pending)
    failAt(lane, site,
           formatv("mbarrier at shared offset {0}: {1} arrivals on a phase "
                   "that has {2} of {3} pending",
                   bar.offset, count, bar.pending, bar.expected)
               .str());
  if (!bar.observed)
    failAt(lane, site,
           formatv("mbarrier at shared offset {0}: arrival of phase {1}, but "
                   "nobody has waited for phase {2}",
                   bar.offset, bar.phase, bar.phase - 1)
               .str());
  bar.pending -= count;
  ++ctaOf(lane).steps;
  completePhaseIfDone(lane, bar, site);
}

void mlatile::sim::completeTx(Lane *lane, Mbarrier &bar, uint32_t bytes,
                              uint32_t site) {
  addTx(lane, bar, -static_cast<int64_t>(bytes), site);
  completePhaseIfDone(lane, bar, site);
}

bool mlatile::sim::landForWaiters(Cta &cta, Lane *by) {
  for (Mbarrier &bar : cta.mbarriers)
    if (bar.live && !bar.waiters.empty() && landTowards(cta, bar, by))
      return true;
  return false;
}

bool mlatile::sim::landAnything(Cta &cta, Lane *by) {
  for (Mbarrier &bar : cta.mbarriers)
    if (bar.live && landTowards(cta, bar, by))
      return true;
  return false;
}

void mlatile::sim::mbarrierInit(Lane *lane, void *address, uint32_t count,
                                uint32_t site) {
  Cta &cta = ctaOf(lane);
  uint32_t offset = checkedOffset(lane, address, site, "mbarrier.init");
  if (count < 1 || count > kMaxCount)
    failAt(lane, site,
           formatv("mbarrier.init: expected a count from 1 to {0}, got {1}",
                   kMaxCount, count)
               .str());
  if (Mbarrier *bar = lookUp(cta, offset)) {
    // Initialising again is legal only while nothing has happened to it.
    if (bar->phase || bar->pending != bar->expected || bar->tx ||
        !bar->bulk.empty() || !bar->waiters.empty())
      failAt(lane, site,
             formatv("mbarrier.init: the mbarrier at shared offset {0} is in "
                     "use; inval it first",
                     offset)
                 .str());
    bar->live = false;
  }
  auto at = std::find_if(cta.mbarriers.begin(), cta.mbarriers.end(),
                         [&](const Mbarrier &dead) {
                           return !dead.live && dead.offset == offset;
                         });
  if (at == cta.mbarriers.end())
    at = cta.mbarriers.insert(at, Mbarrier());
  *at = Mbarrier();
  at->offset = offset;
  at->live = true;
  at->expected = at->pending = count;
  if (cta.checker)
    cta.checker->mbarrierInitialised(lane, *at, site);
  setMark(cta, *at, kMark);
}

void mlatile::sim::mbarrierInvalidate(Lane *lane, void *address,
                                      uint32_t site) {
  Cta &cta = ctaOf(lane);
  Mbarrier &bar = findMbarrier(lane, address, site, "mbarrier.inval");
  if (!bar.waiters.empty() || !bar.bulk.empty() || !bar.deferred.empty())
    failAt(lane, site,
           formatv("mbarrier.inval: the mbarrier at shared offset {0} has {1} "
                   "waiting lanes and {2} copies in flight",
                   bar.offset, bar.waiters.size(), bar.bulk.size())
               .str());
  bar.live = false;
  setMark(cta, bar, ~0ull);
}

uint64_t mlatile::sim::mbarrierArrive(Lane *lane, void *address, uint32_t count,
                                      uint32_t tx, uint32_t drop,
                                      uint32_t site) {
  Mbarrier &bar = findMbarrier(lane, address, site, "mbarrier.arrive");
  // A token: the phase above, the pending count before this arrival below.
  uint64_t token = bar.phase << 20 | bar.pending;
  if (tx)
    addTx(lane, bar, tx, site);
  if (drop) {
    if (count >= bar.expected)
      failAt(lane, site,
             formatv("mbarrier at shared offset {0}: arrive_drop leaves no "
                     "expected arrivals",
                     bar.offset)
                 .str());
    bar.expected -= count;
  }
  if (Checker *checker = ctaOf(lane).checker.get())
    checker->mbarrierArrived(lane, bar);
  arriveOn(lane, bar, count, site);
  return token;
}

void mlatile::sim::mbarrierExpectTx(Lane *lane, void *address, uint32_t tx,
                                    uint32_t site) {
  addTx(lane, findMbarrier(lane, address, site, "mbarrier.expect_tx"), tx,
        site);
}

void mlatile::sim::mbarrierCompleteTx(Lane *lane, void *address, uint32_t tx,
                                      uint32_t site) {
  completeTx(lane, findMbarrier(lane, address, site, "mbarrier.complete_tx"),
             tx, site);
}

uint32_t mlatile::sim::mbarrierWaitParity(Lane *lane, void *address,
                                          uint32_t parity, uint32_t blocks,
                                          uint32_t site) {
  if (parity > 1)
    failAt(lane, site,
           formatv("expected an mbarrier parity of 0 or 1, got {0}", parity)
               .str());
  return waitFor(lane, address, false, parity, blocks, site);
}

uint32_t mlatile::sim::mbarrierWaitToken(Lane *lane, void *address,
                                         uint64_t token, uint32_t blocks,
                                         uint32_t site) {
  return waitFor(lane, address, true, token >> 20, blocks, site);
}

uint32_t mlatile::sim::mbarrierPendingCount(uint64_t token) {
  return token & kMaxCount;
}
