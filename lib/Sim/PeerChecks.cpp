// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode across the CTAs of a cluster. Only the barrier of the cluster
// orders CTAs, and its rounds are the same for all of them: who knows of `n`
// rounds comes after all that was done before the n-th, in every CTA.
#include "Checker.h"
#include "Cluster.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

void Checker::clusterArrived(Warp &warp, bool releases) {
  ++warp.clusterArrivals;
  if (!releases)
    return;
  arriveAt(peers.running, peers.lastJoined, warp);
}

void Checker::clusterCompleted() {
  if (!peers.running)
    peers.running = new Clock(lanes);
  if (peers.engine == kNobody)
    peers.engine = newEngine();
  peers.rounds.push_back(peers.running);
  peers.running->raise(peers.engine, peers.rounds.size());
  peers.running->seal();
  peers.running = peers.lastJoined = nullptr;
}

void Checker::clusterWaited(Warp &warp) {
  const ClockRef &round = peers.rounds.back();
  for (uint32_t mask = warp.live; mask; mask &= mask - 1) {
    Thread &t = threads[tidOf(warp, llvm::countr_zero(mask))];
    if (round->covers(*t.known)) {
      t.known = round;
      continue;
    }
    ClockRef joined(new Clock(*t.known));
    joined->join(*round);
    joined->seal();
    t.known = joined;
  }
}

uint32_t Checker::roundsKnownTo(const Clock &known) const {
  return peers.engine == kNobody ? 0 : known.of(peers.engine);
}

/// Whether all of an access was done before one of the first `rounds` rounds.
bool Checker::isBefore(const Access &access, uint32_t rounds) const {
  if (!rounds)
    return false;
  const Clock &known = *peers.rounds[rounds - 1];
  if (access.agent >= lanes)
    return known.of(access.agent) >= access.time;
  for (uint32_t mask = access.mask; mask; mask &= mask - 1)
    if (known.of(access.agent + llvm::countr_zero(mask)) < access.time)
      return false;
  return true;
}

std::string Checker::peerText(const PeerRead &read) const {
  return formatv("{0} by CTA {1} of the cluster, warp {2} lane {3}",
                 cta.siteName(read.site), read.rank, read.tid / 32,
                 read.tid % 32)
      .str();
}

std::string Checker::peerRaceText(const Granule &at, const PeerRead &read,
                                  const Access &write) const {
  bool copy = write.agent >= lanes;
  uint32_t tid =
      copy ? write.mask : write.agent + llvm::countr_zero(write.mask);
  return formatv(
             "race on shared memory of CTA {0} of the cluster, {1} bytes at "
             "offset {2}: {3} {4} warp {5} lane {6} writes, and {7} reads: "
             "no barrier of the cluster orders them",
             cta.rank, at.bytes, at.offset, cta.siteName(write.site),
             copy ? "issued by" : "by", tid / 32, tid % 32, peerText(read))
      .str();
}

std::string Checker::unwrittenText(const Granule &at,
                                   const PeerRead &read) const {
  return formatv("{0} reads shared memory of CTA {1} of the cluster that "
                 "nobody has written, offset {2}",
                 peerText(read), cta.rank, at.offset)
      .str();
}

void Checker::peerReads(Lane *lane, uint32_t offset, uint32_t bytes,
                        uint32_t site) {
  Cta &other = ctaOf(lane);
  Checker &theirs = *other.checker;
  uint32_t rounds = theirs.roundsKnownTo(*theirs.thread(lane).known);
  PeerRead read{lane->warp->clusterArrivals + 1, other.rank, lane->tid, site};
  granules(offset, bytes, [&](const Granule &at) {
    if (at.write->agent == kNobody)
      failAt(lane, ~0u, unwrittenText(at, read));
    if (!isBefore(*at.write, rounds))
      failAt(lane, ~0u, peerRaceText(at, read, *at.write));
    // The latest of a granule counts: who comes after it comes after all.
    PeerRead &last = peers.reads[at.key];
    if (read.round >= last.round)
      last = read;
  });
  if (read.round >= peers.last.round)
    peers.last = read;
}

void Checker::afterPeerReads(const Granule &at, const Actor &actor,
                             const Access &next) {
  uint32_t known = roundsKnownTo(*actor.known);
  uint32_t word = at.offset / 4;
  // Of the whole word, and of the bytes that both have.
  for (uint32_t key = word * 8; key <= word * 8 + 4; ++key) {
    bool overlaps = key == word * 8 + 4 || at.bytes == 4 || key == at.key;
    auto it = overlaps ? peers.reads.find(key) : peers.reads.end();
    if (it == peers.reads.end())
      continue;
    if (it->second.round > known)
      failAt(actor.by, ~0u, peerRaceText(at, it->second, next));
    if (at.bytes == 4)
      peers.reads.erase(it);
  }
}

std::string Checker::peersAtEnd() const {
  uint32_t known = 0;
  for (const Thread &t : threads)
    known = std::max(known, roundsKnownTo(*t.known));
  if (peers.last.round <= known)
    return "";
  return formatv("the CTA ends, and its shared memory with it, but no barrier "
                 "of the cluster orders that after {0}",
                 peerText(peers.last))
      .str();
}
