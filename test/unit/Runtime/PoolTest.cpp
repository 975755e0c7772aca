// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools in all the shapes that engines pass.
#include "Fixtures.h"
#include "TensorChecks.h"

using namespace mlatile;

namespace {
const CacheFormat &dsv4 = *findCacheFormat("dsv4");
const CacheFormat &glm = *findCacheFormat("glm");
alignas(256) uint8_t memory[1 << 20];

Tensor pool(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  Tensor tensor = hostTensor(memory, DType::U8, std::move(shape));
  tensor.strides = std::move(strides);
  return tensor;
}

Pool check(const Tensor &tensor, int64_t pageSize,
           const CacheFormat &format = dsv4,
           std::optional<int64_t> pageStride = {},
           std::optional<int64_t> rowStride = {}) {
  return checkPool("kv_cache", "", tensor, format, pageSize, pageStride,
                   rowStride);
}

TEST(Pool, Footer) {
  // 64 tokens: 37,376 bytes, rounded to 37,440 by engines.
  for (const Tensor &tensor :
       {pool({5, 37440}, {37440, 1}), pool({5, 64, 584}, {37440, 584, 1}),
        pool({5, 64, 1, 584}, {37440, 584, 584, 1}),
        pool({5, 1, 64, 584}, {37440, 37376, 584, 1})}) {
    Pool p = check(tensor, 64);
    EXPECT_EQ(p.slots, 320);
    EXPECT_EQ(p.pageStride, 37440);
    EXPECT_EQ(p.rowStride, 576);
  }
}

TEST(Pool, SingletonAxesAreNotGuessed) {
  EXPECT_EQ(check(pool({7, 1, 1, 584}, {592, 7, 9, 1}), 1).slots, 7);
  EXPECT_EQ(check(pool({1, 64, 1, 584}, {1, 584, 3, 1}), 64).pageStride, 37376);
  EXPECT_HAS(errorOf<ArgumentError>(
                 [] { check(pool({5, 64, 584}, {37440, 584, 1}), 32); }),
             "for page size 32, got [5, 64, 584]");
  EXPECT_HAS(errorOf<ArgumentError>([] {
               check(pool({5, 2, 64, 584}, {90000, 37376, 584, 1}), 64);
             }),
             "[pages, 1, 64, record]");
}

TEST(Pool, Strides) {
  // An odd number of 584-byte tokens is 8 mod 16.
  EXPECT_HAS(errorOf<ArgumentError>([] { check(pool({5, 584}, {584, 1}), 1); }),
             "got 584; the next good one is 592");
  EXPECT_HAS(
      errorOf<ArgumentError>([] { check(pool({5, 592}, {592, 1}), 2); }),
      "expected at least 1168 bytes a page (2 tokens of `dsv4`), got 592");
  EXPECT_HAS(
      errorOf<ArgumentError>([] { check(pool({5, 1168}, {592, 1}), 2); }),
      "pages overlap");
  EXPECT_HAS(errorOf<ArgumentError>(
                 [] { check(pool({5, 1168}, {1168, 1}), 2, dsv4, 1184); }),
             "`page_stride`: expected 1168");
  EXPECT_EQ(check(pool({1, 1168}, {1, 1}), 2, dsv4, 1184).pageStride, 1184);
  EXPECT_HAS(
      errorOf<ArgumentError>([] { check(pool({5, 1168}, {2336, 2}), 2); }),
      "contiguous last dimension");
  Tensor odd = pool({5, 1168}, {1168, 1});
  odd.data = memory + 8;
  EXPECT_HAS(errorOf<ArgumentError>([&] { check(odd, 2); }), "multiple of 16");
}

TEST(Pool, OverlappingViewsAreRefused) {
  // Storage rows of 64 elements, a token is nine of them: not token ids.
  Tensor view = pool({100, 576}, {64, 1});
  view.type = DType::BF16;
  EXPECT_HAS(errorOf<ArgumentError>([&] { check(view, 1); }), "expected uint8");
  EXPECT_HAS(
      errorOf<ArgumentError>([] { check(pool({100, 656}, {64, 1}), 1, glm); }),
      "pages overlap");
  EXPECT_HAS(errorOf<ArgumentError>(
                 [] { check(pool({10, 4, 584}, {2336, 64, 1}), 4); }),
             "tokens overlap");
}

TEST(Pool, Inline) {
  Pool p = check(pool({3, 4, 656}, {2688, 672, 1}), 4, glm);
  EXPECT_EQ(p.rowStride, 672);
  EXPECT_EQ(p.pageStride, 2688);
  EXPECT_HAS(errorOf<ArgumentError>([] {
               check(pool({3, 4, 656}, {2688, 672, 1}), 4, glm, {}, 656);
             }),
             "`row_stride`: expected 672");
  // 528-byte records in rows of 656: anything after is padding.
  const CacheFormat &nope = *findCacheFormat("glm53_nope");
  EXPECT_EQ(check(pool({3, 4, 656}, {2624, 656, 1}), 4, nope).rowStride, 656);
  EXPECT_EQ(check(pool({3, 2112}, {2112, 1}), 4, nope).rowStride, 528);
}

TEST(Pool, Float8IsReadAsBytes) {
  Tensor tensor = pool({5, 1168}, {1168, 1});
  tensor.type = DType::F8;
  EXPECT_EQ(check(tensor, 2).slots, 10);
}
} // namespace
