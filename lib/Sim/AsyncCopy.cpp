// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies. PTX ISA, "cp.async" and "cp.async.bulk". A copy poisons
// its destination when it is issued (0xff is NaN in f32, f16, bf16 and e4m3)
// and lands only when somebody waits for it, as late as is legal.
#include "Checker.h"
#include "Entry.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlatile::sim;
using llvm::formatv;

namespace {

[[noreturn]] void failAlignment(Lane *lane, const void *address, uint32_t to,
                                const char *what, uint32_t site) {
  failAt(lane, site,
         formatv("{0} address {1} is not {2}-byte aligned", what, address, to)
             .str());
}

inline void checkAligned(Lane *lane, const void *address, uint32_t to,
                         const char *what, uint32_t site) {
  if (reinterpret_cast<uintptr_t>(address) & (to - 1))
    failAlignment(lane, address, to, what, site);
}

[[noreturn]] void failRange(Lane *lane, const void *address, uint32_t bytes,
                            const char *what, uint32_t site) {
  Cta &cta = ctaOf(lane);
  failAt(lane, site,
         formatv("{0}: {1} bytes at shared offset {2} are outside the {3} "
                 "bytes of shared memory",
                 what, bytes,
                 static_cast<const uint8_t *>(address) - cta.shared,
                 cta.sharedBytes)
             .str());
}

inline void checkShared(Lane *lane, const void *address, uint32_t bytes,
                        const char *what, uint32_t site) {
  if (!ctaOf(lane).owns(address, bytes))
    failRange(lane, address, bytes, what, site);
}

/// What holds for a bulk copy in either direction; `shared` is that end of it
/// which lies in shared memory.
void checkBulk(Lane *lane, const void *dst, const void *src, const void *shared,
               uint32_t size, uint32_t site) {
  if (size % 16)
    failAt(
        lane, site,
        formatv("expected a bulk copy size that is a multiple of 16, got {0}",
                size)
            .str());
  checkAligned(lane, dst, 16, "bulk copy destination", site);
  checkAligned(lane, src, 16, "bulk copy source", site);
  checkShared(lane, shared, size, "bulk copy", site);
}

} // namespace

void mlatile::sim::landThreadCopies(Lane *lane, uint32_t end) {
  uint32_t begin = lane->landed;
  if (end <= begin)
    return;
  for (uint32_t i = begin; i < end; ++i) {
    const ThreadCopy &copy = lane->copies[i];
    std::memcpy(copy.dst, copy.src, copy.srcSize);
    std::memset(copy.dst + copy.srcSize, 0, copy.size - copy.srcSize);
  }
  Cta &cta = ctaOf(lane);
  cta.inFlight -= end - begin;
  ++cta.steps;
  lane->landed = end;
}

void mlatile::sim::copyAsync(Lane *lane, void *dst, const void *src,
                             uint32_t size, uint32_t srcSize, uint32_t site) {
  checkAligned(lane, dst, size, "cp.async destination", site);
  checkShared(lane, dst, size, "cp.async", site);
  if (srcSize > size)
    failAt(lane, site,
           formatv("expected a cp.async source size of at most {0}, got {1}",
                   size, srcSize)
               .str());
  if (srcSize)
    checkAligned(lane, src, size, "cp.async source", site);
  Cta &cta = ctaOf(lane);
  if (cta.checker) {
    cta.checker->global(lane, src, srcSize, false, "cp.async", site);
    cta.checker->copyIssued(lane, static_cast<uint8_t *>(dst) - cta.shared,
                            size, site);
  }
  std::memset(dst, 0xff, size);
  lane->copies.push_back({static_cast<uint8_t *>(dst),
                          static_cast<const uint8_t *>(src), size, srcSize});
  ++cta.inFlight;
  ++cta.stats.asyncCopies;
  cta.stats.asyncBytes += srcSize;
}

void mlatile::sim::copyAsyncCommit(Lane *lane) {
  lane->groups.push_back(lane->copies.size());
}

void mlatile::sim::copyAsyncWait(Lane *lane, uint32_t newest) {
  uint32_t open = lane->groups.size() - lane->firstGroup;
  if (open <= newest)
    return;
  lane->firstGroup = lane->groups.size() - newest;
  uint32_t end = lane->groups[lane->firstGroup - 1];
  landThreadCopies(lane, end);
  if (Checker *checker = ctaOf(lane).checker.get())
    checker->copiesLanded(lane, end);
}

void mlatile::sim::copyAsyncWaitAll(Lane *lane) {
  copyAsyncCommit(lane);
  copyAsyncWait(lane, 0);
}

void mlatile::sim::copyAsyncArrive(Lane *lane, void *address, uint32_t noinc,
                                   uint32_t site) {
  Mbarrier &bar = findMbarrier(lane, address, site, "cp.async.mbarrier.arrive");
  if (!noinc)
    ++bar.pending;
  bar.deferred.push_back(
      {lane, static_cast<uint32_t>(lane->copies.size()), site});
  ++ctaOf(lane).steps;
}

void mlatile::sim::bulkLoad(Lane *lane, void *dst, void *address,
                            const void *src, uint32_t size, uint32_t site) {
  checkBulk(lane, dst, src, /*shared=*/dst, size, site);
  Mbarrier &bar = findMbarrier(lane, address, site, "bulk copy");
  Cta &cta = ctaOf(lane);
  if (cta.checker) {
    cta.checker->global(lane, src, size, false, "bulk copy", site);
    cta.checker->bulkIssued(lane, bar, static_cast<uint8_t *>(dst) - cta.shared,
                            size, site);
  }
  std::memset(dst, 0xff, size);
  bar.bulk.push_back({static_cast<uint8_t *>(dst),
                      static_cast<const uint8_t *>(src), size, site});
  ++cta.inFlight;
  ++cta.steps;
  ++cta.stats.bulkCopies;
  cta.stats.asyncBytes += size;
}

void mlatile::sim::bulkStore(Lane *lane, void *dst, const void *src,
                             uint32_t size, uint32_t site) {
  checkBulk(lane, dst, src, /*shared=*/src, size, site);
  Cta &cta = ctaOf(lane);
  if (cta.checker) {
    cta.checker->global(lane, dst, size, true, "bulk copy", site);
    cta.checker->bulkStoreIssued(
        lane, static_cast<const uint8_t *>(src) - cta.shared, size, site);
  }
  lane->bulkStores.push_back({static_cast<uint8_t *>(dst),
                              static_cast<const uint8_t *>(src), size, site});
  ++cta.inFlight;
  ++cta.stats.bulkCopies;
}

void mlatile::sim::bulkCommit(Lane *lane) {
  lane->bulkGroups.push_back(lane->bulkStores.size());
}

void mlatile::sim::bulkWait(Lane *lane, uint32_t newest) {
  if (lane->bulkGroups.size() <= newest)
    return;
  size_t done = lane->bulkGroups.size() - newest;
  uint32_t end = lane->bulkGroups[done - 1];
  for (uint32_t i = 0; i < end; ++i) {
    const BulkCopy &store = lane->bulkStores[i];
    std::memcpy(store.dst, store.src, store.size);
  }
  Cta &cta = ctaOf(lane);
  cta.inFlight -= end;
  if (cta.checker)
    cta.checker->bulkStoresLanded(lane, end);
  lane->bulkStores.erase(lane->bulkStores.begin(),
                         lane->bulkStores.begin() + end);
  lane->bulkGroups.erase(lane->bulkGroups.begin(),
                         lane->bulkGroups.begin() + done);
  for (uint32_t &later : lane->bulkGroups)
    later -= end;
}
