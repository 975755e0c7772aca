// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Target.h"

namespace mlatile {
namespace {
constexpr uint32_t operator|(Feature a, Feature b) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b);
}
constexpr uint32_t operator|(uint32_t a, Feature b) {
  return a | static_cast<uint32_t>(b);
}

constexpr uint32_t kBlackwell = Feature::BulkCopy | Feature::SetMaxNReg |
                                Feature::MmaF8F6F4 | Feature::MmaBlockScale |
                                Feature::LdmatrixB8 | Feature::CvtE2M1 |
                                Feature::NativeMmaE4M3;
constexpr uint32_t kHopper =
    Feature::BulkCopy | Feature::SetMaxNReg | Feature::FastClusters;

// Shared memory and register limits: CUDA programming guide, table of technical
// specifications per compute capability.
constexpr Target kTargets[] = {
    {"sm_120a", 12, 0, 87, 12, 8, 101376, 102400, 65536, 1024, kBlackwell},
    {"sm_121a", 12, 1, 88, 12, 9, 101376, 102400, 65536, 1024, kBlackwell},
    {"sm_90a", 9, 0, 80, 12, 0, 232448, 233472, 65536, 1024, kHopper},
};

constexpr Card kCards[] = {
    {"rtx_pro_6000", "sm_120a", 188, 128ll << 20, 1.79e12, 2.6e9, 1024},
    {"rtx_5090", "sm_120a", 170, 96ll << 20, 1.79e12, 2.4e9, 512},
    {"gb10", "sm_121a", 48, 24ll << 20, 0.273e12, 2.4e9, 1024},
    {"h200", "sm_90a", 132, 50ll << 20, 4.3e12, 1.98e9, 2500},
};
} // namespace

std::span<const Target> targets() { return kTargets; }

const Target *findTarget(std::string_view name) {
  for (const Target &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}

std::span<const Card> cards() { return kCards; }

const Card *defaultCard(std::string_view target) {
  for (const Card &card : kCards)
    if (card.target == target)
      return &card;
  return nullptr;
}

} // namespace mlatile
