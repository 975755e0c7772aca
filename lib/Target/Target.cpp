// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Target.h"

#include "mlatile/Target/RegisterBudget.h"

namespace mlatile {
namespace {
constexpr uint32_t operator|(Feature a, Feature b) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b);
}
constexpr uint32_t operator|(uint32_t a, Feature b) {
  return a | static_cast<uint32_t>(b);
}

constexpr uint32_t kBlackwell =
    Feature::BulkCopy | Feature::SetMaxNReg | Feature::MmaF8F6F4 |
    Feature::MmaBlockScale | Feature::LdmatrixB8 | Feature::CvtE2M1 |
    Feature::NativeMmaE4M3 | Feature::DependentLaunch;
constexpr uint32_t kHopper = Feature::BulkCopy | Feature::SetMaxNReg |
                             Feature::FastClusters | Feature::DependentLaunch;

// Limits: CUDA programming guide, table of technical specifications per compute
// capability. The 24 blocks of an SM on SM120 are what ptxas bounds by.
// clang-format off
constexpr Target kTargets[] = {
  // name    capability  PTX  ptxas   shared memory of  registers      threads of  blocks
  //                                  a block, an SM                   block, SM
  {"sm_120a", 12, 0,     87,  12, 8,  101376, 102400,   kRegisterFile, 1024, 1536, 24, kBlackwell},
  {"sm_121a", 12, 1,     88,  12, 9,  101376, 102400,   kRegisterFile, 1024, 1536, 24, kBlackwell},
  {"sm_90a",   9, 0,     80,  12, 0,  232448, 233472,   kRegisterFile, 1024, 2048, 32, kHopper},
};
// clang-format on
} // namespace

std::span<const Target> targets() { return kTargets; }

const Target *findTarget(std::string_view name) {
  for (const Target &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}

} // namespace mlatile
