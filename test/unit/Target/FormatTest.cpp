// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of cache formats against the byte layouts as the formats' owners
// document them, written down here a second time.
#include "mlatile/Target/Format.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace mlatile;

namespace {

struct Expected {
  const char *name;
  int dimQK, dimV, payloadBytes, groups, scaleBytes, ropeOffset, scaleOffset;
  int dataRow, scaleRow, usedRow, tokenBytes;
};

// Sizes in bytes, offsets from the start of a data row, or of a scale row for
// the scales of footer formats.
constexpr Expected kExpected[] = {
    {"dsv3_2", 576, 512, 512, 4, 16, 528, 512, 656, 0, 656, 656},
    {"glm", 576, 512, 512, 4, 16, 528, 512, 656, 0, 656, 656},
    {"glm53_nope", 512, 512, 512, 4, 16, -1, 512, 528, 0, 528, 528},
    {"dsv4", 512, 512, 448, 7, 7, 448, 0, 576, 8, 576, 584},
    {"dsv4_1", 512, 512, 512, 16, 16, -1, 0, 512, 16, 512, 528},
    {"dots3_swa", 1088, 1024, 1024, 8, 8, 1024, 0, 1152, 8, 1152, 1160},
    {"dsv4_nvfp4", 512, 512, 224, 28, 28, 224, 0, 352, 32, 352, 384},
    {"dsv4_1_fp4", 512, 512, 256, 32, 32, -1, 0, 256, 32, 256, 288},
};

TEST(CacheFormat, BytesOfEveryFormat) {
  ASSERT_EQ(cacheFormats().size(), std::size(kExpected));
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    const Expected &e = kExpected[i];
    const CacheFormat *f = findCacheFormat(e.name);
    ASSERT_NE(f, nullptr) << e.name;
    EXPECT_EQ(f, &cacheFormats()[i]) << "order of the documentation";
    SCOPED_TRACE(e.name);
    EXPECT_EQ(f->dimQK(), e.dimQK);
    EXPECT_EQ(f->dimV(), e.dimV);
    EXPECT_EQ(f->payloadBytes(), e.payloadBytes);
    EXPECT_EQ(f->groups(), e.groups);
    EXPECT_EQ(f->scaleBytes(), e.scaleBytes);
    EXPECT_EQ(f->rope > 0, e.ropeOffset >= 0);
    if (f->rope)
      EXPECT_EQ(f->ropeOffset, e.ropeOffset);
    EXPECT_EQ(f->scaleOffset, e.scaleOffset);
    EXPECT_EQ(f->dataRow, e.dataRow);
    EXPECT_EQ(f->scaleRow, e.scaleRow);
    EXPECT_EQ(f->usedRow(), e.usedRow);
    EXPECT_EQ(f->tokenBytes(), e.tokenBytes);
  }
}

TEST(CacheFormat, PartsOfARecordDoNotOverlap) {
  for (const CacheFormat &f : cacheFormats()) {
    SCOPED_TRACE(std::string(f.name));
    EXPECT_EQ(f.nope % f.group, 0);
    EXPECT_LE(f.usedRow(), f.dataRow);
    EXPECT_EQ(f.dataRow % 16, 0) << "bulk copies move whole 16 bytes";
    bool inlined = f.place == ScalePlace::Inline;
    EXPECT_EQ(f.scaleRow == 0, inlined);
    if (inlined) {
      EXPECT_GE(f.scaleOffset, f.payloadBytes());
      EXPECT_EQ(f.scaleOffset % 4, 0);
      if (f.rope)
        EXPECT_GE(f.ropeOffset, f.scaleOffset + f.scaleBytes());
    } else {
      EXPECT_LE(f.scaleOffset + f.scaleBytes(), f.scaleRow);
      if (f.rope)
        EXPECT_GE(f.ropeOffset, f.payloadBytes());
    }
    if (f.rope)
      EXPECT_EQ(f.ropeOffset % 16, 0);
  }
}

TEST(CacheFormat, TypesAndPools) {
  EXPECT_EQ(findCacheFormat("dsv3_2")->scale, ScaleType::F32);
  EXPECT_EQ(findCacheFormat("glm53_nope")->scale, ScaleType::F32);
  EXPECT_EQ(findCacheFormat("dsv4")->scale, ScaleType::UE8M0);
  EXPECT_EQ(findCacheFormat("dots3_swa")->scale, ScaleType::UE8M0);
  EXPECT_EQ(findCacheFormat("dsv4_nvfp4")->scale, ScaleType::E4M3);
  EXPECT_EQ(findCacheFormat("dsv4_nvfp4")->payload, PayloadType::E2M1);
  EXPECT_EQ(findCacheFormat("dsv4_1_fp4")->payload, PayloadType::E2M1);
  std::set<std::string_view> withRope, extraOnly;
  for (const CacheFormat &f : cacheFormats()) {
    if (f.ropeInValue)
      withRope.insert(f.name);
    if (f.extraPoolOnly)
      extraOnly.insert(f.name);
  }
  EXPECT_EQ(withRope, (std::set<std::string_view>{"dsv4", "dsv4_nvfp4"}));
  EXPECT_EQ(extraOnly, (std::set<std::string_view>{"dsv4_1_fp4"}));
}

TEST(CacheFormat, LooksUpByExactName) {
  EXPECT_EQ(findCacheFormat("dsv5"), nullptr);
  EXPECT_EQ(findCacheFormat("DSV4"), nullptr);
  EXPECT_EQ(findCacheFormat(""), nullptr);
  EXPECT_EQ(findCacheFormat("dsv4_"), nullptr);
}

} // namespace
