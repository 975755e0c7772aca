// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTA barriers 0 to 15. PTX ISA, "barrier{.cta}": a warp counts as 32 threads,
// all participants name the same count, the barrier resets at completion.
#include "Checker.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;

namespace {

/// A participant that named no count expects every warp that is still there.
uint32_t expectedThreads(const Cta &cta, const CtaBarrier &barrier) {
  return barrier.expected ? barrier.expected : cta.liveWarps * 32;
}

uint32_t reduced(const CtaBarrier &barrier, const Op &op) {
  switch (static_cast<BarrierReduction>(op.mode)) {
  case BarrierReduction::Count:
    return barrier.count;
  case BarrierReduction::And:
    return barrier.all;
  case BarrierReduction::Or:
    return barrier.any;
  }
  return 0;
}

/// Lets every waiting warp go and resets. The lanes of `running` go on by
/// themselves.
void release(Cta &cta, uint32_t id, const Warp *running) {
  CtaBarrier &barrier = cta.barriers[id];
  for (Warp &warp : cta.warps) {
    if (!(barrier.waiting >> warp.index & 1))
      continue;
    const Op &op = *barrier.ops[warp.index];
    if (op.code == OpCode::BarrierReduce)
      for (unsigned lane = 0; lane < 32; ++lane)
        warp.rows[op.out[0] * 32u + lane] = reduced(barrier, op);
    if (&warp != running)
      warp.ready |= warp.live;
  }
  bool wholeCta =
      !barrier.expected || barrier.expected == cta.warps.size() * 32;
  ++(wholeCta ? cta.stats.ctaBarriers : cta.stats.namedBarriers);
  if (cta.checker)
    cta.checker->barrierCompleted(id);
  barrier = CtaBarrier();
  ++cta.steps;
}

/// Operand `i`, the same in all active lanes.
uint32_t uniform(Warp &warp, const Op &op, unsigned i, uint32_t active,
                 Lane *by, const char *name) {
  uint32_t value = op.input(i, warp.rows, by->laneId);
  if (!(active & laneBit(by)))
    value = op.input(i, warp.rows, llvm::countr_zero(active));
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((active >> lane & 1) && op.input(i, warp.rows, lane) != value)
      failAt(by, op.site,
             llvm::formatv("barrier {0} differs between lanes of warp {1}",
                           name, warp.index)
                 .str());
  return value;
}

} // namespace

bool mlatile::sim::arriveAtBarrier(Warp &warp, const Op &op, uint32_t active,
                                   Lane *by) {
  Cta &cta = *warp.cta;
  uint32_t id = uniform(warp, op, 0, active, by, "id");
  uint32_t count = uniform(warp, op, 1, active, by, "thread count");
  if (id >= cta.barriers.size())
    failAt(
        by, op.site,
        llvm::formatv("expected a barrier id from 0 to 15, got {0}", id).str());
  if (count % 32 || count > cta.warps.size() * 32)
    failAt(by, op.site,
           llvm::formatv("expected a barrier thread count that is a multiple "
                         "of 32 up to {0}, got {1}",
                         cta.warps.size() * 32, count)
               .str());
  CtaBarrier &barrier = cta.barriers[id];
  bool reduces = op.code == OpCode::BarrierReduce;
  if (barrier.arrived) {
    if (barrier.expected != count)
      failAt(by, op.site,
             llvm::formatv("barrier {0}: warp {1} names {2} threads, earlier "
                           "participants {3}",
                           id, warp.index, count, barrier.expected)
                 .str());
    if (barrier.reduces != reduces)
      failAt(by, op.site,
             llvm::formatv("barrier {0}: red mixed with sync or arrive", id)
                 .str());
    if (barrier.warps >> warp.index & 1)
      failAt(by, op.site,
             llvm::formatv("barrier {0}: warp {1} arrives a second time before "
                           "it completes",
                           id, warp.index)
                 .str());
  }
  barrier.expected = count;
  barrier.reduces = reduces;
  barrier.arrived += 32;
  barrier.warps |= 1u << warp.index;
  bool waits = op.code != OpCode::BarrierArrive;
  if (cta.checker)
    cta.checker->barrierArrived(warp, id, waits, by, op.site);
  if (waits) {
    barrier.waiting |= 1u << warp.index;
    barrier.ops[warp.index] = &op;
  }
  if (reduces)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (active >> lane & 1) {
        bool value = op.input(2, warp.rows, lane);
        barrier.count += value;
        barrier.all &= value;
        barrier.any |= value;
      }
  if (barrier.arrived < expectedThreads(cta, barrier))
    return !waits;
  release(cta, id, &warp);
  return true;
}

void mlatile::sim::barriersAfterExit(Cta &cta) {
  for (uint32_t id = 0; id < cta.barriers.size(); ++id) {
    const CtaBarrier &barrier = cta.barriers[id];
    if (barrier.arrived && barrier.arrived >= expectedThreads(cta, barrier))
      release(cta, id, nullptr);
  }
}
