// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The barrier of a cluster, and addresses in its CTAs. PTX ISA,
// "barrier.cluster": a warp waits after each arrival; warps that have exited
// are not waited for.
#include "Cluster.h"
#include "Checker.h"
#include "Entry.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlatile::sim;
using llvm::formatv;

namespace {

void passed(Cta &cta, Warp &warp) {
  warp.clusterArrived = false;
  if (cta.checker)
    cta.checker->clusterWaited(warp);
}

/// Ends the round if all have arrived, and lets every waiting warp go.
void completeIfAll(Cluster &cluster) {
  if (!cluster.arrived || cluster.arrived < cluster.expected())
    return;
  cluster.arrived = 0;
  ++cluster.round;
  for (Cta *cta : cluster.ctas) {
    if (cta->life != Cta::Life::Runs)
      continue;
    ++cta->steps;
    if (cta->checker)
      cta->checker->clusterCompleted();
    for (Warp &warp : cta->warps) {
      if (!warp.clusterWaits)
        continue;
      warp.clusterWaits = false;
      passed(*cta, warp);
      warp.ready |= warp.live;
    }
  }
  ++cluster.ctas.front()->stats.clusterBarriers;
}

} // namespace

void mlatile::sim::arriveAtCluster(Warp &warp, bool releases, Lane *by,
                                   uint32_t site) {
  Cta &cta = *warp.cta;
  if (warp.clusterArrived)
    failAt(by, site,
           formatv("barrier of the cluster: warp {0} arrives a second time "
                   "without having waited",
                   warp.index)
               .str());
  warp.clusterArrived = true;
  warp.clusterRound = cta.cluster->round;
  if (cta.checker)
    cta.checker->clusterArrived(warp, releases);
  ++cta.cluster->arrived;
  completeIfAll(*cta.cluster);
}

bool mlatile::sim::waitAtCluster(Warp &warp, Lane *by, uint32_t site) {
  Cta &cta = *warp.cta;
  if (!warp.clusterArrived)
    failAt(by, site,
           formatv("barrier of the cluster: warp {0} waits without having "
                   "arrived",
                   warp.index)
               .str());
  if (warp.clusterRound == cta.cluster->round) {
    warp.clusterWaits = true;
    return false;
  }
  passed(cta, warp);
  return true;
}

void mlatile::sim::clusterAfterExit(Warp &warp) {
  Cluster &cluster = *warp.cta->cluster;
  if (warp.clusterArrived && warp.clusterRound == cluster.round)
    --cluster.arrived;
  completeIfAll(cluster);
}

bool mlatile::sim::waitsForCluster(const Cta &cta) {
  for (const Warp &warp : cta.warps)
    if (warp.clusterWaits)
      return true;
  return false;
}

void *mlatile::sim::clusterAddress(Lane *lane, const void *address,
                                   uint32_t rank, uint32_t site) {
  Cta &cta = ctaOf(lane);
  const std::vector<Cta *> &ctas = cta.cluster->ctas;
  if (rank >= ctas.size())
    failAt(lane, site,
           formatv("expected a rank below the cluster's {0} CTAs, got {1}",
                   ctas.size(), rank)
               .str());
  if (!cta.owns(address, 0))
    failAt(lane, site, "expected an address in the CTA's own shared memory");
  return ctas[rank]->shared +
         (static_cast<const uint8_t *>(address) - cta.shared);
}
