// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fibers of a CTA and who runs next. A lane that has to wait switches straight
// to the next lane of its warp; there is no scheduler between them.
#include "Checker.h"
#include "StackShadow.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace mlatile::sim;
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint8_t kGuardByte = 0xfd;
/// Lanes that start at equal offsets would share cache sets.
constexpr uint64_t kStackColour = 192;
/// Polls of a CTA in which nothing else can happen, before it counts as stuck.
constexpr uint32_t kIdlePolls = 1000;
constexpr uint32_t kPollsBeforeLanding = 8;

uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

Lane *takeLane(Warp &warp) {
  bool descending = warp.cta->launch->seed & 1;
  unsigned i = descending ? 31 - llvm::countl_zero(warp.ready)
                          : llvm::countr_zero(warp.ready);
  warp.ready &= ~(1u << i);
  return &warp.lanes[i];
}

Lane *takeFromAnyWarp(Cta &cta) {
  uint32_t n = cta.warps.size();
  uint32_t first =
      cta.launch->seed ? cta.nextRandom() % n : (cta.lastWarp + 1) % n;
  for (uint32_t i = 0; i < n; ++i) {
    Warp &warp = cta.warps[(first + i) % n];
    if (warp.ready) {
      cta.lastWarp = warp.index;
      return takeLane(warp);
    }
  }
  return nullptr;
}

bool pollsMemory(const Cta &cta) {
  return llvm::any_of(cta.pollers, [](const Lane *lane) {
    return lane->waitMbarrier == kNoMbarrier;
  });
}

/// Polls of mbarriers end when nothing else has happened for a while. Memory
/// may still be written by another CTA.
bool wakePollers(Cta &cta) {
  if (cta.pollers.empty())
    return false;
  if (cta.steps != cta.pollSteps)
    cta.idlePolls = 0;
  cta.pollSteps = cta.steps;
  if (cta.idlePolls > kIdlePolls && !pollsMemory(cta))
    return false;
  ++cta.idlePolls;
  for (Lane *lane : cta.pollers)
    wake(lane);
  cta.pollers.clear();
  return true;
}

/// Lets other CTAs run on this host thread; returns when this one is resumed.
void giveWay(Cta &cta) {
  transfer_t from = jump_fcontext(cta.mainContext, &cta);
  cta.mainContext = from.fctx;
}

/// The next lane to run when `lane` cannot; ends the CTA if there is none.
Lane *next(Lane *lane) {
  Warp &warp = *lane->warp;
  if (warp.ready)
    return takeLane(warp);
  Cta &cta = *warp.cta;
  for (;;) {
    if (Lane *found = takeFromAnyWarp(cta))
      return found;
    if (landForWaiters(cta, lane))
      continue;
    // Nobody waits for what is in flight, but a poll may.
    if (cta.idlePolls < kPollsBeforeLanding && wakePollers(cta))
      continue;
    if (!cta.pollers.empty() && landAnything(cta, lane))
      continue;
    bool waits = waitsForCluster(cta);
    if (waits || pollsMemory(cta))
      giveWay(cta);
    if (!wakePollers(cta) && !waits)
      failAt(lane, ~0u, describeDeadlock(cta));
  }
}

// Generated code has no type in front of it for -fsanitize=function to read.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void fiberMain(transfer_t from) {
  auto *lane = static_cast<Lane *>(from.data);
  *lane->saveTo = from.fctx;
  const LaunchContext &launch = *ctaOf(lane).launch;
  launch.entry(lane, launch.args);
  exitLane(lane);
}

} // namespace

void mlatile::sim::wake(Lane *lane) { lane->warp->ready |= laneBit(lane); }

void mlatile::sim::suspend(Lane *lane, Wait wait, uint32_t site) {
  lane->wait = wait;
  lane->waitSite = site;
  Lane *to = next(lane);
  if (to != lane) {
    to->saveTo = &lane->context;
    transfer_t from = jump_fcontext(to->context, to);
    *static_cast<Lane *>(from.data)->saveTo = from.fctx;
  }
  lane->wait = Wait::None;
}

void mlatile::sim::poll(Lane *lane, uint32_t mbarrier, uint32_t site) {
  lane->waitMbarrier = mbarrier;
  ctaOf(lane).pollers.push_back(lane);
  suspend(lane, Wait::Poll, site);
}

void mlatile::sim::yieldWarp(Lane *lane) {
  Cta &cta = ctaOf(lane);
  wake(lane);
  Lane *to = takeFromAnyWarp(cta);
  if (to == lane)
    return;
  to->saveTo = &lane->context;
  transfer_t from = jump_fcontext(to->context, to);
  *static_cast<Lane *>(from.data)->saveTo = from.fctx;
}

void mlatile::sim::exitLane(Lane *lane) {
  Warp &warp = *lane->warp;
  Cta &cta = *warp.cta;
  for (const BulkCopy &store : lane->bulkStores)
    std::memcpy(store.dst, store.src, store.size);
  cta.inFlight -= lane->bulkStores.size();
  lane->bulkStores.clear();
  lane->wait = Wait::Exited;
  warp.live &= ~laneBit(lane);
  ++cta.steps;
  lanesExited(warp, lane);
  if (!warp.live) {
    --cta.liveWarps;
    barriersAfterExit(cta);
    clusterAfterExit(warp);
  }
  if (!cta.liveWarps) {
    jump_fcontext(cta.mainContext, nullptr);
    llvm_unreachable("a finished CTA was resumed");
  }
  Lane *to = next(lane);
  to->saveTo = &lane->context;
  jump_fcontext(to->context, to);
  llvm_unreachable("an exited lane was resumed");
}

void mlatile::sim::failAt(Lane *lane, uint32_t site, std::string &&message) {
  Cta &cta = ctaOf(lane);
  cta.error = std::move(message);
  if (site != ~0u) {
    cta.error +=
        llvm::formatv(" (thread {0}, at {1})", lane->tid, cta.siteName(site))
            .str();
  }
  jump_fcontext(cta.mainContext, nullptr);
  llvm_unreachable("a failed CTA was resumed");
}

/// Bytes behind shared memory that must stay as they are.
uint64_t Cta::guardSize() const {
  const uint8_t *end = sharedMap + sharedMapBytes - kPage;
  return std::min<uint64_t>(end - (shared + sharedBytes), kPage);
}

Cta::~Cta() {
  if (stacks)
    munmap(stacks, stacksBytes);
  if (sharedMap)
    munmap(sharedMap, sharedMapBytes);
}

llvm::Error Cta::reserve(const LaunchContext &context, bool withGuards) {
  uint32_t nwarps = (context.dims.blockX + 31) / 32, nlanes = nwarps * 32;
  auto refused = [](const char *what, uint64_t bytes) {
    return llvm::createStringError(
        llvm::formatv("cannot map {0} bytes of {1}", bytes, what).str());
  };

  // One mapping; a page between two stacks stays out of reach.
  if (stackLanes < nlanes || stackBytes < context.stackBytes) {
    if (stacks)
      munmap(stacks, stacksBytes);
    stacks = nullptr;
    uint64_t each = context.stackBytes + kPage;
    uint64_t bytes = each * nlanes;
    void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
      return refused("fiber stacks", bytes);
    stacks = static_cast<uint8_t *>(map);
    stacksBytes = bytes;
    stackLanes = nlanes;
    stackBytes = context.stackBytes;
    guarded = false;
  }
  if (withGuards && !guarded) {
    for (uint32_t i = 0; i < stackLanes; ++i)
      if (mprotect(stacks + i * (stackBytes + kPage), kPage, PROT_NONE))
        return refused("stack guards", kPage);
    guarded = true;
  }

  // Below 4 GiB, so that a shared address survives a trip through 32 bits.
  uint64_t wanted = context.staticSharedBytes + context.dims.dynamicSharedBytes;
  uint64_t bytes = roundUp(wanted + kPage, kPage) + 2 * kPage;
  if (sharedMapBytes < bytes) {
    if (sharedMap)
      munmap(sharedMap, sharedMapBytes);
    sharedMap = nullptr;
    void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (map == MAP_FAILED)
      return refused("shared memory below 4 GiB", bytes);
    sharedMap = static_cast<uint8_t *>(map);
    sharedMapBytes = bytes;
    mprotect(sharedMap, kPage, PROT_NONE);
    mprotect(sharedMap + bytes - kPage, kPage, PROT_NONE);
  }
  shared = sharedMap + kPage;
  sharedBytes = wanted;

  // An odd number of cache lines between warps.
  warpRowWords = std::max(context.rows, 1u) * 32ull + 16;
  rowStorage.assign(nwarps * warpRowWords + 16, 0);
  warps.resize(nwarps);
  lanes.resize(nlanes);
  return llvm::Error::success();
}

Cta::State Cta::run(const LaunchContext &context, uint64_t number) {
  launch = &context;
  index = number;
  waiting = nullptr;
  const LaunchDims &dims = context.dims;
  error.clear();
  std::memset(shared, 0xff, sharedBytes);
  std::memset(shared + sharedBytes, kGuardByte, guardSize());
  barriers = {};
  mbarriers.clear();
  pollers.clear();
  inFlight = steps = pollSteps = 0;
  idlePolls = 0;
  random = (context.seed + 1) * 0x9e3779b97f4a7c15ull ^
           (index + 1) * 0xd1b54a32d192ed03ull;
  random |= 1;

  uint64_t each = stackBytes + kPage;
  auto *rows = reinterpret_cast<uint32_t *>(
      roundUp(reinterpret_cast<uintptr_t>(rowStorage.data()), 64));
  for (Warp &warp : warps) {
    uint32_t w = &warp - warps.data();
    warp = Warp();
    warp.cta = this;
    warp.index = w;
    warp.lanes = &lanes[w * 32];
    warp.rows = rows + w * warpRowWords;
    uint32_t count = std::min(32u, dims.blockX - w * 32);
    warp.live = warp.ready = count == 32 ? kFullMask : (1u << count) - 1;
    for (uint32_t i = 0; i < count; ++i) {
      Lane &lane = warp.lanes[i];
      lane.tid = w * 32 + i;
      lane.laneId = i;
      lane.warpId = w;
      lane.ntid = dims.blockX;
      lane.ctaid[0] = index % dims.gridX;
      lane.ctaid[1] = index / dims.gridX % dims.gridY;
      lane.ctaid[2] = index / dims.gridX / dims.gridY;
      lane.nctaid[0] = dims.gridX;
      lane.nctaid[1] = dims.gridY;
      lane.nctaid[2] = dims.gridZ;
      lane.nwarps = warps.size();
      lane.clusterRank = rank;
      lane.clusterSize = context.clusterSize;
      lane.clusterId = lane.ctaid[0] / context.clusterSize;
      lane.clusters = dims.gridX / context.clusterSize;
      lane.dynamicSharedBytes = dims.dynamicSharedBytes;
      lane.shared = shared;
      lane.column = warp.rows + i;
      lane.warp = &warp;
      lane.wait = Wait::None;
      lane.launchesAwaited = false;
      lane.copies.clear();
      lane.groups.clear();
      lane.landed = lane.firstGroup = 0;
      lane.bulkStores.clear();
      lane.bulkGroups.clear();
      uint8_t *top = stacks + (lane.tid + 1) * each - i * kStackColour;
      forgetFrames(top - (stackBytes - i * kStackColour), top);
      lane.context =
          make_fcontext(top, stackBytes - i * kStackColour, fiberMain);
    }
  }
  liveWarps = warps.size();
  life = Life::Runs;
  lastWarp = warps.size() - 1;
  checker = context.checked ? std::make_shared<Checker>(*this, context.regions)
                            : nullptr;

  Lane *first = takeFromAnyWarp(*this);
  first->saveTo = &mainContext;
  return ranTo(jump_fcontext(first->context, first));
}

Cta::State Cta::resume() {
  return ranTo(jump_fcontext(std::exchange(waiting, nullptr), nullptr));
}

/// After a switch back to the host thread.
Cta::State Cta::ranTo(transfer_t from) {
  if (from.data) { // giveWay
    waiting = from.fctx;
    return State::Waits;
  }
  if (error.empty()) {
    stats.copiesInFlightAtExit += inFlight;
    const uint8_t *guard = shared + sharedBytes;
    uint64_t guardBytes = guardSize();
    for (uint64_t i = 0; i < guardBytes; ++i)
      if (guard[i] != kGuardByte) {
        error = llvm::formatv("store past the end of shared memory: byte {0}, "
                              "the CTA has {1}",
                              sharedBytes + i, sharedBytes)
                    .str();
        break;
      }
  }
  if (error.empty() && checker)
    error = checker->atEnd();
  checker = nullptr;
  life = Life::Ended;
  // A CTA takes its shared memory with it.
  if (launch->clusterSize > 1)
    std::memset(shared, 0xff, sharedBytes);
  return error.empty() ? State::Ended : State::Failed;
}
