// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/RoleSplit.h"

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
} // namespace
