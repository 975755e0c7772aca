// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Target.h"
#include "mlatile/Target/Card.h"
#include "mlatile/Target/RegisterBudget.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace mlatile;

namespace {

TEST(Target, LooksUpByExactName) {
  for (const char *name : {"sm_120a", "sm_121a", "sm_90a"}) {
    const Target *target = findTarget(name);
    ASSERT_NE(target, nullptr) << name;
    EXPECT_EQ(target->name, name);
  }
  for (const char *name : {"sm_120", "sm_80", "SM_120A", "", "sm_120a "})
    EXPECT_EQ(findTarget(name), nullptr) << name;
}

TEST(Target, NamesFollowTheCapability) {
  std::set<std::string_view> names;
  for (const Target &target : targets()) {
    EXPECT_TRUE(names.insert(target.name).second);
    EXPECT_EQ(target.name, "sm_" + std::to_string(target.major) +
                               std::to_string(target.minor) + "a");
    EXPECT_LT(target.sharedBytesPerBlock, target.sharedBytesPerSM)
        << "1 KB is reserved a block";
    EXPECT_EQ(target.sharedBytesPerSM - target.sharedBytesPerBlock, 1024);
    EXPECT_EQ(target.registersPerSM, 65536);
  }
}

/// CUDA occupancy calculator, compute capability 9.0: a quarter of the SM has
/// 16384 registers, and a warp takes multiples of 256 from one.
TEST(Target, CtasByRegisters) {
  const std::tuple<int64_t, int64_t, int64_t> cases[] = {
      // of a thread, warps, CTAs
      {104, 1, 16}, {104, 2, 8}, {104, 4, 4}, {104, 6, 2},
      {104, 12, 1}, {128, 4, 4}, {129, 4, 3}, {168, 4, 3},
      {255, 1, 8},  {256, 4, 2}, {32, 1, 64}, {255, 12, 0},
  };
  for (auto [ofThread, warps, ctas] : cases)
    EXPECT_EQ(ctasByRegisters(kRegisterFile, ofThread, warps), ctas)
        << ofThread << " registers, " << warps << " warps";
}

TEST(Target, BlackwellHasWhatHopperLacks) {
  const Target *hopper = findTarget("sm_90a");
  for (const char *name : {"sm_120a", "sm_121a"}) {
    const Target *target = findTarget(name);
    EXPECT_EQ(target->sharedBytesPerBlock, 101376);
    for (Feature feature :
         {Feature::MmaF8F6F4, Feature::MmaBlockScale, Feature::LdmatrixB8,
          Feature::CvtE2M1, Feature::NativeMmaE4M3}) {
      EXPECT_TRUE(target->has(feature));
      EXPECT_FALSE(hopper->has(feature));
    }
    EXPECT_TRUE(target->has(Feature::BulkCopy));
    EXPECT_TRUE(target->has(Feature::SetMaxNReg));
    EXPECT_FALSE(target->has(Feature::FastClusters));
    EXPECT_TRUE(target->has(Feature::DependentLaunch));
  }
  EXPECT_TRUE(hopper->has(Feature::BulkCopy));
  EXPECT_TRUE(hopper->has(Feature::SetMaxNReg));
  EXPECT_TRUE(hopper->has(Feature::FastClusters));
  EXPECT_TRUE(hopper->has(Feature::DependentLaunch));
}

TEST(Target, CardsNameKnownTargets) {
  std::set<std::string_view> names;
  for (const Card &card : cards()) {
    SCOPED_TRACE(std::string(card.name));
    EXPECT_TRUE(names.insert(card.name).second);
    EXPECT_NE(findTarget(card.target), nullptr);
    EXPECT_GT(card.sms, 0);
    EXPECT_GT(card.l2Bytes, 0);
    // Between a notebook's bandwidth and any card's, in bytes a second.
    EXPECT_GT(card.memoryBytesPerSecond, 1e11);
    EXPECT_LT(card.memoryBytesPerSecond, 1e13);
    EXPECT_GT(card.clockHz, 1e9);
    EXPECT_LT(card.clockHz, 4e9);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"rtx_5090", "rtx_pro_6000",
                                               "gb10", "h200"}));
}

TEST(Target, DefaultCards) {
  for (const Target &target : targets()) {
    const Card *card = defaultCard(target.name);
    ASSERT_NE(card, nullptr);
    EXPECT_EQ(card->target, target.name);
  }
  EXPECT_EQ(defaultCard("sm_120a")->name, "rtx_pro_6000");
  EXPECT_EQ(defaultCard("sm_120a")->sms, 188);
  EXPECT_EQ(defaultCard("sm_121a")->name, "gb10");
  EXPECT_EQ(defaultCard("sm_80"), nullptr);
}

} // namespace
