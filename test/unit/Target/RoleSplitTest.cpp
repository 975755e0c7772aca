// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/RoleSplit.h"

#include "mlatile/Target/RegisterBudget.h"

#include <gtest/gtest.h>

using namespace mlatile;

namespace {
using Numbers = std::array<int64_t, 3>;

TEST(RoleSplit, Values) {
  std::optional<RoleSplit> split = parseRoleSplit("4+8+16");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->warps, (Numbers{4, 8, 16}));
  EXPECT_EQ(split->registers, (Numbers{0, 0, 0}));
  EXPECT_EQ(split->totalWarps(), 28);
  EXPECT_FALSE(split->converts);
  EXPECT_EQ(split->rowStages, 0);

  split = parseRoleSplit("4c:40+4:152+8@3:2");
  ASSERT_TRUE(split);
  EXPECT_TRUE(split->converts);
  EXPECT_EQ(split->registers, (Numbers{40, 152, 0}));
  EXPECT_EQ(split->rowStages, 3);
  EXPECT_EQ(split->recordStages, 2);
  EXPECT_EQ(parseRoleSplit("4+4+4@3")->recordStages, 0);
}

TEST(RoleSplit, WhatIsNone) {
  for (const char *text :
       {"",           "none",        "4+4",       "4+4+4+4",
        "4+4+",       "+4+4",        "4+4c+4",    "c+4+4",
        "4cc+4+4",    "4+4+4 ",      " 4+4+4",    "4+-4+4",
        "4+0+4",      "4+1025+4",    "4:+4+4",    "4:x+4+4",
        "4:40:8+4+4", "4+4+4@",      "4+4+4@9",   "4+4+4@3:",
        "4+4+4@3:9",  "4+4+4@3:2:1", "4+4+4@3@2", "99999999999999999999+4+4"})
    EXPECT_FALSE(parseRoleSplit(text)) << text;
}

TEST(RoleSplit, RegistersOfALaunch) {
  using Registers = std::array<int64_t, RoleSplit::kRoles>;
  const std::pair<const char *, Registers> cases[] = {
      {"4+4+8", {32, 128, 176}},
      {"4c+4+8", {48, 128, 168}},
      {"4+4+4", {32, 224, 248}}, // no thread gets more unasked
      {"4c:40+4:152+8:160", {40, 152, 160}},
      {"4+4:152+8", {32, 152, 160}},
      {"4+4+8:160", {32, 160, 160}},
  };
  for (const auto &[text, registers] : cases) {
    std::optional<RoleSplit> split = parseRoleSplit(text);
    ASSERT_TRUE(split);
    EXPECT_EQ(divideRegisters(*split), registers) << text;
    int64_t sum = 0;
    for (int i = 0; i < RoleSplit::kRoles; ++i)
      sum += registers[i] * split->warps[i];
    EXPECT_LE(sum, launchRegisters(split->totalWarps()) * split->totalWarps());
  }
}
} // namespace
