// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomLayout.h"

#include <map>
#include <numeric>

using namespace mlatile;

namespace {

TEST(DistributedLayout, VectorWidthNeedsWholeVectors) {
  // Pairs along dim 1, but a lane steps inside a group of four.
  DistributedLayout mixed = *DistributedLayout::create(
      {{0, 1}, {0, 2}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {}, {1, 1});
  EXPECT_EQ(mixed.vectorWidth(1), 2);
  EXPECT_EQ(mixed.vectorWidth(0), 1);
  // Registers in another order are no vector.
  DistributedLayout swapped = *DistributedLayout::create(
      {{0, 2}, {0, 1}}, {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}, {}, {1, 1});
  EXPECT_EQ(swapped.vectorWidth(1), 1);
  std::mt19937_64 rng(14);
  for (int round = 0; round < 300; ++round) {
    DistributedLayout layout = random(rng, 8, 8, 1);
    for (int dim = 0; dim < 2; ++dim) {
      auto isWidth = [&](int width) {
        bool good = layout.regsPerBlock() >= width;
        forEachPlace(layout, [&](int reg, int lane, int warp) {
          Coords start = layout.coord(reg - reg % width, lane, warp);
          good &= start[dim] % width == 0;
          start[dim] += reg % width;
          good &= layout.coord(reg, lane, warp) == start;
        });
        return good;
      };
      int width = layout.vectorWidth(dim);
      EXPECT_TRUE(isWidth(width)) << layout.str();
      EXPECT_FALSE(isWidth(2 * width)) << layout.str();
    }
  }
}

/// Whether the registers of the first block fall into groups of `width` that
/// are neighbours along `dim`, at a multiple of `width`, in one order for all
/// threads.
bool hasVectors(const DistributedLayout &layout, int dim, int width) {
  std::map<int, std::vector<int>> groups; // by their first register
  bool good = true;
  for (int thread = 0; thread < 32 * layout.numWarps(); ++thread) {
    int lane = thread % 32, warp = thread / 32;
    std::map<Coords, int> holder;
    for (int reg = 0; reg < layout.regsPerBlock(); ++reg)
      holder[layout.coord(reg, lane, warp)] = reg;
    for (auto [at, reg] : holder) {
      if (at[dim] % width != 0)
        continue;
      std::vector<int> group;
      for (int i = 0; i < width; ++i) {
        Coords next = at;
        next[dim] += i;
        auto found = holder.find(next);
        good &= found != holder.end();
        group.push_back(found == holder.end() ? -1 : found->second);
      }
      auto [known, isNew] = groups.insert({group.front(), group});
      good &= known->second == group;
    }
  }
  return good &&
         static_cast<int>(groups.size()) * width == layout.regsPerBlock();
}

TEST(DistributedLayout, VectorsOfRegistersInAnyOrder) {
  // An accumulator with packed columns: registers 0, 4, 1, 5 are neighbours.
  std::string error;
  DistributedLayout packed = take(
      DistributedLayout::mmaAccumulator(16, 64, 1, 2, 0, 1, &error), error);
  DistributedLayout::Vectors vectors = packed.vectors(1, 4);
  EXPECT_EQ(packed.vectorWidth(1), 1);
  EXPECT_EQ(vectors.width, 4);
  EXPECT_EQ(std::vector<int>(vectors.registers.begin(),
                             vectors.registers.begin() + 8),
            (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(packed.vectors(1, 2).width, 2);
  EXPECT_EQ(packed.vectors(0, 4).width, 1);
  EXPECT_EQ(packed.vectors(2, 4).width, 1);
  EXPECT_EQ(packed.vectors(-1, 4).width, 1);
  EXPECT_EQ(DistributedLayout::replicated({}, 1)->vectors(0, 4).width, 1);

  std::mt19937_64 rng(15);
  int wide = 0, reordered = 0;
  for (int round = 0; round < 200; ++round) {
    DistributedLayout layout = random(rng, 8, 16, 1);
    // Bits of several coordinates at once are out of scope.
    bool mixed = false;
    for (const Bases *bases :
         {&layout.regBases(), &layout.laneBases(), &layout.warpBases()})
      for (const Coords &basis : *bases)
        mixed |= (basis[0] & (basis[0] - 1)) || (basis[1] & (basis[1] - 1)) ||
                 (basis[0] && basis[1]);
    for (int dim = 0; dim < 2; ++dim)
      for (int most : {1, 2, 8}) {
        DistributedLayout::Vectors vectors = layout.vectors(dim, most);
        int width = vectors.width;
        EXPECT_LE(width, most);
        EXPECT_GE(width, std::min(layout.vectorWidth(dim), most));
        std::vector<int> sorted = vectors.registers;
        std::sort(sorted.begin(), sorted.end());
        std::vector<int> all(layout.numRegs());
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(sorted, all);
        reordered += vectors.registers != all;
        wide += width > 1;
        for (int lane = 0; lane < 32; ++lane)
          for (int warp = 0; warp < layout.numWarps(); ++warp)
            for (int i = 0; i < layout.numRegs(); ++i) {
              Coords start =
                  layout.coord(vectors.registers[i - i % width], lane, warp);
              EXPECT_EQ(start[dim] % width, 0);
              start[dim] += i % width;
              EXPECT_EQ(layout.coord(vectors.registers[i], lane, warp), start);
            }
        if (!mixed && 2 * width <= most)
          EXPECT_FALSE(hasVectors(layout, dim, 2 * width)) << layout.str();
      }
  }
  EXPECT_GT(wide, 20);
  EXPECT_GT(reordered, 10);
}

} // namespace
