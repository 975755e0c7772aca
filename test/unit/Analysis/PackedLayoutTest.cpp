// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed accumulators and operands against what the lane tables say that a
// 16-bit ldmatrix delivers of rows of 8-bit and 4-bit elements, and how
// mma.sync pairs them; conversions by movmatrix against its table.
#include "mlatile/Analysis/DistributedLayout.h"
#include "mlatile/Analysis/WarpArrangement.h"
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
constexpr Grid kGrids[] = {{1, 1}, {1, 4}, {4, 1}, {2, 2}, {1, 8}};

/// The elements of the word that a lane gets of one matrix whose rows are 16
/// bytes of memory: (row, column) of each, columns counted in elements.
std::vector<Coords> word(bool transposed, int lane, int pack) {
  std::vector<Coords> result;
  for (int half = 0; half < 2; ++half) {
    isa::RowElement unit = isa::matrixB16(transposed, lane, 0, half);
    for (int i = 0; i < 1 << pack; ++i)
      result.push_back({unit.lane, (unit.element << pack) + i});
  }
  return result;
}

// Columns of memory along K. Four neighbours of a word are what a lane gives to
// one instruction: two for its first half of K, two for the second. Operand A
// has two rows of them, operand B one; both have the same columns for the same
// place along the instruction's own K.
TEST(PackedLayout, OperandsAlongKHoldWhatAWordHolds) {
  for (Grid grid : kGrids)
    for (int pack : {1, 2})
      for (int repsK : {1, 3})
        for (int repsX : {1, 3}) {
          int k = (8 << pack) * repsK, steps = pack;
          int m = 16 * grid.warpsM * repsX, n = 8 * grid.warpsN * repsX;
          std::string error;
          auto a = take(DistributedLayout::mmaPackedOperandA(
                            m, k, pack, grid.warpsM, grid.warpsN, &error),
                        error);
          auto b = take(DistributedLayout::mmaPackedOperandB(
                            k, n, pack, grid.warpsM, grid.warpsN, &error),
                        error);
          ASSERT_EQ(a.shape(), (Coords{m, k}));
          ASSERT_EQ(b.shape(), (Coords{k, n}));
          ASSERT_EQ(a.numRegs(), m * k / 32 / grid.warpsM);
          ASSERT_EQ(b.numRegs(), k * n / 32 / grid.warpsN);
          for (int warp = 0; warp < a.numWarps(); ++warp)
            for (int lane = 0; lane < 32; ++lane) {
              std::vector<Coords> own = word(/*transposed=*/false, lane, pack);
              ASSERT_EQ(own.size(), 4u * steps);
              for (int x = 0; x < repsX; ++x)
                for (int chunk = 0; chunk < repsK; ++chunk)
                  for (int step = 0; step < steps; ++step)
                    for (int e = 0; e < 2; ++e)
                      for (int half = 0; half < 2; ++half) {
                        // Row of the matrix, column of the whole.
                        const Coords &at = own[4 * step + 2 * half + e];
                        int64_t column = at[1] + (8 << pack) * chunk;
                        int warpM = warp / grid.warpsN,
                            warpN = warp % grid.warpsN;
                        for (int down = 0; down < 2; ++down) {
                          // Registers of A: rows first, then halves of K.
                          int reg = 2 * half + down;
                          ASSERT_EQ(isa::mmaA(16, lane, reg, e).row,
                                    at[0] + 8 * down);
                          int index =
                              (((x * repsK + chunk) * steps + step) * 4 + reg) *
                                  2 +
                              e;
                          EXPECT_EQ(a.coord(index, lane, warp),
                                    (Coords{at[0] + 8 * down + 16 * warpM +
                                                16 * grid.warpsM * x,
                                            column}));
                        }
                        ASSERT_EQ(isa::mmaB(16, lane, half, e).col, at[0]);
                        int index =
                            (((chunk * repsX + x) * steps + step) * 2 + half) *
                                2 +
                            e;
                        EXPECT_EQ(b.coord(index, lane, warp),
                                  (Coords{column, at[0] + 8 * warpN +
                                                      8 * grid.warpsN * x}));
                      }
            }
          EXPECT_EQ(a.warpFreeMask(), grid.warpsN - 1);
          EXPECT_EQ(b.warpFreeMask(), (grid.warpsM - 1) * grid.warpsN);
          // A lane's neighbours along K: the vector that it loads.
          EXPECT_EQ(a.vectorWidth(1), 2);
        }
}

/// The row (column) of c that the instruction calls `row` of tile `tile` of a
/// block, where the elements of A (B) came transposed: element `e` of a unit is
/// row e % 2 of tile e / 2 of A, or tile e of B.
int64_t packedPlace(bool isA, int pack, int tile, int64_t place) {
  if (pack == 0)
    return place;
  // Where the lane of that row (column) finds its elements.
  int g = static_cast<int>(place % 8), lane = 4 * g;
  std::vector<Coords> own = word(/*transposed=*/true, lane, pack);
  int element = isA ? 2 * tile + static_cast<int>(place / 8) : tile;
  EXPECT_EQ(own[element][0], 0); // of row 0; the other half is of row 1
  EXPECT_EQ(own[element + (1 << pack)][0], 1);
  EXPECT_EQ(own[element][1], own[element + (1 << pack)][1]);
  return own[element][1];
}

TEST(PackedLayout, AccumulatorsFollowTransposedWords) {
  for (Grid grid : kGrids)
    for (int packM : {0, 1, 2})
      for (int packN : {0, 1, 2})
        for (int repsM : {1, 3})
          for (int repsN : {1, 7}) {
            int inM = packM == 2 ? 2 : 1, inN = 1 << packN; // tiles of a block
            int blockM = 16 * inM, blockN = 8 * inN;
            std::string error;
            auto c = take(DistributedLayout::mmaAccumulator(
                              blockM * grid.warpsM * repsM,
                              blockN * grid.warpsN * repsN, grid.warpsM,
                              grid.warpsN, packM, packN, &error),
                          error);
            ASSERT_EQ(c.numRegs(), 4 * inM * inN * repsM * repsN);
            for (int warp = 0; warp < c.numWarps(); ++warp)
              for (int block = 0; block < repsM * repsN; ++block)
                for (int i = 0; i < inM; ++i)
                  for (int j = 0; j < inN; ++j)
                    for (int reg = 0; reg < 4; ++reg)
                      for (int lane = 0; lane < 32; ++lane) {
                        isa::Coord at = isa::mmaC(lane, reg);
                        Coords expected{
                            packedPlace(true, packM, i, at.row) +
                                blockM * (warp / grid.warpsN +
                                          grid.warpsM * (block / repsN)),
                            packedPlace(false, packN, j, at.col) +
                                blockN * (warp % grid.warpsN +
                                          grid.warpsN * (block % repsN))};
                        int index = ((block * inM + i) * inN + j) * 4 + reg;
                        EXPECT_EQ(c.coord(index, lane, warp), expected);
                      }
            EXPECT_EQ(c.laneFreeMask(), 0);
            EXPECT_EQ(c.warpFreeMask(), 0);
            EXPECT_TRUE(c.registersAdd());
          }
}

TEST(PackedLayout, WithoutPackingNothingChanges) {
  EXPECT_EQ(DistributedLayout::mmaAccumulator(32, 64, 2, 4, 0, 0),
            DistributedLayout::mmaAccumulator(32, 64, 2, 4));
  EXPECT_EQ(DistributedLayout::mmaPackedOperandA(32, 48, 0, 2, 4),
            DistributedLayout::mmaOperandA(32, 48, 16, 2, 4));
  EXPECT_EQ(DistributedLayout::mmaPackedOperandB(48, 32, 0, 2, 4),
            DistributedLayout::mmaOperandB(48, 32, 16, 2, 4));
}

TEST(PackedLayout, RefusesWhatDoesNotFit) {
  std::string error;
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 32, 1, 4, 0, 1, &error));
  EXPECT_EQ(error, "mma accumulator, dim 1: expected a multiple of 64, got 32");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 32, 1, 1, 2, 0, &error));
  EXPECT_EQ(error, "mma accumulator, dim 0: expected a multiple of 32, got 16");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 32, 1, 1, 3, 0, &error));
  EXPECT_EQ(error, "pack: expected 0, 1 or 2, got 3");
  EXPECT_FALSE(DistributedLayout::mmaAccumulator(16, 32, 1, 1, 0, -1, &error));
  EXPECT_EQ(error, "pack: expected 0, 1 or 2, got -1");
  EXPECT_FALSE(DistributedLayout::mmaPackedOperandA(16, 48, 2, 1, 1, &error));
  EXPECT_EQ(error, "mma operand A, dim 1: expected a multiple of 32, got 48");
  EXPECT_FALSE(DistributedLayout::mmaPackedOperandB(48, 8, 2, 1, 1, &error));
  EXPECT_EQ(error, "mma operand B, dim 0: expected a multiple of 32, got 48");
  EXPECT_FALSE(DistributedLayout::mmaPackedOperandB(16, 8, 4, 1, 1, &error));
  EXPECT_EQ(error, "pack: expected 0, 1 or 2, got 4");
}

TEST(MatrixTransposes, FollowTheTableOfMovmatrix) {
  for (int warpsN : {1, 2, 4})
    for (int repsM : {1, 2, 5})
      for (int repsN : {1, 3}) {
        int m = 16 * repsM, n = 8 * warpsN * repsN;
        std::string error;
        auto from = take(
            DistributedLayout::mmaAccumulator(m, n, 1, warpsN, &error), error);
        auto to = take(
            DistributedLayout::mmaOperandB(m, n, 16, 1, warpsN, &error), error);
        auto pairs = matrixTransposes(from, to);
        ASSERT_TRUE(pairs);
        ASSERT_EQ(pairs->size(), to.numRegs() / 2u);
        for (size_t pair = 0; pair < pairs->size(); ++pair)
          for (int warp = 0; warp < warpsN; ++warp)
            for (int lane = 0; lane < 32; ++lane)
              for (int half = 0; half < 2; ++half) {
                isa::RowElement source = isa::movmatrixTrans(lane, half);
                EXPECT_EQ(
                    to.coord(2 * static_cast<int>(pair) + half, lane, warp),
                    from.coord(2 * (*pairs)[pair] + source.element, source.lane,
                               warp));
              }
      }
}

TEST(MatrixTransposes, OnlyOfWholeMatricesInTheWarp) {
  auto acc = [](int m, int n, int warpsM, int warpsN, int packM, int packN) {
    return *DistributedLayout::mmaAccumulator(m, n, warpsM, warpsN, packM,
                                              packN);
  };
  auto plain = acc(32, 16, 1, 2, 0, 0);
  auto operand = *DistributedLayout::mmaOperandB(32, 16, 16, 1, 2);
  EXPECT_TRUE(matrixTransposes(plain, operand));
  EXPECT_FALSE(matrixTransposes(plain, plain));
  EXPECT_FALSE(matrixTransposes(operand, plain)) << "the other way round";
  // Operand A needs no transposition; one of packed rows does not stand in
  // matrices; other warps hold other columns.
  EXPECT_FALSE(matrixTransposes(
      plain, *DistributedLayout::mmaOperandA(32, 16, 16, 1, 2)));
  EXPECT_FALSE(matrixTransposes(acc(32, 16, 1, 2, 1, 0), operand));
  EXPECT_FALSE(
      matrixTransposes(acc(32, 32, 1, 2, 0, 1),
                       *DistributedLayout::mmaOperandB(32, 32, 16, 1, 2)));
  EXPECT_FALSE(
      matrixTransposes(acc(32, 16, 2, 1, 0, 0),
                       *DistributedLayout::mmaOperandB(32, 16, 16, 2, 1)));
  EXPECT_FALSE(matrixTransposes(
      plain, *DistributedLayout::mmaOperandB(16, 16, 16, 1, 2)));
}

TEST(WarpArrangement, AlongColumnsFirstAndAlwaysALayout) {
  auto is = [](WarpArrangement got, int64_t warpsM, int64_t warpsN) {
    return got.warpsM == warpsM && got.warpsN == warpsN;
  };
  EXPECT_TRUE(is(arrangeWarps(16, 32, 0, 0, 4), 1, 4));
  EXPECT_TRUE(is(arrangeWarps(32, 32, 0, 0, 8), 2, 4));
  EXPECT_TRUE(is(arrangeWarps(16, 16, 0, 0, 8), 1, 2)) << "six hold copies";
  EXPECT_TRUE(is(arrangeWarps(16, 448, 0, 1, 8), 1, 4)) << "7 x 64";
  EXPECT_TRUE(is(arrangeWarps(16, 448, 0, 2, 4), 1, 2));
  EXPECT_TRUE(is(arrangeWarps(512, 8, 1, 0, 2), 2, 1));
  EXPECT_TRUE(is(arrangeWarps(448, 8, 2, 0, 4), 2, 1));
  for (int64_t m : {16, 32, 48, 64})
    for (int64_t n : {8, 24, 32, 64, 448, 512})
      for (int packM : {0, 1, 2})
        for (int packN : {0, 1, 2})
          for (int warps : {1, 2, 4, 8, 16}) {
            int64_t rows = packM == 2 ? 32 : 16, columns = 8 << packN;
            if (m % rows || n % columns)
              continue;
            auto [warpsM, warpsN] = arrangeWarps(m, n, packM, packN, warps);
            std::string error;
            EXPECT_TRUE(DistributedLayout::mmaAccumulator(
                m, n, static_cast<int>(warpsM), static_cast<int>(warpsN), packM,
                packN, &error))
                << error;
            EXPECT_LE(warpsM * warpsN, warps);
          }
}

} // namespace
