// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mma fragment layouts against the lane tables, element by element.
#include "mlatile/Analysis/DistributedLayout.h"
#include "mlatile/Target/Instructions.h"

#include <gtest/gtest.h>

using namespace mlatile;

namespace {

using Coords = DistributedLayout::Coords;

DistributedLayout take(const DistributedLayout::Result &layout,
                       const std::string &error) {
  EXPECT_TRUE(layout) << error;
  return layout ? *layout : *DistributedLayout::replicated({1}, 1);
}

struct Grid {
  int warpsM, warpsN;
};
constexpr Grid kGrids[] = {{1, 1}, {1, 4}, {4, 1}, {2, 2}, {2, 4}, {1, 8}};

TEST(FragmentLayout, AccumulatorFollowsTheTable) {
  for (Grid grid : kGrids)
    for (int repsM : {1, 2, 3})
      for (int repsN : {1, 7}) {
        int blockM = 16 * grid.warpsM, blockN = 8 * grid.warpsN;
        std::string error;
        DistributedLayout c = take(
            DistributedLayout::mmaAccumulator(blockM * repsM, blockN * repsN,
                                              grid.warpsM, grid.warpsN, &error),
            error);
        ASSERT_EQ(c.shape(), (Coords{blockM * repsM, blockN * repsN}));
        ASSERT_EQ(c.numRegs(), 4 * repsM * repsN);
        ASSERT_EQ(c.numWarps(), grid.warpsM * grid.warpsN);
        for (int warp = 0; warp < c.numWarps(); ++warp)
          for (int m = 0; m < repsM; ++m)
            for (int n = 0; n < repsN; ++n)
              for (int reg = 0; reg < 4; ++reg)
                for (int lane = 0; lane < 32; ++lane) {
                  isa::Coord at = isa::mmaC(lane, reg);
                  Coords expected{
                      at.row + 16 * (warp / grid.warpsN) + blockM * m,
                      at.col + 8 * (warp % grid.warpsN) + blockN * n};
                  EXPECT_EQ(c.coord((m * repsN + n) * 4 + reg, lane, warp),
                            expected);
                }
        EXPECT_EQ(c.laneFreeMask(), 0);
        EXPECT_EQ(c.warpFreeMask(), 0);
        EXPECT_TRUE(c.registersAdd());
        EXPECT_EQ(c.vectorWidth(1), 2);
        EXPECT_EQ(c.vectorWidth(0), 1);
      }
}

TEST(FragmentLayout, OperandsFollowTheTables) {
  for (Grid grid : kGrids)
    for (int bits : {16, 8, 4})
      for (int repsK : {1, 3})
        for (int repsX : {1, 7}) {
          int perReg = 32 / bits, k = 256 / bits;
          int blockM = 16 * grid.warpsM, blockN = 8 * grid.warpsN;
          std::string error;
          DistributedLayout a = take(
              DistributedLayout::mmaOperandA(blockM * repsX, k * repsK, bits,
                                             grid.warpsM, grid.warpsN, &error),
              error);
          DistributedLayout b = take(
              DistributedLayout::mmaOperandB(k * repsK, blockN * repsX, bits,
                                             grid.warpsM, grid.warpsN, &error),
              error);
          ASSERT_EQ(a.numRegs(), 4 * perReg * repsX * repsK);
          ASSERT_EQ(b.numRegs(), 2 * perReg * repsX * repsK);
          for (int warp = 0; warp < a.numWarps(); ++warp)
            for (int x = 0; x < repsX; ++x)
              for (int rk = 0; rk < repsK; ++rk)
                for (int lane = 0; lane < 32; ++lane)
                  for (int e = 0; e < perReg; ++e) {
                    for (int reg = 0; reg < 4; ++reg) {
                      isa::Coord at = isa::mmaA(bits, lane, reg, e);
                      int index = ((x * repsK + rk) * 4 + reg) * perReg + e;
                      EXPECT_EQ(a.coord(index, lane, warp),
                                (Coords{at.row + 16 * (warp / grid.warpsN) +
                                            blockM * x,
                                        at.col + k * rk}));
                    }
                    for (int reg = 0; reg < 2; ++reg) {
                      isa::Coord at = isa::mmaB(bits, lane, reg, e);
                      int index = ((rk * repsX + x) * 2 + reg) * perReg + e;
                      EXPECT_EQ(b.coord(index, lane, warp),
                                (Coords{at.row + k * rk,
                                        at.col + 8 * (warp % grid.warpsN) +
                                            blockN * x}));
                    }
                  }
          // Low warp bits go along N: A has copies there, B along M.
          EXPECT_EQ(a.warpFreeMask(), grid.warpsN - 1);
          EXPECT_EQ(b.warpFreeMask(), (grid.warpsM - 1) * grid.warpsN);
          EXPECT_EQ(a.vectorWidth(1), perReg);
          EXPECT_EQ(b.vectorWidth(0), perReg);
        }
}

TEST(FragmentLayout, ValueTilesOfSevenBlocks) {
  // 448 columns of a value: 7 * 64.
  for (int warps : {4, 8}) {
    std::string error;
    DistributedLayout c = take(
        DistributedLayout::mmaAccumulator(16, 448, 1, warps, &error), error);
    EXPECT_EQ(c.reps(), (Coords{1, 56 / warps}));
    EXPECT_EQ(c.numRegs(), 4 * 56 / warps);
    for (int row = 0; row < 16; ++row)
      for (int col = 0; col < 448; ++col) {
        auto place = c.placeOf({row, col});
        ASSERT_TRUE(place);
        EXPECT_EQ(place->warp, col / 8 % warps);
        EXPECT_EQ(c.coord(place->reg, place->lane, place->warp),
                  (Coords{row, col}));
      }
    DistributedLayout rows = take(c.slice(1, &error), error);
    EXPECT_EQ(rows.numRegs(), 2);
    EXPECT_EQ(rows.laneFreeMask(), 3);
    EXPECT_EQ(rows.warpFreeMask(), warps - 1);
    auto exchange = c.exchangeAlong(1);
    ASSERT_TRUE(exchange);
    EXPECT_EQ(exchange->laneMask, 3);
    EXPECT_EQ(exchange->warpMask, warps - 1);
    // Columns: the seven repetitions stay registers.
    DistributedLayout columns = take(c.slice(0, &error), error);
    EXPECT_EQ(columns.numRegs(), 2 * 56 / warps);
    EXPECT_EQ(columns.laneFreeMask(), 28);
    EXPECT_EQ(columns.warpFreeMask(), 0);
  }
}

TEST(FragmentLayout, CandidatesOnRowsHeadsOnColumns) {
  // The swapped arrangement: scores are candidates x heads, warps split heads.
  std::string error;
  DistributedLayout scores =
      take(DistributedLayout::mmaAccumulator(64, 32, 1, 4, &error), error);
  DistributedLayout perHead = take(scores.slice(0, &error), error);
  EXPECT_EQ(perHead.shape(), Coords{32});
  EXPECT_EQ(perHead.laneFreeMask(), 28) << "copies over g = lane / 4";
  EXPECT_EQ(perHead.warpFreeMask(), 0);
  EXPECT_EQ(scores.exchangeAlong(0), (DistributedLayout::Exchange{28, 0}))
      << "sums over candidates need no other warp";
  EXPECT_TRUE(perHead.isSliceOf(scores, 0));
  EXPECT_FALSE(perHead.isSliceOf(scores, 1));
  // P as operand B of the value product: the conversion stays in the warp.
  DistributedLayout p =
      take(DistributedLayout::mmaOperandB(64, 32, 16, 1, 4, &error), error);
  EXPECT_TRUE(sameWarpOwnership(scores, p));
  EXPECT_TRUE(sameWarpOwnership(p, scores));
  EXPECT_FALSE(registersOnly(scores, p)) << "rows and columns change places";
  // Split along M as well it is not: B needs every row.
  DistributedLayout split =
      take(DistributedLayout::mmaAccumulator(64, 32, 2, 2, &error), error);
  DistributedLayout p2 =
      take(DistributedLayout::mmaOperandB(64, 32, 16, 2, 2, &error), error);
  EXPECT_FALSE(sameWarpOwnership(split, p2));
  EXPECT_TRUE(sameWarpOwnership(p2, split));
}

TEST(FragmentLayout, ProbabilitiesBecomeOperandAInRegisters) {
  // Two accumulators side by side are the A fragment of a 16-bit k16 step.
  std::string error;
  DistributedLayout c =
      take(DistributedLayout::mmaAccumulator(32, 64, 2, 1, &error), error);
  DistributedLayout a =
      take(DistributedLayout::mmaOperandA(32, 64, 16, 2, 1, &error), error);
  auto map = registersOnly(c, a);
  ASSERT_TRUE(map);
  ASSERT_EQ(map->size(), 32u);
  for (int r = 0; r < 8; ++r)
    EXPECT_EQ((*map)[r], r); // reg order of A: rows first, then the k half
  for (int r = 0; r < a.numRegs(); ++r)
    for (int lane = 0; lane < 32; ++lane)
      for (int warp = 0; warp < 2; ++warp)
        EXPECT_EQ(a.coord(r, lane, warp), c.coord((*map)[r], lane, warp));
  // With 8-bit elements the lanes hold other columns.
  DistributedLayout a8 =
      take(DistributedLayout::mmaOperandA(32, 64, 8, 2, 1, &error), error);
  EXPECT_FALSE(registersOnly(c, a8));
  EXPECT_TRUE(sameWarpOwnership(c, a8));
  // Warps along N: A needs every column, C has only its own.
  DistributedLayout wide =
      take(DistributedLayout::mmaAccumulator(32, 64, 1, 2, &error), error);
  DistributedLayout aWide =
      take(DistributedLayout::mmaOperandA(32, 64, 16, 1, 2, &error), error);
  EXPECT_FALSE(sameWarpOwnership(wide, aWide));
  EXPECT_FALSE(registersOnly(wide, aWide));
}

TEST(FragmentLayout, RefusesWhatDoesNotFit) {
  std::string error;
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(24, 64, 1, 4, &error));
  EXPECT_EQ(error, "mma accumulator, dim 0: expected a multiple of 16, got 24");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 40, 1, 4, &error));
  EXPECT_EQ(error, "mma accumulator, dim 1: expected a multiple of 32, got 40");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(0, 32, 1, 4, &error));
  EXPECT_EQ(error, "mma accumulator, dim 0: expected a multiple of 16, got 0");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 64, 1, 3, &error));
  EXPECT_EQ(error, "warpsN: expected a power of two up to 32, got 3");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(512, 512, 8, 8, &error));
  EXPECT_EQ(error, "warpsM * warpsN: expected a power of two up to 32, got 64");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 64, -1, 1, &error));
  EXPECT_EQ(error, "warpsM: expected a power of two up to 32, got -1");
  EXPECT_FALSE(DistributedLayout::mmaOperandA(16, 24, 16, 1, 1, &error));
  EXPECT_EQ(error, "mma operand A, dim 1: expected a multiple of 16, got 24");
  EXPECT_FALSE(DistributedLayout::mmaOperandB(48, 8, 8, 1, 1, &error));
  EXPECT_EQ(error, "mma operand B, dim 0: expected a multiple of 32, got 48");
  EXPECT_FALSE(DistributedLayout::mmaOperandA(16, 32, 6, 1, 1, &error));
  EXPECT_EQ(error, "operand bits: expected 16, 8 or 4, got 6");
}

} // namespace
