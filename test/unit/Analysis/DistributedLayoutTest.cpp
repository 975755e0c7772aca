// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomLayout.h"

#include <map>
#include <set>

using namespace mlatile;

namespace {

std::string refusal(Bases reg, Bases lane, Bases warp, Coords reps) {
  std::string error;
  EXPECT_FALSE(DistributedLayout::create(reg, lane, warp, reps, &error));
  return error;
}

TEST(DistributedLayout, RefusesMalformedVectors) {
  Bases lane{{1}, {2}, {4}, {8}, {16}};
  EXPECT_EQ(refusal({}, {{1}}, {}, {1}), "lane: expected 5 bases, got 1");
  EXPECT_EQ(refusal({}, lane, Bases(6, {0}), {1}),
            "warp: expected at most 5 bases, got 6");
  EXPECT_EQ(refusal({{1, 0}}, lane, {}, {1}),
            "reg basis 0: expected 1 coordinates, got 2");
  EXPECT_EQ(refusal({{-1}}, lane, {}, {1}),
            "reg basis 0: expected a coordinate in [0, 2^30), got -1");
  EXPECT_EQ(refusal({}, lane, {}, {0}),
            "reps of dim 0: expected at least 1, got 0");
  EXPECT_EQ(refusal({{1}, {1}}, lane, {}, {1}),
            "reg: expected independent bases, got 2 of rank 1");
  EXPECT_EQ(refusal({{64}}, lane, {}, {1}),
            "expected bases that reach every element of a block of 7 bits, got "
            "6 bases");
  EXPECT_EQ(refusal({{1}}, {{4}, {5}, {4}, {8}, {8}}, {{0}}, {1}),
            "expected bases that reach every element of a block of 4 bits, got "
            "rank 3");
  EXPECT_EQ(refusal({}, lane, {}, {int64_t(1) << 40}),
            "expected at most 1024 registers a thread, got more");
  EXPECT_EQ(refusal(Bases(70, {1}), lane, {}, {1}),
            "expected at most 1024 registers a thread, got more");
}

TEST(DistributedLayout, EveryElementHasItsPlaces) {
  std::mt19937_64 rng(11);
  for (int round = 0; round < 60; ++round) {
    DistributedLayout layout =
        random(rng, 8 * (1 + rng() % 3), 4 * (1 + rng() % 3), rng() % 3);
    Coords shape = layout.shape();
    std::map<Coords, int> owners;
    std::set<std::tuple<int, int, Coords>> held;
    int laneFree = layout.laneFreeMask(), warpFree = layout.warpFreeMask();
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      Coords at = layout.coord(reg, lane, warp);
      ASSERT_TRUE(at[0] >= 0 && at[0] < shape[0]);
      ASSERT_TRUE(at[1] >= 0 && at[1] < shape[1]);
      ASSERT_TRUE(held.insert({lane, warp, at}).second) << "held twice";
      EXPECT_EQ(layout.registerOf(at, lane, warp), reg);
      if (!(lane & laneFree) && !(warp & warpFree))
        ++owners[at];
      if (layout.registersAdd()) {
        Coords base = layout.coord(0, lane, warp), r = layout.regCoord(reg);
        EXPECT_EQ(at, (Coords{base[0] + r[0], base[1] + r[1]}));
      }
    });
    EXPECT_EQ(owners.size(), static_cast<size_t>(shape[0] * shape[1]));
    for (auto &[at, count] : owners) {
      EXPECT_EQ(count, 1) << "one owner each";
      auto place = layout.placeOf(at);
      ASSERT_TRUE(place);
      EXPECT_EQ(layout.coord(place->reg, place->lane, place->warp), at);
      EXPECT_EQ(place->lane & laneFree, 0);
      EXPECT_EQ(place->warp & warpFree, 0);
    }
    EXPECT_FALSE(layout.placeOf({shape[0], 0}));
    EXPECT_FALSE(layout.placeOf({0, -1}));
    EXPECT_FALSE(layout.placeOf({0}));
    EXPECT_FALSE(layout.registerOf({0, shape[1]}, 0, 0));
    // registerOf knows what a thread does not hold.
    for (int64_t row = 0; row < shape[0]; ++row)
      for (int64_t col = 0; col < shape[1]; ++col)
        EXPECT_EQ(layout.registerOf({row, col}, 3, 0).has_value(),
                  held.count({3, 0, {row, col}}) == 1);
  }
}

TEST(DistributedLayout, SliceKeepsWhatAThreadSees) {
  std::mt19937_64 rng(12);
  int exchanges = 0;
  for (int round = 0; round < 200; ++round) {
    DistributedLayout layout =
        random(rng, 8 * (1 + rng() % 3), 4 * (1 + rng() % 3), rng() % 3);
    for (int dim = 0; dim < 2; ++dim) {
      std::string error;
      DistributedLayout sliced = take(layout.slice(dim, &error), error);
      EXPECT_EQ(sliced.shape(), Coords{layout.shape()[1 - dim]});
      EXPECT_TRUE(sliced.isSliceOf(layout, dim));
      std::vector<int> registers = layout.sliceRegisters(dim);
      ASSERT_EQ(registers.size(), static_cast<size_t>(layout.numRegs()));
      std::set<int> used(registers.begin(), registers.end());
      EXPECT_EQ(used.size(), static_cast<size_t>(sliced.numRegs()));
      forEachPlace(layout, [&](int reg, int lane, int warp) {
        EXPECT_EQ(sliced.coord(registers[reg], lane, warp),
                  Coords{layout.coord(reg, lane, warp)[1 - dim]});
      });
      // Sum by registers, then over the exchange bits: each element counts
      // once.
      auto exchange = layout.exchangeAlong(dim);
      if (!exchange)
        continue;
      ++exchanges;
      for (int lane = 0; lane < 32; ++lane)
        for (int warp = 0; warp < layout.numWarps(); ++warp)
          for (int target = 0; target < sliced.numRegs(); ++target) {
            std::multiset<int64_t> summed;
            for (int l = 0; l < 32; ++l)
              for (int w = 0; w < layout.numWarps(); ++w)
                if (!((l ^ lane) & ~exchange->laneMask) &&
                    !((w ^ warp) & ~exchange->warpMask))
                  for (int reg = 0; reg < layout.numRegs(); ++reg)
                    if (registers[reg] == target)
                      summed.insert(layout.coord(reg, l, w)[dim]);
            std::multiset<int64_t> expected;
            for (int64_t i = 0; i < layout.shape()[dim]; ++i)
              expected.insert(i);
            ASSERT_EQ(summed, expected) << layout.str();
          }
    }
  }
  EXPECT_GT(exchanges, 20);
}

TEST(DistributedLayout, SliceToAScalar) {
  std::string error;
  DistributedLayout line =
      take(DistributedLayout::rowsOverThreads(64, 4, &error), error);
  DistributedLayout scalar = take(line.slice(0, &error), error);
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.numRegs(), 1);
  EXPECT_EQ(scalar.shape(), Coords{});
  EXPECT_EQ(scalar.laneFreeMask(), 31);
  EXPECT_EQ(scalar.warpFreeMask(), 3);
  EXPECT_EQ(scalar.placeOf({}), (DistributedLayout::Place{0, 0, 0}));
  EXPECT_EQ(scalar.vectorWidth(0), 1);
  EXPECT_FALSE(scalar.slice(0, &error));
  EXPECT_EQ(error, "slice: expected a dim below 0, got 0");
  EXPECT_FALSE(line.slice(-1));
  EXPECT_TRUE(line.sliceRegisters(1).empty());
  EXPECT_FALSE(line.exchangeAlong(1));
  EXPECT_EQ(DistributedLayout::parse(scalar.str()), scalar);
}

TEST(DistributedLayout, ComparisonsMatchBruteForce) {
  std::mt19937_64 rng(13);
  int same = 0, moved = 0, trivial = 0;
  for (int round = 0; round < 600; ++round) {
    int64_t rows = 8 * (1 + rng() % 3), cols = 8 * (1 + rng() % 3);
    int warpBits = 1 + rng() % 2;
    DistributedLayout from = random(rng, rows, cols, warpBits);
    DistributedLayout to = random(rng, rows, cols, warpBits);
    if (rng() % 2 == 0) { // the same lanes, other registers or other warps
      Bases reg = from.regBases(), warps = from.warpBases();
      std::shuffle(reg.begin(), reg.end(), rng);
      if (rng() % 2)
        std::reverse(warps.begin(), warps.end());
      to =
          *DistributedLayout::create(reg, from.laneBases(), warps, from.reps());
    }
    std::set<std::pair<int, Coords>> byWarp;
    forEachPlace(from, [&](int reg, int lane, int warp) {
      byWarp.insert({warp, from.coord(reg, lane, warp)});
    });
    bool expected = true;
    forEachPlace(to, [&](int reg, int lane, int warp) {
      expected &= byWarp.count({warp, to.coord(reg, lane, warp)}) == 1;
    });
    EXPECT_EQ(sameWarpOwnership(from, to), expected) << from.str() << "\n"
                                                     << to.str();
    same += expected;

    // The map that thread 0 needs, if it serves all.
    std::vector<int> map;
    bool all = true;
    for (int reg = 0; reg < to.numRegs() && all; ++reg) {
      auto source = from.registerOf(to.regCoord(reg), 0, 0);
      all = source.has_value();
      map.push_back(source.value_or(0));
    }
    if (all)
      forEachPlace(to, [&](int reg, int lane, int warp) {
        all &= from.coord(map[reg], lane, warp) == to.coord(reg, lane, warp);
      });
    auto found = registersOnly(from, to);
    ASSERT_EQ(found.has_value(), all) << from.str() << "\n" << to.str();
    if (!found)
      continue;
    EXPECT_EQ(*found, map);
    ++moved;
    trivial += from == to;
  }
  EXPECT_GT(same, 100);
  EXPECT_LT(same, 500);
  EXPECT_GT(moved, trivial) << "some map must be a real permutation";
}

TEST(DistributedLayout, ComparisonsAcrossBlockSizes) {
  // 448 columns in blocks of 64 and of 32: seven and fourteen repetitions.
  std::string error;
  DistributedLayout wide =
      take(DistributedLayout::mmaAccumulator(16, 448, 1, 8, &error), error);
  DistributedLayout loads =
      take(DistributedLayout::blocked({16, 448}, 2, 8, &error), error);
  EXPECT_FALSE(sameWarpOwnership(wide, loads));
  EXPECT_FALSE(sameWarpOwnership(
      wide, take(DistributedLayout::mmaAccumulator(16, 448, 1, 4), error)));
  EXPECT_FALSE(sameWarpOwnership(
      wide, take(DistributedLayout::mmaAccumulator(16, 512, 1, 8), error)));
  // A block of registers against repetitions of the same columns.
  DistributedLayout reps = take(
      DistributedLayout::create({}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
                                {}, {1, 6}, &error),
      error);
  DistributedLayout bases =
      take(DistributedLayout::create({{0, 4}},
                                     {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
                                     {}, {1, 3}, &error),
           error);
  EXPECT_EQ(registersOnly(reps, bases), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(registersOnly(bases, reps), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_NE(reps, bases);
  // Rows first in one, columns first in the other.
  DistributedLayout rows =
      take(DistributedLayout::create({{8, 0}},
                                     {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
                                     {}, {1, 3}, &error),
           error);
  DistributedLayout columns = take(
      DistributedLayout::create({}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
                                {}, {2, 3}, &error),
      error);
  EXPECT_EQ(registersOnly(rows, columns), (std::vector<int>{0, 2, 4, 1, 3, 5}));
}

TEST(DistributedLayout, BlockedCoalesces) {
  std::string error;
  DistributedLayout layout =
      take(DistributedLayout::blocked({64, 512}, 2, 4, &error), error);
  EXPECT_EQ(layout.vectorWidth(1), 8);
  EXPECT_EQ(layout.coord(0, 1, 0), (Coords{0, 8}));
  EXPECT_EQ(layout.coord(0, 31, 0), (Coords{0, 248}));
  EXPECT_EQ(layout.coord(0, 0, 1), (Coords{0, 256}));
  EXPECT_EQ(layout.coord(0, 0, 2), (Coords{1, 0}));
  EXPECT_EQ(layout.reps(), (Coords{32, 1}));
  layout = take(DistributedLayout::blocked({16, 448}, 2, 4, &error), error);
  EXPECT_EQ(layout.vectorWidth(1), 8);
  EXPECT_EQ(layout.blockShape(), (Coords{16, 64}));
  EXPECT_EQ(layout.reps(), (Coords{1, 7}));
  // Whatever the shape: everything is held, and vectors are what they say.
  std::vector<Coords> shapes{{1},    {63},    {500},     {2048},
                             {1, 1}, {3, 5},  {16, 576}, {13, 64},
                             {1, 7}, {64, 1}, {2, 3, 8}, {}};
  for (const Coords &shape : shapes)
    for (int bytes : {1, 2, 4, 16})
      for (int warps : {1, 8}) {
        DistributedLayout blocked = take(
            DistributedLayout::blocked(shape, bytes, warps, &error), error);
        ASSERT_EQ(blocked.shape(), shape);
        EXPECT_TRUE(blocked.registersAdd());
        int last = blocked.rank() - 1, width = blocked.vectorWidth(last);
        EXPECT_LE(width * bytes, 16);
        if (!shape.empty() && shape.back() % (16 / bytes) == 0)
          EXPECT_EQ(width * bytes, 16);
        forEachPlace(blocked, [&](int reg, int lane, int warp) {
          if (reg % width == 0)
            return;
          Coords at = blocked.coord(reg, lane, warp);
          Coords start = blocked.coord(reg - reg % width, lane, warp);
          start[last] += reg % width;
          EXPECT_EQ(at, start);
        });
      }
  EXPECT_FALSE(DistributedLayout::blocked({4, 0}, 2, 4, &error));
  EXPECT_EQ(error, "dim 1: expected at least 1, got 0");
  EXPECT_FALSE(DistributedLayout::blocked({4}, 3, 4, &error));
  EXPECT_EQ(error, "element bytes: expected 1, 2, 4, 8 or 16, got 3");
  EXPECT_FALSE(DistributedLayout::blocked({4}, 2, 12, &error));
  EXPECT_EQ(error, "warps: expected a power of two up to 32, got 12");
}

/// Planes are numbered by warps, then lanes, then registers, whatever number of
/// each there is, so that a tree over registers, lanes and warps, highest bits
/// first, is one over the planes.
TEST(DistributedLayout, PlanesInOneOrder) {
  struct Case {
    Coords shape;
    int warps;
    std::vector<int64_t> ofWarps, ofLanes; ///< planes between neighbours
  };
  const Case cases[] = {
      {{16, 1, 128}, 4, {1, 2}, {4}}, {{16, 1, 512}, 4, {1}, {}},
      {{8, 1, 128}, 1, {}, {1}},      {{8, 2, 512}, 4, {}, {}},
      {{4, 1, 8}, 4, {}, {1, 2}}, // no plane is left for the warps
      {{6, 1, 64}, 2, {}, {1}},   // the odd factor is registers'
  };
  for (const Case &c : cases) {
    std::string error;
    DistributedLayout layout =
        take(DistributedLayout::blocked(c.shape, 2, c.warps, &error), error);
    auto planes = [](const DistributedLayout::Bases &bases) {
      std::vector<int64_t> found;
      for (const Coords &basis : bases)
        if (basis.front())
          found.push_back(basis.front());
      return found;
    };
    EXPECT_EQ(planes(layout.warpBases()), c.ofWarps) << c.shape.front();
    EXPECT_EQ(planes(layout.laneBases()), c.ofLanes) << c.shape.front();
  }
}

TEST(DistributedLayout, TransposeRenumbersRepetitions) {
  std::mt19937_64 rng(16);
  int renumbered = 0;
  for (int round = 0; round < 100; ++round) {
    DistributedLayout layout = random(rng, 24, 20, 1);
    std::string error;
    DistributedLayout turned = take(layout.transpose({1, 0}, &error), error);
    std::vector<int> registers = layout.transposeRegisters({1, 0});
    ASSERT_EQ(registers.size(), static_cast<size_t>(layout.numRegs()));
    renumbered += !std::ranges::is_sorted(registers);
    forEachPlace(turned, [&](int reg, int lane, int warp) {
      Coords at = layout.coord(registers[reg], lane, warp);
      EXPECT_EQ(turned.coord(reg, lane, warp), (Coords{at[1], at[0]}));
    });
    EXPECT_EQ(turned.transpose({1, 0}), layout);
  }
  EXPECT_GT(renumbered, 20);
  DistributedLayout layout = random(rng, 24, 20, 1);
  std::string error;
  EXPECT_FALSE(layout.transpose({0, 0}, &error));
  EXPECT_EQ(error, "transpose: expected a permutation of the dims of a layout "
                   "of rank 2");
  EXPECT_FALSE(layout.transpose({0}));
  EXPECT_FALSE(layout.transpose({0, 1, 2}));
  EXPECT_FALSE(layout.transpose({0, 2}));
}

TEST(DistributedLayout, RowsOverThreads) {
  for (int warps : {1, 4, 8})
    for (int64_t rows : {1, 2, 16, 64, 128, 512, 96, 48, 7}) {
      std::string error;
      DistributedLayout layout =
          take(DistributedLayout::rowsOverThreads(rows, warps, &error), error);
      EXPECT_EQ(layout.shape(), Coords{rows});
      int64_t threads = 32 * warps, block = layout.blockShape()[0];
      EXPECT_EQ(block, std::min(rows & -rows, threads));
      EXPECT_EQ(layout.numRegs(), rows / block);
      forEachPlace(layout, [&](int reg, int lane, int warp) {
        int64_t tid = 32 * warp + lane;
        EXPECT_EQ(layout.coord(reg, lane, warp),
                  Coords{tid / (threads / block) + reg * block});
      });
    }
  std::string error;
  EXPECT_FALSE(DistributedLayout::rowsOverThreads(0, 4, &error));
  EXPECT_EQ(error, "dim 0: expected at least 1, got 0");
}

TEST(DistributedLayout, Replicated) {
  std::string error;
  DistributedLayout all =
      take(DistributedLayout::replicated({3, 5}, 4, &error), error);
  EXPECT_EQ(all.numRegs(), 15);
  EXPECT_EQ(all.coord(7, 21, 3), (Coords{1, 2}));
  EXPECT_EQ(all.laneFreeMask(), 31);
  EXPECT_EQ(all.warpFreeMask(), 3);
  // Everyone has what anyone needs.
  DistributedLayout some =
      take(DistributedLayout::blocked({3, 5}, 4, 4, &error), error);
  EXPECT_TRUE(sameWarpOwnership(all, some));
}

TEST(DistributedLayout, TextRoundTrip) {
  DistributedLayout c = *DistributedLayout::mmaAccumulator(16, 448, 1, 4);
  EXPECT_EQ(c.str(), "reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], "
                     "[2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, "
                     "14]");
  std::mt19937_64 rng(15);
  for (int round = 0; round < 100; ++round) {
    DistributedLayout layout = random(rng, 24, 12, rng() % 3);
    std::string error;
    auto parsed = DistributedLayout::parse(layout.str(), &error);
    ASSERT_TRUE(parsed) << error;
    EXPECT_EQ(*parsed, layout);
    EXPECT_EQ(parsed->hash(), layout.hash());
  }
  std::string error;
  auto refuse = [&](std::string_view text) {
    error.clear();
    EXPECT_FALSE(DistributedLayout::parse(text, &error)) << text;
    return error;
  };
  EXPECT_EQ(refuse("lane = []"), "column 1: expected 'reg', got 'lane = ['");
  EXPECT_EQ(refuse("reg = [[0, x]]"),
            "column 12: expected an integer, got 'x]]'");
  EXPECT_EQ(refuse("reg = [[0, 99999999999999999999]]"),
            "column 12: expected an integer below 2^40, got '99999999'");
  EXPECT_EQ(refuse("reg = [[0]"), "column 11: expected ']', got the end");
  EXPECT_EQ(refuse("reg = [], lane = [], warp = [], reps = [1]"),
            "lane: expected 5 bases, got 0");
  EXPECT_EQ(refuse(c.str() + "]"), "column " +
                                       std::to_string(c.str().size() + 1) +
                                       ": expected the end, got ']'");
}

} // namespace
