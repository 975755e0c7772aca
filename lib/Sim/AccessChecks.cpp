// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instrumented code calls before a memory access: bounds and alignment,
// then order.
#include "Checker.h"
#include "Cluster.h"
#include "Entry.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

void Checker::global(Lane *lane, const void *address, uint64_t bytes,
                     bool writes, const char *what, uint32_t site) {
  if (regions.empty() || !bytes)
    return;
  auto at = reinterpret_cast<uintptr_t>(address);
  auto base = [](const Region &region) {
    return reinterpret_cast<uintptr_t>(region.base);
  };
  auto holds = [&](const Region &region) {
    return at >= base(region) && bytes <= region.bytes &&
           at - base(region) <= region.bytes - bytes;
  };
  auto usable = [&](const Region &region) {
    return (!writes || region.writable) &&
           (!region.pending || lane->launchesAwaited);
  };
  if (holds(regions[lastRegion]) && usable(regions[lastRegion]))
    return;
  const Region *readOnly = nullptr, *nearest = nullptr;
  uint64_t distance = ~0ull;
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region &region = regions[i];
    if (holds(region)) {
      if (region.pending && !lane->launchesAwaited)
        failAt(lane, site,
               formatv("{0} of {1} bytes of '{2}' before griddepcontrol.wait: "
                       "the launch before writes it",
                       what, bytes, region.name)
                   .str());
      if (!writes || region.writable) {
        lastRegion = i;
        return;
      }
      readOnly = &region;
    }
    uint64_t away = at < base(region) ? base(region) - at : at - base(region);
    if (at >= base(region))
      away = away > region.bytes ? away - region.bytes : 0;
    if (away < distance) {
      distance = away;
      nearest = &region;
    }
  }
  if (readOnly)
    failAt(lane, site,
           formatv("{0} of {1} bytes into the read-only buffer '{2}', at its "
                   "byte {3}",
                   what, bytes, readOnly->name, at - base(*readOnly))
               .str());
  failAt(lane, site,
         formatv("{0} of {1} bytes outside every buffer: at byte {2} of '{3}', "
                 "which has {4}",
                 what, bytes, static_cast<int64_t>(at - base(*nearest)),
                 nearest->name, nearest->bytes)
             .str());
}

namespace {

constexpr uint32_t kAlignMask = 0xffff;

/// True: an access to shared memory, in range.
bool checkPlace(Lane *lane, const void *address, uint32_t bytes, uint32_t where,
                bool writes, const char *what, uint32_t site) {
  Cta &cta = ctaOf(lane);
  auto *at = static_cast<const uint8_t *>(address);
  bool shared = where & (kCheckShared | kCheckCluster) ||
                (!(where & kCheckGlobal) && cta.owns(address, 1));
  if (reinterpret_cast<uintptr_t>(address) & ((where & kAlignMask) - 1))
    failAt(lane, site,
           formatv("misaligned {0} of {1} bytes: {2} {3} is not a multiple of "
                   "{4}",
                   what, bytes, shared ? "shared offset" : "address",
                   shared ? at - cta.shared
                          : static_cast<int64_t>(
                                reinterpret_cast<uintptr_t>(address)),
                   where & kAlignMask)
               .str());
  if (!shared) {
    if (where & kCheckGlobal)
      cta.checker->global(lane, address, bytes, writes, what, site);
    return false;
  }
  if (!cta.owns(address, bytes))
    failAt(lane, site,
           formatv("{0} of {1} bytes at shared offset {2} is outside the {3} "
                   "bytes of shared memory",
                   what, bytes, at - cta.shared, cta.sharedBytes)
               .str());
  return true;
}

/// The other CTA of the cluster that an access goes to; null: it is an access
/// to the CTA's own memory, or to none.
Cta *peerOf(Lane *lane, const void *address, uint32_t bytes, uint32_t where,
            const char *what, uint32_t site) {
  Cta &cta = ctaOf(lane);
  if (!(where & kCheckCluster) || cta.owns(address, 1))
    return nullptr;
  Cta *peer = cta.cluster->owner(address);
  if (!peer || !peer->owns(address, bytes))
    failAt(lane, site,
           formatv("{0} of {1} bytes outside the shared memory of the cluster",
                   what, bytes)
               .str());
  if (peer->life != Cta::Life::Runs)
    failAt(lane, site,
           formatv("{0} of {1} bytes of shared memory of CTA {2} of the "
                   "cluster, which has {3}",
                   what, bytes, peer->rank,
                   peer->life == Cta::Life::Ended ? "ended" : "not started")
               .str());
  if (reinterpret_cast<uintptr_t>(address) & ((where & kAlignMask) - 1))
    failAt(lane, site,
           formatv("misaligned {0} of {1} bytes: shared offset {2} of CTA {3} "
                   "of the cluster is not a multiple of {4}",
                   what, bytes,
                   static_cast<const uint8_t *>(address) - peer->shared,
                   peer->rank, where & kAlignMask)
               .str());
  return peer;
}

/// Nothing but a barrier of the cluster orders CTAs here.
[[noreturn]] void refusePeerWrite(Lane *lane, const Cta &peer, const char *what,
                                  uint32_t site) {
  failAt(lane, site,
         formatv("{0} to shared memory of CTA {1} of the cluster: checked mode "
                 "knows reads of other CTAs only",
                 what, peer.rank)
             .str());
}

uint32_t offsetOf(Lane *lane, const void *address) {
  return static_cast<const uint8_t *>(address) - ctaOf(lane).shared;
}

} // namespace

void mlatile::sim::checkLoad(Lane *lane, const void *address, uint32_t bytes,
                             uint32_t where, uint32_t site) {
  if (Cta *peer = peerOf(lane, address, bytes, where, "load", site))
    return peer->checker->peerReads(
        lane, static_cast<const uint8_t *>(address) - peer->shared, bytes,
        site);
  if (checkPlace(lane, address, bytes, where, false, "load", site))
    ctaOf(lane).checker->read(lane, offsetOf(lane, address), bytes, site);
}

void mlatile::sim::checkStore(Lane *lane, const void *address, uint32_t bytes,
                              const void *value, uint32_t where,
                              uint32_t site) {
  if (Cta *peer = peerOf(lane, address, bytes, where, "store", site))
    refusePeerWrite(lane, *peer, "store", site);
  if (checkPlace(lane, address, bytes, where, true, "store", site))
    ctaOf(lane).checker->write(lane, offsetOf(lane, address), bytes, value,
                               site);
}

void mlatile::sim::checkAtomic(Lane *lane, const void *address, uint32_t bytes,
                               uint32_t where, uint32_t site) {
  Checker &checker = *ctaOf(lane).checker;
  bool reads = where & kCheckReads, writes = where & kCheckWrites;
  if (Cta *peer = peerOf(lane, address, bytes, where, "atomic access", site))
    refusePeerWrite(lane, *peer, "atomic access", site);
  bool shared =
      checkPlace(lane, address, bytes, where, writes, "atomic access", site);
  checker.atomicBegins(lane, address);
  if (shared && reads)
    checker.read(lane, offsetOf(lane, address), bytes, site);
  if (shared && writes)
    checker.write(lane, offsetOf(lane, address), bytes, nullptr, site);
  checker.atomicEnds(lane, address);
}
