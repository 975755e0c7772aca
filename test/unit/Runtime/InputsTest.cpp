// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs and the reference of mlatile-run.
#include "Inputs.h"
#include "Fixtures.h"
#include "Numbers.h"
#include "Reference.h"

#include <bit>
#include <cmath>

using namespace mlatile;
using namespace mlatile::run;

namespace {
/// Nearest of all values, ties to the even byte; by looking at each.
uint8_t nearestE4M3(double value) {
  double magnitude = std::min(std::fabs(value), 448.0);
  int best = 0;
  for (int byte = 1; byte < 127; ++byte) {
    double off = std::fabs(fromE4M3(static_cast<uint8_t>(byte)) - magnitude);
    double least = std::fabs(fromE4M3(static_cast<uint8_t>(best)) - magnitude);
    if (off < least || (off == least && byte % 2 == 0))
      best = byte;
  }
  return static_cast<uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

TEST(Inputs, E4M3IsRoundedToNearestEven) {
  for (int byte = 0; byte < 127; ++byte) {
    double value = fromE4M3(static_cast<uint8_t>(byte));
    double next = fromE4M3(static_cast<uint8_t>(std::min(byte + 1, 126)));
    for (double part : {0.0, 0.25, 0.499999, 0.5, 0.500001, 0.9})
      for (double sign : {1.0, -1.0}) {
        double given = sign * (value + part * (next - value));
        EXPECT_EQ(toE4M3(given), nearestE4M3(given)) << given;
      }
  }
  EXPECT_EQ(toE4M3(1e9), 126);
  EXPECT_EQ(toE4M3(-449), 0xfe);
  EXPECT_EQ(toE4M3(1e-30), 0);
}

TEST(Inputs, StridesAndSlices) {
  InputOptions options;
  options.tokens = 3;
  options.heads = 2;
  options.width = 9;
  options.pageSize = 4;
  options.format = "glm53_nope";
  options.rowStride = 656;
  options.pageStride = 4096;
  options.indicesStride = 11;
  options.slice = 4;
  options.candidateSets = 2;
  Inputs inputs = makeInputs(options);
  EXPECT_EQ(inputs.data(5) - inputs.pool.data(), 4096 + 656);
  EXPECT_EQ(inputs.scales(5) - inputs.data(5), 512);
  EXPECT_EQ(inputs.indices.size(), 33u);
  EXPECT_EQ(inputs.q.size(), 3u * 6 * 512);
  EXPECT_EQ(inputs.q[0], 0xffff); // a head before those of the problem
  EXPECT_NE(inputs.q[2 * 512], 0xffff);
  EXPECT_EQ(inputs.q[4 * 512], 0xffff);
  std::vector<int32_t> first = inputs.indices;
  inputs.useCandidates(1);
  EXPECT_NE(inputs.indices, first);
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t slot : inputs.candidates(row)) // of both sets
      EXPECT_NE(*inputs.data(slot), 0xff);
  options.rowStride = 512;
  EXPECT_HAS(errorOf<ArgumentError>([&] { makeInputs(options); }),
             "`row_stride`: expected at least 528, got 512");
}

TEST(Inputs, SinksOfEveryKind) {
  InputOptions options;
  options.heads = 6;
  options.sink = true;
  options.sinkValues = "mixed";
  std::vector<float> sink = makeInputs(options).sink;
  for (size_t h = 0; h < 6; ++h) {
    EXPECT_EQ(std::isinf(sink[h]), h % 3 != 0);
    EXPECT_EQ(sink[h] > 0, h % 3 == 1 || (h % 3 == 0 && sink[h] > 0));
  }
}

TEST(Reference, SomeRows) {
  InputOptions options;
  options.tokens = 50;
  options.heads = 3;
  options.width = 20;
  Inputs inputs = makeInputs(options);
  Expected all = computeReference(inputs), some = computeReference(inputs, 7);
  ASSERT_EQ(some.rows.size(), 7u);
  EXPECT_EQ(some.rows.front(), 0);
  EXPECT_EQ(some.rows.back(), 49);
  for (size_t i = 0; i < some.lse.size(); ++i) {
    auto row = static_cast<size_t>(some.rows[i / 3]);
    EXPECT_EQ(some.lse[i], all.lse[row * 3 + i % 3]);
  }
}

TEST(Reference, WhatIsNotWrittenOrWrittenBesideIsSeen) {
  InputOptions options;
  options.tokens = 40;
  options.heads = 2;
  options.width = 5;
  options.slice = 2;
  Inputs inputs = makeInputs(options);
  Expected expected = computeReference(inputs); // all, then two rows of it
  std::vector<uint16_t> out(40 * 4 * 512, 0xffff);
  std::vector<float> lse(40 * 4, std::bit_cast<float>(0xffffffffu));
  for (size_t row = 0; row < 40; ++row)
    for (size_t h = 0; h < 2; ++h) {
      for (size_t d = 0; d < 512; ++d)
        out[(row * 4 + 1 + h) * 512 + d] =
            toBF16(expected.out[(row * 2 + h) * 512 + d]);
      lse[row * 4 + 1 + h] =
          static_cast<float>(expected.lse[row * 2 + h] * 1.4426950408889634);
    }
  expected = computeReference(inputs, 2);
  Bounds bounds = boundsOf("bf16");
  EXPECT_TRUE(compareWith(inputs, expected, out, lse, bounds).ok);
  auto wrong = [&](auto &array, size_t at, auto value) {
    auto before = array[at];
    array[at] = value;
    Comparison comparison = compareWith(inputs, expected, out, lse, bounds);
    array[at] = before;
    EXPECT_FALSE(comparison.ok);
    return comparison.unwritten;
  };
  EXPECT_EQ(wrong(out, (7 * 4 + 2) * 512 + 5, uint16_t{0xffff}),
            "out at row 7 head 1 holds a NaN");
  EXPECT_EQ(wrong(out, (7 * 4 + 3) * 512, uint16_t{0}),
            "out at row 7 head 2 was written, which is no head of it");
  EXPECT_EQ(wrong(lse, 9 * 4 + 1, std::bit_cast<float>(0x7fc00000u)),
            "lse at row 9 head 0 holds a NaN");
  EXPECT_EQ(wrong(lse, 9 * 4, 1.0f),
            "lse at row 9 head -1 was written, which is no head of it");
}

TEST(Sizes, AbsurdOnesAreRefused) {
  InputOptions options;
  checkSizes(options, 4);
  options.tokens = options.width = int64_t{1} << 24;
  std::string text = errorOf<Error>([&] { checkSizes(options, 2); });
  EXPECT_HAS(text, "expected a problem that fits into the memory of this "
                   "machine");
  EXPECT_HAS(text, "indices 2097152.0 GiB");
  options = {};
  options.pages = int64_t{1} << 31;
  options.pageSize = int64_t{1} << 24;
  EXPECT_HAS(errorOf<Error>([&] { checkSizes(options, 2); }), "pool ");
  options = {};
  options.pageStride = int64_t{1} << 40;
  EXPECT_HAS(errorOf<Error>([&] { checkSizes(options, 2); }), "pool ");
  options = {};
  options.indicesStride = int64_t{1} << 31;
  options.tokens = 1 << 20;
  EXPECT_HAS(errorOf<Error>([&] { checkSizes(options, 2); }), "indices ");
}
} // namespace
