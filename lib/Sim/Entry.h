// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What generated code calls. Addresses are passed as host pointers; `site`
// indexes the names of places in the kernel.
#ifndef MLATILE_LIB_SIM_ENTRY_H
#define MLATILE_LIB_SIM_ENTRY_H

#include <cstdint>

namespace mlatile::sim {

struct Lane;
struct Group;

// Rendezvous.cpp
void enterCollective(Lane *lane, const Group *group);
void enterMaskedCollective(Lane *lane, const Group *group, uint32_t mask);

// Mbarrier.cpp
void mbarrierInit(Lane *lane, void *bar, uint32_t count, uint32_t site);
void mbarrierInvalidate(Lane *lane, void *bar, uint32_t site);
/// Adds `tx` to the transaction count, then arrives `count` times; `drop`
/// also lowers the expected count of later phases. Returns the phase token.
uint64_t mbarrierArrive(Lane *lane, void *bar, uint32_t count, uint32_t tx,
                        uint32_t drop, uint32_t site);
void mbarrierExpectTx(Lane *lane, void *bar, uint32_t tx, uint32_t site);
void mbarrierCompleteTx(Lane *lane, void *bar, uint32_t tx, uint32_t site);
/// `blocks` as for try_wait; test_wait lets others run when it says no.
uint32_t mbarrierWaitParity(Lane *lane, void *bar, uint32_t parity,
                            uint32_t blocks, uint32_t site);
uint32_t mbarrierWaitToken(Lane *lane, void *bar, uint64_t token,
                           uint32_t blocks, uint32_t site);
uint32_t mbarrierPendingCount(uint64_t token);

// AsyncCopy.cpp
void copyAsync(Lane *lane, void *dst, const void *src, uint32_t size,
               uint32_t srcSize, uint32_t site);
void copyAsyncCommit(Lane *lane);
void copyAsyncWait(Lane *lane, uint32_t newest);
void copyAsyncWaitAll(Lane *lane);
void copyAsyncArrive(Lane *lane, void *bar, uint32_t noinc, uint32_t site);
void bulkLoad(Lane *lane, void *dst, void *bar, const void *src, uint32_t size,
              uint32_t site);
void bulkStore(Lane *lane, void *dst, const void *src, uint32_t size,
               uint32_t site);
void bulkCommit(Lane *lane);
void bulkWait(Lane *lane, uint32_t newest);

// Cluster.cpp
/// The place of a shared address in the CTA of that rank.
void *clusterAddress(Lane *lane, const void *address, uint32_t rank,
                     uint32_t site);

// AccessChecks.cpp, called in checked mode. The low half of `where` is the
// alignment in bytes, a power of two; above it stand these bits.
enum : uint32_t {
  kCheckShared = 1u << 16,
  kCheckGlobal = 1u << 17, ///< neither: a generic address
  kCheckReads = 1u << 18,
  kCheckWrites = 1u << 19,
  kCheckCluster = 1u << 20 ///< shared memory of any CTA of the cluster
};
void checkLoad(Lane *lane, const void *address, uint32_t bytes, uint32_t where,
               uint32_t site);
/// `value`: what will be written, or null.
void checkStore(Lane *lane, const void *address, uint32_t bytes,
                const void *value, uint32_t where, uint32_t site);
void checkAtomic(Lane *lane, const void *address, uint32_t bytes,
                 uint32_t where, uint32_t site);

// Misc. of one lane: Schedule.cpp, Thread.cpp
void threadExit(Lane *lane);
void threadTrap(Lane *lane, uint32_t site);
void threadPoll(Lane *lane, uint32_t site);
void threadAwaitLaunches(Lane *lane);
/// fence.proxy.async, of shared memory too.
void threadFenceProxy(Lane *lane);
uint32_t threadIsShared(Lane *lane, const void *address);
uint64_t threadClock(Lane *lane);

} // namespace mlatile::sim
#endif
