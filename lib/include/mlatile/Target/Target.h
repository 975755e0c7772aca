// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets are data. Passes and the planner ask a target what it can do; nothing
// compares names.
#ifndef MLATILE_TARGET_TARGET_H
#define MLATILE_TARGET_TARGET_H

#include <cstdint>
#include <span>
#include <string_view>

namespace mlatile {

/// What a target may offer beyond the common base (sm_80 `mma.sync`,
/// `ldmatrix`, `cp.async`; mbarriers).
enum class Feature : uint32_t {
  BulkCopy = 1u << 0, ///< cp.async.bulk to shared::cta, completing an mbarrier
  SetMaxNReg = 1u << 1,      ///< setmaxnreg
  MmaF8F6F4 = 1u << 2,       ///< mma kind::f8f6f4
  MmaBlockScale = 1u << 3,   ///< mma kind::mxf8f6f4 and mxf4nvf4
  LdmatrixB8 = 1u << 4,      ///< 8-bit transposing ldmatrix and stmatrix
  CvtE2M1 = 1u << 5,         ///< e2m1 and ue8m0 conversions
  NativeMmaE4M3 = 1u << 6,   ///< e4m3 mma.sync runs in hardware
  FastClusters = 1u << 7,    ///< clusters and distributed shared memory pay
  DependentLaunch = 1u << 8, ///< griddepcontrol
};

/// One GPU target.
struct Target {
  std::string_view name; ///< as ptxas spells it, for example "sm_120a"
  int major, minor;      ///< compute capability
  int ptxVersion;        ///< 10 * major + minor of the PTX ISA we emit
  int minPtxasMajor, minPtxasMinor; ///< first ptxas that knows the target
  int sharedBytesPerBlock;          ///< opt-in limit of one block
  int sharedBytesPerSM;
  int registersPerSM;
  int maxThreadsPerBlock;
  int maxThreadsPerSM, maxBlocksPerSM;
  uint32_t features;

  constexpr bool has(Feature f) const {
    return features & static_cast<uint32_t>(f);
  }
};

std::span<const Target> targets();
/// The target of that name, or null.
const Target *findTarget(std::string_view name);

} // namespace mlatile
#endif
