// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proxies in the checked mode. Bulk copies access shared memory by the async
// proxy, stores by the generic one: what a thread has stored it must follow by
// a fence.proxy.async before a bulk copy that comes after it writes or reads
// the same bytes (PTX ISA, "Memory Consistency Model", "Proxies"). The other
// way round the completion of a copy is such a fence.
#include "Checker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

void Checker::proxyFenced(Lane *lane) {
  Thread &t = thread(lane);
  t.fences.push_back(t.now++);
}

/// Whether a fence of thread `tid` follows its store at time `written`, and the
/// actor comes after that fence.
bool Checker::fenced(uint32_t tid, uint32_t written, const Actor &actor) const {
  const std::vector<uint32_t> &fences = threads[tid].fences;
  auto next = llvm::lower_bound(fences, written);
  return next != fences.end() &&
         (tid == actor.by->tid || actor.known->of(tid) > *next);
}

std::string Checker::proxyText(const Granule &at, uint32_t lane,
                               const Actor &actor, const char *verb) const {
  Access now{0, actor.by->warpId * 32, actor.mask, actor.site};
  return formatv("missing proxy fence, {0} bytes of shared memory at offset "
                 "{1}: {2} writes, and {3} {4} by the async proxy: expected a "
                 "fence.proxy.async of the first thread between them",
                 at.bytes, at.offset, describe(*at.write, lane),
                 describe(now, llvm::countr_zero(actor.mask)), verb)
      .str();
}

void Checker::checkProxies(const Actor &actor, uint32_t offset, uint32_t bytes,
                           const char *verb) {
  granules(offset, bytes, [&](const Granule &at) {
    const Access &last = *at.write;
    if (last.agent >= lanes) // nobody, or a copy
      return;
    for (uint32_t mask = last.mask; mask; mask &= mask - 1) {
      uint32_t lane = llvm::countr_zero(mask);
      // A race is reported as such.
      if (ordered(last, actor) && !fenced(last.agent + lane, last.time, actor))
        failAt(actor.by, ~0u, proxyText(at, lane, actor, verb));
    }
  });
}
