// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small operations of a single lane.
#include "Checker.h"
#include "Entry.h"

using namespace mlatile::sim;

void mlatile::sim::threadExit(Lane *lane) { exitLane(lane); }

void mlatile::sim::threadTrap(Lane *lane, uint32_t site) {
  failAt(lane, site, "trap or unreachable code executed");
}

void mlatile::sim::threadPoll(Lane *lane, uint32_t site) {
  poll(lane, kNoMbarrier, site);
}

// The launches before have ended when one runs here.
void mlatile::sim::threadAwaitLaunches(Lane *lane) {
  lane->launchesAwaited = true;
}

void mlatile::sim::threadFenceProxy(Lane *lane) {
  if (Checker *checker = ctaOf(lane).checker.get())
    checker->proxyFenced(lane);
}

uint32_t mlatile::sim::threadIsShared(Lane *lane, const void *address) {
  return ctaOf(lane).owns(address, 1);
}

uint64_t mlatile::sim::threadClock(Lane *lane) { return ctaOf(lane).steps; }
