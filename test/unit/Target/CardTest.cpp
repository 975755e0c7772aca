// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Card.h"

#include <gtest/gtest.h>

using namespace mlatile;

namespace {

TEST(Card, RatesFollowTheInstructionSet) {
  for (const Card &card : cards()) {
    SCOPED_TRACE(std::string(card.name));
    bool blackwell = card.target != "sm_90a";
    EXPECT_EQ(card.mmaFlopsPerClockSM(MmaRate::BlockScaled8) > 0, blackwell);
    EXPECT_EQ(card.mmaFlopsPerClockSM(MmaRate::BlockScaled4) > 0, blackwell);
    EXPECT_GT(card.l2BytesPerSecond, card.memoryBytesPerSecond);
  }
}

TEST(Card, KindsOfMma) {
  struct Expected {
    const char *name;
    MmaRate rate;
    int64_t flops;
  };
  for (const Expected &e : {
           Expected{"m16n8k16.bf16", MmaRate::F16, 4096},
           Expected{"m16n8k16.f16.f16acc", MmaRate::F16, 4096},
           Expected{"m16n8k32.e4m3", MmaRate::E4M3, 8192},
           Expected{"m16n8k32.f8f6f4.e2m1.e4m3", MmaRate::E4M3, 8192},
           Expected{"m16n8k32.mxf8f6f4.e4m3", MmaRate::BlockScaled8, 8192},
           Expected{"m16n8k64.mxf4nvf4.e2m1", MmaRate::BlockScaled4, 16384},
       }) {
    SCOPED_TRACE(e.name);
    std::optional<MmaKind> kind = parseMmaKind(e.name);
    ASSERT_TRUE(kind);
    EXPECT_EQ(kind->rate, e.rate);
    EXPECT_EQ(kind->flops, e.flops);
  }
}

TEST(Card, OtherTextsAreNoKind) {
  for (const char *text : {"", "m16", "m16n8k16", "m16n8k16.", "m16n8k16.f64",
                           "m16n8k16bf16", "n8m16k16.bf16", "m0n8k16.bf16",
                           "m99999999999999999999n8k16.bf16", "m-16n8k16.bf16"})
    EXPECT_FALSE(parseMmaKind(text)) << text;
}

} // namespace
