// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/LinearLayout.h"

#include "mlatile/Analysis/BitSpan.h"

#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlatile;

namespace {

using Coords = LinearLayout::Coords;
using In = LinearLayout::In;
using Out = LinearLayout::Out;

LinearLayout make(std::vector<In> ins, std::vector<Out> outs) {
  std::string error;
  LinearLayout::Result layout =
      LinearLayout::create(std::move(ins), std::move(outs), &error);
  EXPECT_TRUE(layout) << error;
  return layout.value_or(LinearLayout());
}

std::string refusal(std::vector<In> ins, std::vector<Out> outs) {
  std::string error;
  EXPECT_FALSE(LinearLayout::create(std::move(ins), std::move(outs), &error));
  return error;
}

/// The accumulator of mma.m16n8, the worked table of the header.
LinearLayout accumulator() {
  return make({{"reg", {{0, 1}, {8, 0}}},
               {"lane", {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
              {{"row", 16}, {"col", 8}});
}

/// Random bases; inputs of up to `maxIn` bits in all, likewise outputs.
LinearLayout random(std::mt19937_64 &rng, int maxIn = 8, int maxOut = 8) {
  int outBits = rng() % (maxOut + 1), first = rng() % (outBits + 1);
  std::vector<Out> outs{{"x", int64_t(1) << first},
                        {"y", int64_t(1) << (outBits - first)}};
  std::vector<In> ins{{"a", {}}, {"b", {}}};
  for (int bit = rng() % (maxIn + 1); bit > 0; --bit)
    ins[rng() % 2].bases.push_back(
        {static_cast<int64_t>(rng()) & (outs[0].size - 1),
         static_cast<int64_t>(rng()) & (outs[1].size - 1)});
  return make(std::move(ins), std::move(outs));
}

uint64_t inEnd(const LinearLayout &layout) {
  return uint64_t(1) << layout.totalInBits();
}

TEST(BitSpan, SolvesExactlyTheSpan) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> vectors(rng() % 7);
    BitSpan span;
    uint64_t dependent = 0;
    for (size_t i = 0; i < vectors.size(); ++i) {
      vectors[i] = rng() % 64;
      if (!span.insert(vectors[i]))
        dependent |= uint64_t(1) << i;
    }
    std::set<uint64_t> reached;
    for (uint64_t set = 0; set < uint64_t(1) << vectors.size(); ++set) {
      uint64_t sum = 0;
      for (size_t i = 0; i < vectors.size(); ++i)
        if (set >> i & 1)
          sum ^= vectors[i];
      reached.insert(sum);
    }
    EXPECT_EQ(reached.size(), uint64_t(1) << span.rank());
    for (uint64_t target = 0; target < 64; ++target) {
      std::optional<uint64_t> found = span.solve(target);
      ASSERT_EQ(found.has_value(), reached.count(target) == 1);
      if (!found)
        continue;
      EXPECT_EQ(*found & dependent, 0u) << "free variables stay zero";
      uint64_t sum = 0;
      for (size_t i = 0; i < vectors.size(); ++i)
        if (*found >> i & 1)
          sum ^= vectors[i];
      EXPECT_EQ(sum, target);
    }
  }
}

TEST(LinearLayout, RefusesMalformedBases) {
  EXPECT_EQ(refusal({{"a", {{0}}}, {"a", {}}}, {{"x", 2}}),
            "input 'a' is named twice");
  EXPECT_EQ(refusal({}, {{"x", 2}, {"x", 4}}), "output 'x' is named twice");
  EXPECT_EQ(refusal({}, {{"x", 6}}), "dim 'x': expected a power of two, got 6");
  EXPECT_EQ(refusal({}, {{"x", 0}}), "dim 'x': expected a power of two, got 0");
  EXPECT_EQ(refusal({{"a", {{1}, {1, 0}}}}, {{"x", 2}}),
            "input 'a', basis 1: expected 1 coordinates, got 2");
  EXPECT_EQ(refusal({{"a", {{2}}}}, {{"x", 2}}),
            "input 'a', basis 0: expected a coordinate below 2 in 'x', got 2");
  EXPECT_EQ(refusal({{"a", {{-1}}}}, {{"x", 2}}),
            "input 'a', basis 0: expected a coordinate below 2 in 'x', got -1");
  EXPECT_EQ(refusal({}, {{"x", int64_t(1) << 40}, {"y", int64_t(1) << 40}}),
            "expected at most 62 bits of inputs and of outputs, got 0 and 80");
  EXPECT_FALSE(LinearLayout::identity1D(3, "a", "x"));
  EXPECT_FALSE(LinearLayout::zeros1D(0, "a", "x"));
}

TEST(LinearLayout, WorkedTableOfTheHeader) {
  LinearLayout c = accumulator();
  EXPECT_EQ(c.apply(Coords{3, 13}), (Coords{11, 3}));
  EXPECT_EQ(c.rank(), 7);
  EXPECT_TRUE(c.isBijective());
  std::string error;
  auto named = c.apply({{"lane", 13}, {"reg", 3}}, &error);
  ASSERT_TRUE(named) << error;
  EXPECT_EQ((*named)[0], LinearLayout::Named("row", 11));
  EXPECT_EQ((*named)[1], LinearLayout::Named("col", 3));
  EXPECT_FALSE(c.apply({{"lan", 13}}, &error));
  EXPECT_EQ(error, "unknown input 'lan'");
  EXPECT_FALSE(c.apply({{"lane", 32}}, &error));
  EXPECT_EQ(error, "input 'lane': expected a value below 32, got 32");
  EXPECT_FALSE(c.apply({{"lane", 1}, {"lane", 1}}, &error));
  EXPECT_EQ(error, "input 'lane' is given twice");
}

TEST(LinearLayout, BuildsTheAccumulatorFromFactors) {
  auto built = LinearLayout::identity1D(2, "reg", "col") *
               LinearLayout::identity1D(4, "lane", "col") *
               LinearLayout::identity1D(8, "lane", "row") *
               LinearLayout::identity1D(2, "reg", "row");
  ASSERT_TRUE(built);
  auto ordered = built->sublayout({"reg", "lane"}, {"row", "col"});
  ASSERT_TRUE(ordered);
  EXPECT_EQ(*ordered, accumulator());
  // The copies of a second operand: zero bases.
  auto copies = built * LinearLayout::zeros1D(4, "warp", "row");
  ASSERT_TRUE(copies);
  EXPECT_EQ(copies->broadcastMask("warp"), 3);
  EXPECT_EQ(copies->freeVariableMasks(), (std::vector<int64_t>{0, 0, 3}));
  EXPECT_FALSE(copies->isInjective());
  EXPECT_TRUE(copies->isSurjective());
}

TEST(LinearLayout, SwizzleTableOfTheHeader) {
  LinearLayout swizzle = make(
      {{"chunk", {{0, 1}, {0, 2}, {0, 4}}}, {"row", {{1, 1}, {2, 2}, {4, 4}}}},
      {{"row", 8}, {"place", 8}});
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(swizzle.apply(Coords{chunk, row}), (Coords{row, chunk ^ row}));
  auto column = swizzle.sublayout({"row"}, {"place"});
  ASSERT_TRUE(column);
  EXPECT_EQ(column->rank(), 3) << "eight rows, eight places";
}

TEST(LinearLayout, IsLinearAndFlattens) {
  std::mt19937_64 rng(2);
  for (int round = 0; round < 100; ++round) {
    LinearLayout f = random(rng);
    int64_t aSize = f.inSize("a");
    std::set<uint64_t> image;
    for (uint64_t x = 0; x < inEnd(f); ++x) {
      uint64_t y = rng() % inEnd(f);
      EXPECT_EQ(f.applyFlat(x ^ y), f.applyFlat(x) ^ f.applyFlat(y));
      Coords at = f.apply(Coords{static_cast<int64_t>(x) % aSize,
                                 static_cast<int64_t>(x) / aSize});
      EXPECT_EQ(f.applyFlat(x),
                static_cast<uint64_t>(at[0] + at[1] * f.outSize("x")));
      image.insert(f.applyFlat(x));
    }
    EXPECT_EQ(image.size(), uint64_t(1) << f.rank());
    EXPECT_EQ(f.isInjective(), image.size() == inEnd(f));
    EXPECT_EQ(f.isSurjective(), image.size() == uint64_t(1)
                                                    << f.totalOutBits());
  }
}

TEST(LinearLayout, FreeVariablesReachEachOutputOnce) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 100; ++round) {
    LinearLayout f = random(rng);
    std::vector<int64_t> masks = f.freeVariableMasks();
    uint64_t flat = masks[0] | masks[1] << f.inBits("a");
    std::set<uint64_t> reached;
    uint64_t visited = 0;
    for (uint64_t x = 0; x < inEnd(f); ++x)
      if (!(x & flat)) {
        ++visited;
        EXPECT_TRUE(reached.insert(f.applyFlat(x)).second);
      }
    EXPECT_EQ(visited, uint64_t(1) << f.rank());
  }
}

TEST(LinearLayout, InverseUndoes) {
  std::mt19937_64 rng(4);
  int bijective = 0, surjective = 0;
  for (int round = 0; round < 2000; ++round) {
    LinearLayout f = random(rng, 8, 4);
    std::string error;
    auto inverse = f.invert(&error);
    auto right = f.pseudoInvert();
    EXPECT_EQ(inverse.has_value(), f.isBijective());
    EXPECT_EQ(inverse.has_value(), error.empty());
    EXPECT_EQ(right.has_value(), f.isSurjective());
    if (right) {
      ++surjective;
      std::vector<int64_t> free = f.freeVariableMasks();
      uint64_t flat = free[0] | free[1] << f.inBits("a");
      for (uint64_t y = 0; y < uint64_t(1) << f.totalOutBits(); ++y) {
        EXPECT_EQ(f.applyFlat(right->applyFlat(y)), y);
        EXPECT_EQ(right->applyFlat(y) & flat, 0u);
      }
      auto both = right->compose(f);
      ASSERT_TRUE(both);
      for (uint64_t y = 0; y < inEnd(*both); ++y)
        EXPECT_EQ(both->applyFlat(y), y);
    }
    if (!inverse)
      continue;
    ++bijective;
    EXPECT_EQ(inverse->invert(), f);
    for (uint64_t x = 0; x < inEnd(f); ++x)
      EXPECT_EQ(inverse->applyFlat(f.applyFlat(x)), x);
  }
  EXPECT_GT(bijective, 50);
  EXPECT_GT(surjective, bijective);
}

TEST(LinearLayout, ComposesPointwise) {
  std::mt19937_64 rng(5);
  int composed = 0;
  for (int round = 0; round < 500; ++round) {
    LinearLayout f = random(rng), g = random(rng);
    auto renamed = g.renameIn("a", "y");
    ASSERT_TRUE(renamed);
    renamed = renamed->renameIn("b", "x");
    ASSERT_TRUE(renamed);
    bool fits = f.outSize("x") <= renamed->inSize("x") &&
                f.outSize("y") <= renamed->inSize("y");
    std::string error;
    auto both = f.compose(*renamed, &error);
    ASSERT_EQ(both.has_value(), fits) << error;
    EXPECT_EQ(both.has_value(), error.empty());
    if (!both)
      continue;
    ++composed;
    for (int64_t a = 0; a < f.inSize("a"); ++a)
      for (int64_t b = 0; b < f.inSize("b"); ++b) {
        Coords middle = f.apply(Coords{a, b}); // x, y
        EXPECT_EQ(both->apply(Coords{a, b}),
                  renamed->apply(Coords{middle[1], middle[0]}));
      }
  }
  EXPECT_GT(composed, 20);
  std::string error;
  EXPECT_FALSE(accumulator().compose(accumulator(), &error));
  EXPECT_EQ(error, "compose: output 'row' is no input of the next layout");
}

TEST(LinearLayout, ProductExtendsAndDivides) {
  std::mt19937_64 rng(6);
  for (int round = 0; round < 300; ++round) {
    LinearLayout f = random(rng, 5, 5), g = random(rng, 5, 5);
    auto both = f * g;
    ASSERT_TRUE(both);
    for (int64_t a = 0; a < both->inSize("a"); ++a)
      for (int64_t b = 0; b < both->inSize("b"); ++b) {
        Coords low =
            f.apply(Coords{a & (f.inSize("a") - 1), b & (f.inSize("b") - 1)});
        Coords high = g.apply(Coords{a >> f.inBits("a"), b >> f.inBits("b")});
        EXPECT_EQ(both->apply(Coords{a, b}),
                  (Coords{low[0] | high[0] << f.outBits("x"),
                          low[1] | high[1] << f.outBits("y")}));
      }
    auto quotient = both->divideLeft(f);
    ASSERT_TRUE(quotient) << both->str() << " / " << f.str();
    EXPECT_EQ(f * quotient, *both);
  }
  // Quotients that do not exist: other low bits, or high bits mixed into them.
  LinearLayout c = accumulator();
  auto columnsFirst = LinearLayout::identity1D(4, "reg", "col");
  EXPECT_FALSE(c.divideLeft(*columnsFirst));
  LinearLayout mixed = make({{"reg", {{1}, {3}}}}, {{"x", 4}});
  EXPECT_FALSE(mixed.divideLeft(*LinearLayout::identity1D(2, "reg", "x")));
  EXPECT_EQ(LinearLayout() * c, c);
  EXPECT_EQ(c * LinearLayout(), c);
  EXPECT_EQ(*c.divideLeft(c), LinearLayout());
  // Too large, or a factor that failed: no product.
  auto wide = LinearLayout::identity1D(int64_t(1) << 40, "a", "x");
  ASSERT_TRUE(wide);
  EXPECT_FALSE(wide * LinearLayout::identity1D(int64_t(1) << 40, "b", "y"));
  EXPECT_FALSE(c * LinearLayout::identity1D(3, "b", "y") * c);
}

TEST(LinearLayout, DimsAreProjectedRenamedAndReshaped) {
  LinearLayout c = accumulator();
  auto rows = c.removeOutDim("col");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->str(),
            "reg = [[0], [8]], lane = [[0], [0], [1], [2], [4]] -> (row 16)");
  EXPECT_EQ(rows->broadcastMask("reg"), 1);
  EXPECT_EQ(rows->broadcastMask("lane"), 3);
  std::string error;
  EXPECT_FALSE(c.removeOutDim("depth", &error));
  EXPECT_EQ(error, "unknown output 'depth'");
  EXPECT_FALSE(c.renameIn("reg", "lane", &error));
  EXPECT_EQ(error, "input 'lane' is named twice");
  EXPECT_FALSE(c.renameOut("col", "row", &error));
  EXPECT_EQ(error, "output 'row' is named twice");

  auto flat = c.sublayout({"reg", "lane"}, {"col", "row"});
  ASSERT_TRUE(flat);
  auto offset = flat->reshapeOuts({{"offset", 128}});
  ASSERT_TRUE(offset);
  for (int64_t reg = 0; reg < 4; ++reg)
    for (int64_t lane = 0; lane < 32; ++lane) {
      Coords at = c.apply(Coords{reg, lane});
      EXPECT_EQ(offset->apply(Coords{reg, lane}), (Coords{at[0] * 8 + at[1]}));
    }
  EXPECT_EQ(offset->reshapeOuts({{"col", 8}, {"row", 16}}), *flat);
  auto ins = c.reshapeIns({{"reg", 4}, {"t", 4}, {"g", 8}});
  ASSERT_TRUE(ins);
  EXPECT_EQ(ins->apply(Coords{3, 1, 3}), (Coords{11, 3}));
  EXPECT_FALSE(c.reshapeIns({{"reg", 4}}, &error));
  EXPECT_EQ(error, "reshape: expected sizes of 7 bits in total, got 2");
  EXPECT_FALSE(c.reshapeOuts({{"x", 64}, {"x", 2}}, &error));
  EXPECT_EQ(error, "dim 'x' is named twice");
}

TEST(LinearLayout, EqualityAndHash) {
  EXPECT_EQ(accumulator(), accumulator());
  EXPECT_EQ(accumulator().hash(), accumulator().hash());
  std::mt19937_64 rng(7);
  std::set<size_t> hashes;
  std::set<std::string> texts;
  for (int round = 0; round < 500; ++round) {
    LinearLayout f = random(rng);
    hashes.insert(f.hash());
    texts.insert(f.str());
  }
  EXPECT_EQ(hashes.size(), texts.size());
  EXPECT_NE(accumulator(), *accumulator().renameIn("reg", "r"));
}

} // namespace
