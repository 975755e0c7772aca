// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/CostModel.h"

#include "Text.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlatile/Target/Target.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlatile {
namespace {

// docs/CostModel.md says where each of these comes from.
constexpr double kSharedBytesPerClock = 128;
constexpr double kConversionsPerClock = 2;
constexpr double kInstructionsPerClock = 2.35; ///< of PTX, on one SM
/// Where warps never wait for each other.
constexpr double kFreeInstructionsPerClock = 2.8;
constexpr double kClocksPerInstruction = 1.85; ///< of a warp alone
constexpr double kSchedulers = 4;
/// Of its instructions' time that a second warp of a scheduler adds.
constexpr double kSecondWarp = 0.1;
/// How sharply CTAs of an SM go over from waiting to taking turns.
constexpr double kBlend = 3;
constexpr double kClocksPerBarrier = 175; ///< and for the last warp there
constexpr double kNeighbour = 0.02;       ///< slower where all SMs work
/// Of the clocks that other roles use shared memory and tensor cores, those
/// that a role waits for them.
constexpr double kOtherRoles = 0.25;
/// Of PTX, on one SM, where roles do it: more than any measured kernel does.
constexpr double kRoleInstructionsPerClock = 2.5;
/// Of the PTX outside of loops, where roles do theirs at the same time.
constexpr double kRoleOnce = 0.7;
constexpr double kMemoryLatency = 600e-9;
/// Of an access outside of the loops what the code there does not cover.
constexpr double kChainLatency = 180e-9;
constexpr double kLaunch = 1.6e-6;
constexpr double kMergeRound = 0.8e-6;
/// Of a CTA's start that a persistent one has not for each item.
constexpr double kPersistentGain = 1.1e-6;
constexpr double kJoin = 3.5e-6; ///< partials stored, counted, all there
constexpr double kClusterRound = 0.75e-6; ///< out of shared memory
/// Larger clusters do not spread evenly: over more than half of the SMs, some
/// have one CTA more; of more CTAs than SMs, some wait for places of a cluster.
constexpr int64_t kClusterApart = 2;
constexpr double kHidden = 0.75e-6;
constexpr int64_t kReservedShared = 1024; ///< of a CTA

/// Some work on one SM, seconds.
struct SMTime {
  double alone = 0; ///< of a CTA that has the SM for itself
  double busy = 0;  ///< of the busiest unit
  Limiter unit = Limiter::Issue;
  double fill = 0; ///< of the roles that the slowest one waits for at first

  /// Alone for one CTA, busy for many; in between some of both.
  double with(double resident, double slower) const {
    auto power = [](double x) { return std::pow(x, kBlend); };
    return std::pow(
        std::max(power(alone * slower) + power(resident * busy) - power(busy),
                 power(resident * busy)),
        1 / kBlend);
  }
};

/// Clocks of the tensor cores. Nothing where the card lacks an mma.
std::optional<double> mmaClocks(const TileCounts &counts, const Card &card) {
  double clocks = 0;
  for (size_t rate = 0; rate < kNumMmaRates; ++rate) {
    if (counts.mmaFlops[rate] == 0)
      continue;
    if (card.mmaFlops[rate] == 0)
      return std::nullopt;
    clocks += counts.mmaFlops[rate] / card.mmaFlops[rate];
  }
  return clocks;
}

/// Equal warps do one thing after another, all at the same time; a second warp
/// of a scheduler works while the first waits for shared memory, and in part
/// while it waits for itself.
double serialClocks(const TileCounts &counts, double warps, double mma) {
  double shared = counts.sharedBytes / kSharedBytesPerClock;
  return mma + shared / std::max(1.0, warps / kSchedulers) +
         (counts.instructions - counts.mma) / warps * kClocksPerInstruction *
             (1 + kSecondWarp * std::max(0.0, warps / kSchedulers - 1)) +
         counts.barriers * kClocksPerBarrier;
}

/// One iteration. Nothing where the card lacks an mma.
std::optional<SMTime> tileTime(const LoopWork &loop, double warps,
                               const Card &card) {
  std::optional<double> mma = mmaClocks(loop, card);
  if (!mma)
    return std::nullopt;
  bool equal = loop.roles.empty();
  double shared = loop.sharedBytes / kSharedBytesPerClock;
  SMTime time;
  std::pair<double, Limiter> units[] = {
      {*mma, Limiter::Mma},
      {shared, Limiter::Shared},
      {loop.conversions / kConversionsPerClock, Limiter::Conversion},
      {loop.instructions / (!equal              ? kRoleInstructionsPerClock
                            : loop.barriers > 0 ? kInstructionsPerClock
                                                : kFreeInstructionsPerClock),
       Limiter::Issue}};
  for (auto [clocks, unit] : units)
    if (clocks > time.busy) {
      time.busy = clocks;
      time.unit = unit;
    }
  double serial = 0, sum = 0;
  if (equal)
    serial = sum = serialClocks(loop, warps, *mma);
  for (const RoleWork &role : loop.roles) {
    double own = mmaClocks(role, card).value_or(0);
    double others =
        *mma - own + shared - role.sharedBytes / kSharedBytesPerClock;
    double clocks = serialClocks(role, std::max(role.warps, 1.0), own) +
                    kOtherRoles * others;
    serial = std::max(serial, clocks);
    sum += clocks;
  }
  time.fill = (sum - serial) / card.clockHz;
  time.alone = std::max(serial, time.busy) / card.clockHz;
  time.busy /= card.clockHz;
  if (loop.ahead > 0)
    time.alone = std::max(time.alone, kMemoryLatency / loop.ahead);
  else
    time.alone += kMemoryLatency;
  return time;
}

/// A CTA, for any number of CTAs on its SM.
struct CtaTime {
  double waits = 0;                             ///< whatever else there is
  SMTime once;                                  ///< code outside of the loops
  std::vector<std::pair<double, SMTime>> loops; ///< iterations
  double slower = 1;                            ///< for its neighbours

  double with(int64_t resident) const {
    auto count = static_cast<double>(resident);
    double time = waits + once.with(count, 1);
    for (const auto &[iterations, tile] : loops)
      time += iterations * tile.with(count, slower);
    return time;
  }
  /// The unit that is busy for most of the time, or latency.
  Limiter limiter(int64_t resident) const {
    auto count = static_cast<double>(resident);
    double busy = count * once.busy, most = 0;
    Limiter unit = Limiter::Latency;
    for (const auto &[iterations, tile] : loops) {
      double loop = iterations * count * tile.busy;
      busy += loop;
      if (loop > most) {
        most = loop;
        unit = tile.unit;
      }
    }
    return 2 * busy > with(resident) ? unit : Limiter::Latency;
  }
};

std::optional<CtaTime> ctaTime(const LaunchWork &work, const Card &card) {
  CtaTime cta;
  double warps = std::max(work.threads / 32.0, 1.0);
  double once = work.instructions, filling = 0;
  double together = 0; // warps of a role
  for (const LoopWork &loop : work.loops) {
    std::optional<SMTime> tile = tileTime(loop, warps, card);
    if (!tile)
      return std::nullopt;
    if (loop.roles.empty())
      once -= loop.instructions / warps;
    for (const RoleWork &role : loop.roles) { // each has code of its own
      once -= role.instructions / std::max(role.warps, 1.0);
      together = std::max(together, role.warps);
    }
    // One list follows the other without a stop.
    filling = std::max(filling, tile->fill);
    cta.loops.emplace_back(static_cast<double>(loop.iterations), *tile);
  }
  once = (together > 0 ? kRoleOnce : 1) * std::max(once, 0.0) / card.clockHz;
  cta.once.alone = once * kClocksPerInstruction;
  cta.once.busy =
      once * (together > 0 ? together : warps) / kInstructionsPerClock;
  cta.waits =
      work.chain * kChainLatency + (work.joins ? kJoin : 0) -
      (work.persistent ? kPersistentGain : 0) +
      static_cast<double>(work.mergeRounds) *
          (work.cluster > 1 ? kClusterRound : kMergeRound) +
      static_cast<double>(work.barriers) * kClocksPerBarrier / card.clockHz +
      filling;
  // From half of the SMs on, the others are their neighbours.
  double fill =
      static_cast<double>(std::min<int64_t>(work.grid, card.sms)) / card.sms;
  cta.slower = 1 + kNeighbour * std::max(0.0, 2 * fill - 1);
  return cta;
}

/// Bytes of gathered rows that come from memory: once for all who share them,
/// but for the part of the lists in flight that L2 cannot keep.
double gatheredFromMemory(const LaunchWork &work, const Card &card,
                          int64_t resident) {
  double sharers = static_cast<double>(std::max<int64_t>(work.sharers, 1));
  double once = work.gatherBytes / sharers;
  double slots = static_cast<double>(resident * card.sms);
  double inFlight =
      once * std::min(1.0, slots / static_cast<double>(work.grid));
  double kept =
      inFlight > 0 ? std::min(1.0, static_cast<double>(card.l2Bytes) / inFlight)
                   : 1.0;
  return once * (1 + (sharers - 1) * (1 - kept));
}
} // namespace

void TileCounts::add(const TileCounts &other) {
  for (size_t rate = 0; rate < kNumMmaRates; ++rate)
    mmaFlops[rate] += other.mmaFlops[rate];
  mma += other.mma;
  conversions += other.conversions;
  sharedBytes += other.sharedBytes;
  instructions += other.instructions;
}

std::string_view name(Limiter limiter) {
  switch (limiter) {
  case Limiter::Launch:
    return "launch";
  case Limiter::Memory:
    return "memory";
  case Limiter::L2:
    return "l2";
  case Limiter::Mma:
    return "mma";
  case Limiter::Shared:
    return "shared";
  case Limiter::Conversion:
    return "conversion";
  case Limiter::Issue:
    return "issue";
  case Limiter::Latency:
    return "latency";
  }
  return "";
}

int64_t residentCtas(const LaunchWork &work, const Card &card) {
  const Target *target = findTarget(card.target);
  int64_t warps = ceilDiv(work.threads, 32);
  if (!target || warps == 0 || work.threads > target->maxThreadsPerBlock ||
      work.sharedBytes > target->sharedBytesPerBlock)
    return 0;
  int64_t resident = std::min<int64_t>(target->maxBlocksPerSM,
                                       target->maxThreadsPerSM / (32 * warps));
  resident = std::min(resident, target->sharedBytesPerSM /
                                    (work.sharedBytes + kReservedShared));
  if (work.cluster > 1)
    resident = std::min(resident, kClusterCtas);
  if (work.registers > 0)
    resident = std::min(resident, ctasByRegisters(target->registersPerSM,
                                                  work.registers, warps));
  return resident;
}

std::optional<Prediction> predict(const LaunchWork &work, const Card &card) {
  if (work.grid <= 0)
    return std::nullopt;
  int64_t resident = residentCtas(work, card);
  std::optional<CtaTime> cta = ctaTime(work, card);
  if (resident == 0 || !cta)
    return std::nullopt;

  int64_t slots = resident * card.sms;
  int64_t waves = work.grid / slots;
  int64_t last = ceilDiv(work.grid % slots, card.sms);
  bool crowded = work.cluster > kClusterApart && 2 * work.grid > card.sms;
  if (crowded && work.grid <= card.sms)
    last = std::min<int64_t>(2, resident);
  double makespan = static_cast<double>(waves) * cta->with(resident);
  if (last > 0)
    makespan += cta->with(last);
  if (crowded && work.grid > card.sms)
    makespan += cta->with(1);

  double memory =
      (work.memoryBytes + gatheredFromMemory(work, card, resident)) /
      card.memoryBytesPerSecond;
  double l2 = (work.l2Bytes + work.gatherBytes) / card.l2BytesPerSecond;
  double longest = std::max({makespan, memory, l2});

  Prediction result;
  result.microseconds = (kLaunch + longest) * 1e6;
  if (kLaunch > longest)
    result.limiter = Limiter::Launch;
  else if (memory >= longest)
    result.limiter = Limiter::Memory;
  else if (l2 >= longest)
    result.limiter = Limiter::L2;
  else
    result.limiter = cta->limiter(waves > 0 ? resident : last);
  return result;
}

double hiddenMicroseconds(const LaunchWork &before, const LaunchWork &work,
                          const Card &card) {
  // Its CTAs come when all of the launch before run; with several waves that is
  // while others of them still wait for places.
  bool atOnce = before.grid <= residentCtas(before, card) * card.sms;
  return work.dependent && atOnce ? kHidden * 1e6 : 0;
}

} // namespace mlatile
