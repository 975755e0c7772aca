// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode of one CTA: who comes after whom (vector clocks), and who wrote
// and read each word of shared memory last. The first finding ends the CTA.
#ifndef MLATILE_LIB_SIM_CHECKER_H
#define MLATILE_LIB_SIM_CHECKER_H

#include "Clock.h"
#include "Machine.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <unordered_map>

namespace mlatile::sim {

inline constexpr uint32_t kNobody = ~0u;

/// An access of lanes of one warp at one time of theirs, or of a copy.
struct Access {
  uint32_t time = 0;
  uint32_t agent = kNobody; ///< the warp's first lane, or a copying engine
  uint32_t mask = 0; ///< lanes of the warp; of a copy: its issuing thread
  uint32_t site = 0;
};
/// What lanes of one warp read; mask 0: nothing since the last write.
struct WarpRead {
  uint32_t time = 0, mask = 0, site = 0;
};

/// Lanes of a warp that access at one time with the same knowledge.
struct Actor {
  Lane *by;      ///< one of them
  uint32_t mask; ///< all of them
  uint32_t time, site;
  const Clock *known;
};

class Checker {
public:
  Checker(Cta &cta, llvm::ArrayRef<Region> regions);

  // Accesses, before they happen. Offsets are of shared memory, in range.
  void read(Lane *lane, uint32_t offset, uint32_t bytes, uint32_t site);
  /// `value`: what is written, for lanes of a warp that write the same; or
  /// null.
  void write(Lane *lane, uint32_t offset, uint32_t bytes, const void *value,
             uint32_t site);
  /// ldmatrix and stmatrix.
  void matrix(Warp &warp, const Op &op, uint8_t *const *rows, Lane *by);
  /// Global memory; nothing to do where no region was given.
  void global(Lane *lane, const void *address, uint64_t bytes, bool writes,
              const char *what, uint32_t site);
  /// Round an atomic access. All of one address are taken to be in order, with
  /// release and acquire.
  void atomicBegins(Lane *lane, const void *address);
  void atomicEnds(Lane *lane, const void *address);

  // Copies. What they write belongs to an engine, whose time is the number of
  // the copy.
  void copyIssued(Lane *lane, uint32_t offset, uint32_t bytes, uint32_t site);
  void copiesLanded(Lane *lane, uint32_t count);
  void bulkIssued(Lane *lane, const Mbarrier &bar, uint32_t offset,
                  uint32_t bytes, uint32_t site);
  void bulkStoreIssued(Lane *lane, uint32_t offset, uint32_t bytes,
                       uint32_t site);
  void bulkStoresLanded(Lane *lane, uint32_t count);
  /// fence.proxy.async
  void proxyFenced(Lane *lane);

  // Order.
  void syncWarp(Warp &warp, uint32_t active);
  void barrierArrived(Warp &warp, uint32_t id, bool waits, Lane *by,
                      uint32_t site);
  void barrierCompleted(uint32_t id);
  void mbarrierInitialised(Lane *lane, const Mbarrier &bar, uint32_t site);
  void mbarrierUsed(Lane *lane, uint32_t offset, const char *what,
                    uint32_t site);
  void mbarrierArrived(Lane *lane, const Mbarrier &bar);
  void mbarrierCopyLanded(const Mbarrier &bar);
  void mbarrierDeferred(const Mbarrier &bar, Lane *of, uint32_t copies);
  /// The running phase of `bar`, whose number has not been raised yet.
  void mbarrierCompleted(Lane *by, const Mbarrier &bar, uint32_t site);
  void mbarrierWaits(Lane *lane, const Mbarrier &bar, uint64_t parity,
                     uint32_t site);
  /// A thread that waits for phase `wanted` has missed its end.
  [[noreturn]] void mbarrierLapped(Lane *lane, const Mbarrier &bar,
                                   uint64_t wanted, uint32_t site);
  void mbarrierObserved(Lane *lane, const Mbarrier &bar, uint32_t site);

  // Other CTAs of the cluster: PeerChecks.cpp.
  void clusterArrived(Warp &warp, bool releases);
  void clusterCompleted();
  void clusterWaited(Warp &warp);
  /// A lane of another CTA reads this one's shared memory.
  void peerReads(Lane *lane, uint32_t offset, uint32_t bytes, uint32_t site);

  /// What is wrong when all threads have ended; empty if nothing is.
  std::string atEnd() const;

private:
  struct Thread {
    ClockRef known;
    uint32_t now = 1;
    // Engines of cp.async and of bulk stores: how far this thread knows them.
    uint32_t copyEngine = kNobody, copiesDone = 0, copiesIssued = 0;
    uint32_t storeEngine = kNobody, storesDone = 0, storesIssued = 0;
    std::vector<uint32_t> fences; ///< times of fence.proxy.async, ascending
  };
  struct Observer {
    uint64_t phases = 0; ///< observed phases: the last one's number + 1
    uint64_t count = 0;
    uint32_t time = 0, site = 0;
  };
  struct PhaseOrder {
    ClockRef running, done, lastJoined, knownBefore, knownAfter;
    uint32_t engine = kNobody, issued = 0, landed = 0, initSite = 0;
    std::vector<Observer> observers; ///< by thread
  };
  struct Round {
    ClockRef running, lastJoined;
    uint32_t warps = 0, waiting = 0;
    std::array<uint32_t, 32> sites{};
    /// Of warps that only arrived: the completed round, until they know it.
    std::array<ClockRef, 32> left;
    std::array<uint32_t, 32> leftSites{};
  };
  /// A read by another CTA, which is over when round `round` completes.
  struct PeerRead {
    uint32_t round = 0, rank = 0, tid = 0, site = 0;
  };
  struct Peers {
    ClockRef running, lastJoined;
    std::vector<ClockRef> rounds; ///< what this CTA had done by each
    uint32_t engine = kNobody;    ///< whose time is the number of rounds
    llvm::DenseMap<uint32_t, PeerRead> reads; ///< by Granule::key
    PeerRead last;
  };
  /// State of one word, or of one byte of a word that is split.
  struct Granule {
    Access *write;
    WarpRead *reads; ///< one a warp
    uint32_t key;    ///< in `late`
    uint32_t offset, bytes;
  };

  Thread &thread(const Lane *lane) { return threads[lane->tid]; }
  uint32_t newEngine() { return nextAgent++; }
  void joinLane(ClockRef &into, ClockRef &lastJoined, const Lane *lane);
  void arriveAt(ClockRef &running, ClockRef &lastJoined, const Warp &warp);
  PhaseOrder &order(const Mbarrier &bar);
  uint32_t tidOf(const Warp &warp, uint32_t lane) const {
    return warp.index * 32 + lane;
  }

  Actor actor(Lane *lane, uint32_t site);
  bool ordered(const Access &earlier, const Actor &actor) const;
  uint32_t unorderedLane(const Access &earlier, const Actor &actor) const;
  Granule wordAt(uint32_t word);
  Granule byteAt(uint32_t word, uint32_t byte);
  void split(uint32_t word);
  void unsplit(uint32_t word);
  template <typename F>
  void granules(uint32_t offset, uint32_t bytes, F f);
  bool readQuickly(uint32_t word, const Actor &actor);
  void readGranule(const Granule &at, const Actor &actor);
  void writeGranule(const Granule &at, const Actor &actor, const Access &next,
                    const void *value);
  void writeRange(const Actor &actor, uint32_t offset, uint32_t bytes,
                  const Access &next, const void *value);
  void setRead(const Granule &at, const Actor &actor);
  bool fenced(uint32_t tid, uint32_t written, const Actor &actor) const;
  void checkProxies(const Actor &actor, uint32_t offset, uint32_t bytes,
                    const char *verb);
  std::string proxyText(const Granule &at, uint32_t lane, const Actor &actor,
                        const char *verb) const;
  uint32_t roundsKnownTo(const Clock &known) const;
  bool isBefore(const Access &access, uint32_t rounds) const;
  /// A write of this CTA has to come after what others have read.
  void afterPeerReads(const Granule &at, const Actor &actor,
                      const Access &next);
  std::string peersAtEnd() const;
  std::string peerText(const PeerRead &read) const;
  std::string unwrittenText(const Granule &at, const PeerRead &read) const;
  std::string peerRaceText(const Granule &at, const PeerRead &read,
                           const Access &write) const;
  void matrixRow(const Actor &actor, bool stores, uint32_t offset);

  [[noreturn]] void failRace(const Granule &at, const Access &earlier,
                             bool earlierWrites, const Actor &actor,
                             const char *verb);
  std::string raceText(const Granule &at, const Access &earlier,
                       bool earlierWrites, const Actor &actor,
                       const char *verb) const;
  std::string initRaceText(const Access &init, const Actor &actor,
                           uint32_t offset, const char *what) const;
  std::string describe(const Access &access, uint32_t mask) const;

  Cta &cta;
  llvm::ArrayRef<Region> regions;
  size_t lastRegion = 0;
  uint32_t lanes = 0, nwarps = 0, nextAgent = 0;
  std::vector<Thread> threads;
  std::vector<PhaseOrder> phases; ///< as Cta::mbarriers
  std::array<Round, 16> rounds;
  Peers peers;
  std::unordered_map<const void *, ClockRef> atomics;

  std::vector<Access> writes;   ///< by word
  std::vector<WarpRead> reads;  ///< by word and warp
  std::vector<uint32_t> splits; ///< by word: 0, or 1 + index of its block
  std::vector<Access> splitWrites;
  std::vector<WarpRead> splitReads;
  std::vector<uint32_t> freeSplits;
  /// Reads that a later one of the same warp neither covers nor joins.
  llvm::DenseMap<uint32_t, llvm::SmallVector<Access, 2>> late;
};

template <typename F>
void Checker::granules(uint32_t offset, uint32_t bytes, F f) {
  uint32_t word = offset / 4, first = offset % 4;
  for (; bytes; ++word, first = 0) {
    uint32_t count = std::min(4 - first, bytes);
    bytes -= count;
    if (count == 4 && !splits[word]) {
      f(wordAt(word));
      continue;
    }
    split(word);
    for (uint32_t byte = first; byte < first + count; ++byte)
      f(byteAt(word, byte));
  }
}

} // namespace mlatile::sim
#endif
