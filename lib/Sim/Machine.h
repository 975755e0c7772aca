// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of one running CTA: lanes, warps, barriers, copies in flight. One host
// thread runs a CTA, so nothing here is locked.
#ifndef MLATILE_LIB_SIM_MACHINE_H
#define MLATILE_LIB_SIM_MACHINE_H

#include "Operation.h"
#include "mlatile/Sim/Executor.h"
#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlatile::sim {

struct Cluster;
struct Cta;
struct Warp;
class Checker;

inline constexpr uint32_t kFullMask = 0xffffffffu;
inline constexpr uint32_t kNoMbarrier = ~0u;

/// A cp.async that has been issued and not landed.
struct ThreadCopy {
  uint8_t *dst;
  const uint8_t *src;
  uint32_t size, srcSize;
};

/// A cp.async.bulk that has been issued and not landed.
struct BulkCopy {
  uint8_t *dst;
  const uint8_t *src;
  uint32_t size, site;
};

/// Why a lane does not run.
enum class Wait : uint8_t {
  None,       ///< runs, or is ready to
  Collective, ///< rendezvous of its warp
  Barrier,    ///< CTA barrier
  Cluster,    ///< barrier of the cluster
  Mbarrier,   ///< phase of an mbarrier
  Poll,       ///< asks again later: others go first
  Exited
};

struct Lane {
  // Read by generated code at these offsets.
  uint32_t tid = 0, laneId = 0, warpId = 0, ntid = 1;
  uint32_t ctaid[3] = {}, nctaid[3] = {};
  uint32_t nwarps = 1, dynamicSharedBytes = 0;
  uint32_t clusterRank = 0, clusterSize = 1, clusterId = 0, clusters = 1;
  uint8_t *shared = nullptr;
  /// Column of this lane in the exchange rows of its warp.
  uint32_t *column = nullptr;

  Warp *warp = nullptr;
  boost::context::detail::fcontext_t context = nullptr;
  /// Where whoever switches to this lane wants its own context kept.
  boost::context::detail::fcontext_t *saveTo = nullptr;

  Wait wait = Wait::None;
  uint32_t waitSite = 0;
  uint32_t waitMbarrier = 0; ///< index into Cta::mbarriers, or kNoMbarrier
  bool waitByToken = false;
  bool launchesAwaited = false; ///< has executed griddepcontrol.wait
  uint64_t waitPhase = 0;       ///< parity, or the phase number of a token

  // cp.async of this lane: copies in order, groups as ends of ranges.
  std::vector<ThreadCopy> copies;
  std::vector<uint32_t> groups;
  uint32_t landed = 0, firstGroup = 0;
  // cp.async.bulk shared -> global, by bulk groups.
  std::vector<BulkCopy> bulkStores;
  std::vector<uint32_t> bulkGroups;
};

/// A rendezvous of some lanes of a warp that has not completed.
struct Rendezvous {
  const Group *group = nullptr;
  uint32_t mask = 0, arrived = 0;
};

struct Warp {
  Cta *cta = nullptr;
  Lane *lanes = nullptr; ///< 32 of them, the tail of a partial warp unused
  uint32_t *rows = nullptr;
  uint32_t index = 0;
  uint32_t live = 0;           ///< lanes that exist and have not exited
  uint32_t ready = 0;          ///< lanes that may run and do not
  bool clusterArrived = false; ///< and not waited since
  bool clusterWaits = false;
  uint64_t clusterRound = 0;    ///< of the last arrival
  uint32_t clusterArrivals = 0; ///< counted in checked mode
  Rendezvous full;              ///< of all live lanes
  std::vector<Rendezvous> partial;
};

struct CtaBarrier {
  uint32_t expected = 0; ///< threads; 0: all warps that have not exited
  uint32_t arrived = 0;  ///< threads
  uint32_t warps = 0;    ///< warps that arrived
  uint32_t waiting = 0;  ///< warps that wait
  bool reduces = false;
  bool all = true, any = false;
  uint32_t count = 0;               ///< of true predicates
  std::array<const Op *, 32> ops{}; ///< what each waiting warp executes
};

/// An arrive-on that fires once earlier cp.async of a lane have landed.
struct DeferredArrival {
  Lane *lane;
  uint32_t copies; ///< the lane's copies before this index
  uint32_t site;
};

struct Mbarrier {
  uint32_t offset = 0; ///< in shared memory, bytes
  bool live = false;
  uint32_t expected = 0, pending = 0;
  int64_t tx = 0;
  uint64_t phase = 0;
  bool observed = true; ///< the phase before the running one
  std::vector<Lane *> waiters;
  std::vector<BulkCopy> bulk;
  std::vector<DeferredArrival> deferred;
};

/// What the launch fixes for all its CTAs.
struct LaunchContext {
  void (*entry)(Lane *, const void *const *) = nullptr;
  const void *const *args = nullptr;
  llvm::ArrayRef<std::string> sites;
  uint64_t seed = 0;
  LaunchDims dims;
  uint64_t staticSharedBytes = 0;
  uint32_t clusterSize = 1; ///< CTAs, neighbours along x
  uint32_t rows = 0;
  uint64_t stackBytes = 0;
  bool checked = false;
  llvm::ArrayRef<Region> regions; ///< of global memory, in checked mode
};

/// One CTA on one host thread; reused for the next CTA.
struct Cta {
  Cta() = default;
  ~Cta();
  Cta(const Cta &) = delete;
  Cta &operator=(const Cta &) = delete;

  /// How a CTA gave its host thread back.
  enum class State { Ended, Failed, Waits };

  /// Memory for a launch; an error if the system refuses it. Guard pages
  /// between stacks are dear where many CTAs run at once.
  llvm::Error reserve(const LaunchContext &launch, bool withGuards);
  /// Runs CTA number `index` of the grid until it has ended or failed (`error`
  /// says how), or can only wait for what another CTA may do: write memory that
  /// it polls, arrive at the barrier of the cluster.
  State run(const LaunchContext &launch, uint64_t index);
  /// Goes on with a CTA that waits.
  State resume();

  const LaunchContext *launch = nullptr;
  uint64_t index = 0; ///< in the grid
  Cluster *cluster = nullptr;
  uint32_t rank = 0; ///< in the cluster
  enum class Life : uint8_t { Unborn, Runs, Ended } life = Life::Unborn;
  std::string error;
  Stats stats;

  uint8_t *shared = nullptr;
  uint64_t sharedBytes = 0;
  std::vector<Warp> warps;
  std::vector<Lane> lanes;
  std::array<CtaBarrier, 16> barriers;
  std::vector<Mbarrier> mbarriers;

  std::shared_ptr<Checker> checker; ///< null unless in checked mode

  uint32_t liveWarps = 0;
  uint64_t inFlight = 0; ///< copies issued, not landed
  uint64_t steps = 0;    ///< changes of state that may let a poll succeed
  uint64_t pollSteps = 0;
  uint32_t idlePolls = 0;
  uint64_t random = 0;
  uint32_t lastWarp = 0;
  std::vector<Lane *> pollers;

  boost::context::detail::fcontext_t mainContext = nullptr;
  /// Of the fiber that gave way; null unless the CTA waits.
  boost::context::detail::fcontext_t waiting = nullptr;
  uint8_t *stacks = nullptr;
  uint64_t stacksBytes = 0, stackBytes = 0;
  bool guarded = false;
  uint32_t stackLanes = 0;
  uint8_t *sharedMap = nullptr;
  uint64_t sharedMapBytes = 0;
  std::vector<uint32_t> rowStorage;
  uint64_t warpRowWords = 0;

  State ranTo(boost::context::detail::transfer_t from);
  uint64_t guardSize() const;

  uint64_t nextRandom() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }
  bool owns(const void *p, uint64_t bytes) const {
    auto *b = static_cast<const uint8_t *>(p);
    return b >= shared && bytes <= sharedBytes &&
           b - shared <= static_cast<int64_t>(sharedBytes - bytes);
  }
  const std::string &siteName(uint32_t site) const {
    return launch->sites[site];
  }
};

inline Cta &ctaOf(Lane *lane) { return *lane->warp->cta; }
inline uint32_t laneBit(const Lane *lane) { return 1u << lane->laneId; }

// Schedule.cpp
/// Gives the processor away; returns when the lane has been made ready again.
void suspend(Lane *lane, Wait wait, uint32_t site);
void wake(Lane *lane);
/// Lets everybody else run first. `mbarrier` indexes Cta::mbarriers.
void poll(Lane *lane, uint32_t mbarrier, uint32_t site);
/// Lets another warp run, for seeds that interleave.
void yieldWarp(Lane *lane);
[[noreturn]] void exitLane(Lane *lane);
/// Ends the CTA with an error; `message` is moved from, as no destructor runs.
[[noreturn]] void failAt(Lane *lane, uint32_t site, std::string &&message);

// Rendezvous.cpp
/// Completes what only waited for lanes that have exited.
void lanesExited(Warp &warp, Lane *by);
std::string divergence(const Cta &cta, const Group *first, const Group *second);

// WarpOperations.cpp
void execute(Warp &warp, const Group &group, uint32_t active, Lane *by);

// Barrier.cpp
/// True: the warp goes on. False: its lanes wait.
bool arriveAtBarrier(Warp &warp, const Op &op, uint32_t active, Lane *by);
void barriersAfterExit(Cta &cta);

// Cluster.cpp
/// `releases`: what the warp did before is known to who waits.
void arriveAtCluster(Warp &warp, bool releases, Lane *by, uint32_t site);
/// True: the warp goes on. False: its lanes wait.
bool waitAtCluster(Warp &warp, Lane *by, uint32_t site);
/// After the last lane of a warp has exited.
void clusterAfterExit(Warp &warp);
bool waitsForCluster(const Cta &cta);

// Mbarrier.cpp, AsyncCopy.cpp
bool landForWaiters(Cta &cta, Lane *by);
bool landAnything(Cta &cta, Lane *by);
void landThreadCopies(Lane *lane, uint32_t end);
void arriveOn(Lane *lane, Mbarrier &bar, uint32_t count, uint32_t site);
void completeTx(Lane *lane, Mbarrier &bar, uint32_t bytes, uint32_t site);
Mbarrier &findMbarrier(Lane *lane, const void *address, uint32_t site,
                       const char *what);
std::string describeDeadlock(const Cta &cta);

} // namespace mlatile::sim
#endif
