// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/SharedLayout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mlatile;

namespace {

std::string refusal(int64_t rows, int64_t cols, int bytes, int64_t stride,
                    Swizzle swizzle = {}) {
  std::string error;
  EXPECT_FALSE(
      SharedLayout::create(rows, cols, bytes, stride, swizzle, &error));
  return error;
}

TEST(SharedLayout, RefusesMalformedBuffers) {
  EXPECT_EQ(refusal(4, 8, 3, 0),
            "element bytes: expected 1, 2, 4, 8 or 16, got 3");
  EXPECT_EQ(refusal(0, 8, 2, 0),
            "shared buffer: expected 1 to 2^24 rows and columns, got 0 x 8");
  EXPECT_EQ(refusal(4, 8, 2, 14),
            "row stride: expected a multiple of 2 of at least 16, got 14");
  EXPECT_EQ(refusal(4, 8, 2, 17),
            "row stride: expected a multiple of 2 of at least 16, got 17");
  EXPECT_EQ(refusal(4, 8, 2, 16, {0, 2}),
            "swizzle: expected a mask one below a power of two and a shift of "
            "at most 31, got mask 2, shift 0");
  EXPECT_EQ(refusal(4, 8, 2, 16, {0, 7}),
            "swizzle: expected a row stride that is a multiple of 128, got 16");
  std::string error;
  EXPECT_FALSE(SharedLayout::swizzled(8, 24, 2, &error));
  EXPECT_EQ(error, "swizzle: expected rows of 16, 32 or 64 bytes or a multiple "
                   "of 128, got 48");
  EXPECT_FALSE(SharedLayout::padded(8, -1, 2, &error));
  EXPECT_FALSE(SharedLayout::padded(8, 8, 0, &error));
  EXPECT_FALSE(SharedLayout::create(1, int64_t(1) << 60, 16));
}

TEST(SharedLayout, OffsetsAreDistinctAndInside) {
  for (auto layout :
       {SharedLayout::create(16, 48, 2), SharedLayout::padded(16, 576, 2),
        SharedLayout::swizzled(16, 448 + 64, 1),
        SharedLayout::swizzled(32, 32, 2), SharedLayout::swizzled(32, 16, 2),
        SharedLayout::create(1, 63, 4)}) {
    ASSERT_TRUE(layout);
    std::set<int64_t> seen;
    for (int64_t row = 0; row < layout->rows(); ++row)
      for (int64_t col = 0; col < layout->cols(); ++col) {
        int64_t at = layout->offset(row, col);
        EXPECT_EQ(at % layout->elementBytes(), 0);
        EXPECT_GE(at, row * layout->rowStride());
        EXPECT_LE(at + layout->elementBytes(), layout->sizeBytes());
        EXPECT_TRUE(seen.insert(at).second) << layout->str();
      }
  }
}

TEST(SharedLayout, StrideForLdmatrix) {
  EXPECT_EQ(conflictFreeStride(1), 16);
  EXPECT_EQ(conflictFreeStride(16), 16);
  EXPECT_EQ(conflictFreeStride(17), 48);
  EXPECT_EQ(conflictFreeStride(128), 144);
  EXPECT_EQ(conflictFreeStride(576), 592);
  EXPECT_EQ(conflictFreeStride(584), 592);
  EXPECT_EQ(conflictFreeStride(656), 656);
  EXPECT_EQ(conflictFreeStride(1152), 1168);
  // It is the smallest multiple of 16 without conflicts, no less.
  for (int64_t bytes = 16; bytes <= 1200; bytes += 16)
    for (int64_t stride = bytes; stride <= conflictFreeStride(bytes);
         stride += 16) {
      auto layout = SharedLayout::create(8, bytes, 1, stride);
      ASSERT_TRUE(layout);
      EXPECT_EQ(layout->worstLdmatrixConflicts() == 0,
                stride == conflictFreeStride(bytes));
    }
}

TEST(SharedLayout, StrideForSegments) {
  EXPECT_EQ(segmentStride(1), 64);
  EXPECT_EQ(segmentStride(64), 64);
  EXPECT_EQ(segmentStride(65), 192);
  EXPECT_EQ(segmentStride(528), 576);
  EXPECT_EQ(segmentStride(576), 576);
  EXPECT_EQ(segmentStride(656), 704);
  EXPECT_EQ(segmentStride(1152), 1216);
  // Half a warp reads 64 bytes of each of two rows, 8 bytes a thread, wherever
  // they begin: at once, with the smallest multiple of 64 that allows it.
  for (int64_t bytes = 64; bytes <= 1216; bytes += 32)
    for (int64_t stride = (bytes + 63) / 64 * 64;
         stride <= segmentStride(bytes); stride += 64)
      for (int64_t start = 0; start < bytes; start += 32) {
        std::vector<int64_t> offsets;
        for (int64_t thread = 0; thread < 16; ++thread)
          offsets.push_back(start + thread / 8 * stride + thread % 8 * 8);
        EXPECT_EQ(sharedWavefronts(offsets, 8) == 1,
                  stride == segmentStride(bytes));
      }
}

TEST(SharedLayout, LdmatrixConflictsOfKnownRows) {
  // Rows of 1024 bytes begin at one bank: eight wavefronts instead of one.
  auto tight = SharedLayout::create(64, 512, 2);
  EXPECT_EQ(tight->ldmatrixConflicts(0, 0), 7);
  EXPECT_EQ(SharedLayout::create(64, 32, 2)->ldmatrixConflicts(0, 0), 3);
  EXPECT_EQ(SharedLayout::create(64, 576, 1)->ldmatrixConflicts(8, 16), 3)
      << "576 = 4 * 144: every second row meets the same banks";
  for (int64_t bytes : {16, 32, 64, 128, 512, 1024, 1152}) {
    auto swizzled = SharedLayout::swizzled(64, bytes, 1);
    ASSERT_TRUE(swizzled);
    EXPECT_EQ(swizzled->worstLdmatrixConflicts(), 0) << bytes;
    EXPECT_TRUE(swizzled->ldmatrixAligned());
    EXPECT_EQ(swizzled->sizeBytes(), 64 * bytes);
  }
}

TEST(SharedLayout, WavefrontsCountWordsOfTheFullestBank) {
  EXPECT_EQ(sharedWavefronts(std::vector<int64_t>{0, 128, 256}, 4), 3);
  EXPECT_EQ(sharedWavefronts(std::vector<int64_t>{0, 0, 2}, 2), 1)
      << "one word, read once";
  EXPECT_EQ(sharedWavefronts(std::vector<int64_t>{0, 16, 32}, 16), 1);
  EXPECT_EQ(sharedWavefronts(std::vector<int64_t>{0, 120}, 16), 2)
      << "the second runs over into bank 0 and 1";
  EXPECT_EQ(sharedWavefronts(std::vector<int64_t>{}, 4), 0);
}

TEST(SharedLayout, AlignmentOfRows) {
  auto rope = SharedLayout::create(64, 584, 1); // 584 = 8 * 73
  EXPECT_EQ(rope->rowAlignment(), 8);
  EXPECT_FALSE(rope->ldmatrixAligned());
  auto padded = SharedLayout::create(64, 584, 1, 592);
  EXPECT_EQ(padded->rowAlignment(), 16);
  EXPECT_TRUE(padded->ldmatrixAligned());
  EXPECT_TRUE(padded->ldmatrixAligned(448));
  EXPECT_FALSE(padded->ldmatrixAligned(440));
  EXPECT_TRUE(SharedLayout::create(1, 500, 1)->ldmatrixAligned(16));
}

TEST(SharedLayout, VectorsOfALayout) {
  auto layout = DistributedLayout::blocked({64, 512}, 2, 4);
  ASSERT_TRUE(layout);
  auto padded = SharedLayout::padded(64, 512, 2);
  EXPECT_EQ(padded->vectorBytes(*layout), 16);
  EXPECT_EQ(padded->accessConflicts(*layout), 0) << "a row at a time";
  EXPECT_EQ(SharedLayout::create(64, 512, 2, 1032)->vectorBytes(*layout), 8);
  auto c = DistributedLayout::mmaAccumulator(64, 64, 4, 1);
  ASSERT_TRUE(c);
  auto f32 = SharedLayout::create(64, 64, 4);
  EXPECT_EQ(f32->vectorBytes(*c), 8);
  // Sixteen lanes a phase: four rows of 256 bytes at the same eight banks.
  EXPECT_EQ(f32->accessConflicts(*c), 16 * 2 * 3)
      << "16 vectors a thread, two phases each, four words a bank";
  EXPECT_EQ(SharedLayout::create(64, 64, 4, 256 + 32)->accessConflicts(*c), 0);
  EXPECT_EQ(f32->accessConflicts(*c, 0, 16), -1);
  EXPECT_EQ(f32->accessConflicts(*c, 0, 2), -1);
  EXPECT_EQ(SharedLayout::create(32, 64, 4)->vectorBytes(*c), 0);
  EXPECT_EQ(SharedLayout::create(32, 64, 4)->accessConflicts(*c), -1);
  // Copies of one row: all lanes of a quad read the same word.
  auto rows = c->slice(1);
  ASSERT_TRUE(rows);
  auto line = SharedLayout::create(1, 64, 4);
  EXPECT_EQ(line->vectorBytes(*rows), 4);
  EXPECT_EQ(line->accessConflicts(*rows), 0);
}

/// Tiles of three dimensions: the rows of a plane follow those of the one
/// before.
TEST(SharedLayout, Planes) {
  auto layout = DistributedLayout::blocked({4, 2, 64}, 4, 1);
  ASSERT_TRUE(layout);
  auto rows = SharedLayout::create(8, 64, 4);
  EXPECT_EQ(rows->vectorBytes(*layout), 16);
  EXPECT_EQ(rows->accessConflicts(*layout), 0);
  EXPECT_EQ(SharedLayout::create(7, 64, 4)->vectorBytes(*layout), 0) << "rows";
  EXPECT_EQ(SharedLayout::create(8, 63, 4)->vectorBytes(*layout), 0);
  EXPECT_EQ(SharedLayout::create(8, 64, 4, 264)->vectorBytes(*layout), 8);
  auto planes = DistributedLayout::blocked({8, 1, 16}, 4, 1);
  ASSERT_TRUE(planes);
  // Two rows of 64 bytes a phase: side by side, or at the same banks.
  EXPECT_EQ(SharedLayout::create(8, 16, 4)->accessConflicts(*planes), 0);
  EXPECT_EQ(SharedLayout::create(8, 16, 4, 128)->accessConflicts(*planes), 4);
  // One plane of several rows is rows too.
  auto one = DistributedLayout::blocked({1, 4, 64}, 4, 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(SharedLayout::create(4, 64, 4, 260)->vectorBytes(*one), 4);
  EXPECT_EQ(SharedLayout::create(4, 64, 4, 264)->vectorBytes(*one), 8);
  EXPECT_EQ(SharedLayout::create(1, 64, 4, 260)
                ->vectorBytes(*DistributedLayout::blocked({1, 1, 64}, 4, 1)),
            16);
}

TEST(SharedLayout, TextHashAndEquality) {
  auto padded = SharedLayout::padded(64, 576, 2);
  EXPECT_EQ(padded->str(),
            "rows = 64, cols = 576, bytes = 2, stride = 1168, swizzle = none");
  auto swizzled = SharedLayout::swizzled(64, 32, 2);
  EXPECT_EQ(swizzled->str(),
            "rows = 64, cols = 32, bytes = 2, stride = 64, swizzle = [1, 3]");
  EXPECT_EQ(*padded, *SharedLayout::create(64, 576, 2, 1168));
  EXPECT_EQ(padded->hash(), SharedLayout::create(64, 576, 2, 1168)->hash());
  EXPECT_NE(*padded, *SharedLayout::create(64, 576, 2));
  EXPECT_NE(padded->hash(), SharedLayout::create(64, 576, 2)->hash());
}

} // namespace
