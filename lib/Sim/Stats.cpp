// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Sim/Executor.h"
#include <algorithm>
#include <numeric>

using namespace mlatile::sim;

llvm::StringRef mlatile::sim::mmaKindName(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
    return "f16";
  case MmaKind::BF16:
    return "bf16";
  case MmaKind::F8:
    return "f8";
  case MmaKind::F8F6F4:
    return "f8f6f4";
  case MmaKind::MXF8F6F4:
    return "mxf8f6f4";
  case MmaKind::MXF4:
    return "mxf4";
  case MmaKind::MXF4NVF4:
    return "mxf4nvf4";
  }
  return "unknown";
}

uint64_t Stats::mmaTotal() const {
  return std::accumulate(mma.begin(), mma.end(), uint64_t(0));
}

Stats &Stats::operator+=(const Stats &other) {
  bool had = mmaTotal() != 0, has = other.mmaTotal() != 0;
  if (has) {
    minCopiesInFlight =
        had ? std::min(minCopiesInFlight, other.minCopiesInFlight)
            : other.minCopiesInFlight;
    maxCopiesInFlight = std::max(maxCopiesInFlight, other.maxCopiesInFlight);
  }
  for (unsigned i = 0; i < kMmaKinds; ++i)
    mma[i] += other.mma[i];
  ldmatrix += other.ldmatrix;
  stmatrix += other.stmatrix;
  movmatrix += other.movmatrix;
  shuffles += other.shuffles;
  rendezvous += other.rendezvous;
  ctaBarriers += other.ctaBarriers;
  namedBarriers += other.namedBarriers;
  clusterBarriers += other.clusterBarriers;
  asyncCopies += other.asyncCopies;
  bulkCopies += other.bulkCopies;
  asyncBytes += other.asyncBytes;
  mbarrierPhases += other.mbarrierPhases;
  mmaWithCopiesInFlight += other.mmaWithCopiesInFlight;
  mmaWithoutCopiesInFlight += other.mmaWithoutCopiesInFlight;
  copiesInFlightAtExit += other.copiesInFlightAtExit;
  return *this;
}
