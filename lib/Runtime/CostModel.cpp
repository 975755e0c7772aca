// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/CostModel.h"

#include "Text.h"
#include "mlatile/Target/Target.h"

#include <algorithm>
#include <cmath>

namespace mlatile {
namespace {

// docs/CostModel.md says where each of these comes from.
constexpr double kIssuePerClock = 4;
constexpr double kSharedBytesPerClock = 128;
constexpr double kConversionsPerClock = 2;
constexpr double kClocksPerInstruction = 3.6; ///< of a warp alone
constexpr double kClocksPerBarrier = 30;
constexpr double kMemoryLatency = 700e-9;
constexpr double kL2Latency = 250e-9;
constexpr double kLaunch = 1.5e-6;
constexpr double kCodePerInstruction = 16 * 70e-9 / 1024;
constexpr int64_t kReservedShared = 1024; ///< of a CTA

/// One iteration on one SM, seconds.
struct TileTime {
  double alone = 0; ///< a CTA that has the SM for itself
  double busy = 0;  ///< the busiest unit
  Limiter unit = Limiter::Issue;

  double with(int64_t resident) const {
    return alone + static_cast<double>(resident - 1) * busy;
  }
};

/// Nothing where the card lacks an mma.
std::optional<TileTime> tileTime(const LoopWork &loop, double warps,
                                 const Card &card) {
  double mma = 0;
  for (size_t rate = 0; rate < kNumMmaRates; ++rate) {
    if (loop.mmaFlops[rate] == 0)
      continue;
    if (card.mmaFlops[rate] == 0)
      return std::nullopt;
    mma += loop.mmaFlops[rate] / card.mmaFlops[rate];
  }
  TileTime time;
  std::pair<double, Limiter> units[] = {
      {mma, Limiter::Mma},
      {loop.sharedBytes / kSharedBytesPerClock, Limiter::Shared},
      {loop.conversions / kConversionsPerClock, Limiter::Conversion},
      {loop.instructions / kIssuePerClock, Limiter::Issue}};
  for (auto [clocks, unit] : units)
    if (clocks > time.busy) {
      time.busy = clocks;
      time.unit = unit;
    }
  double serial =
      mma + (loop.instructions - loop.mma) / warps * kClocksPerInstruction +
      loop.barriers * kClocksPerBarrier;
  serial = std::max(serial, time.busy);
  time.alone = (serial + loop.overlap * (time.busy - serial)) / card.clockHz;
  time.busy /= card.clockHz;
  double latency = loop.readsMemory ? kMemoryLatency : kL2Latency;
  if (loop.ahead > 0)
    time.alone = std::max(time.alone, latency / loop.ahead);
  else
    time.alone += latency;
  return time;
}

/// The loops of a CTA, for any number of CTAs on its SM.
struct CtaTime {
  double alone = 0, busy = 0;
  Limiter unit = Limiter::Latency;

  double with(int64_t resident) const {
    return alone + static_cast<double>(resident - 1) * busy;
  }
};

std::optional<CtaTime> ctaTime(const LaunchWork &work, const Card &card) {
  CtaTime cta;
  double longest = 0;
  for (const LoopWork &loop : work.loops) {
    std::optional<TileTime> tile =
        tileTime(loop, std::max(work.threads / 32.0, 1.0), card);
    if (!tile)
      return std::nullopt;
    double count = static_cast<double>(loop.iterations);
    cta.alone += count * tile->alone;
    cta.busy += count * tile->busy;
    if (count * tile->busy > longest) {
      longest = count * tile->busy;
      cta.unit = tile->unit;
    }
  }
  cta.alone += work.chain * kMemoryLatency;
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
  if (work.registers > 0) {
    // Granted by 256 a warp, in each quarter of the SM by itself.
    int64_t ofWarp = roundUp(int64_t{32} * work.registers, 256);
    int64_t inQuarter = target->registersPerSM / 4 / ofWarp;
    resident = std::min(resident, 4 * inQuarter / warps);
  }
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
  double makespan = static_cast<double>(waves) * cta->with(resident);
  if (last > 0)
    makespan += cta->with(last);

  double memory =
      (work.memoryBytes + gatheredFromMemory(work, card, resident)) /
      card.memoryBytesPerSecond;
  double l2 = (work.l2Bytes + work.gatherBytes) / card.l2BytesPerSecond;
  double fixed = kLaunch + work.instructions * kCodePerInstruction;
  double longest = std::max({makespan, memory, l2});

  Prediction result;
  result.microseconds = (fixed + longest) * 1e6;
  int64_t full = waves > 0 ? resident : last;
  if (fixed > longest)
    result.limiter = Limiter::Launch;
  else if (memory >= longest)
    result.limiter = Limiter::Memory;
  else if (l2 >= longest)
    result.limiter = Limiter::L2;
  else if (2 * static_cast<double>(full) * cta->busy > cta->with(full))
    result.limiter = cta->unit;
  else
    result.limiter = Limiter::Latency;
  return result;
}

} // namespace mlatile
