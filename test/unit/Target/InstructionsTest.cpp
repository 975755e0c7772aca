// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lane tables: worked examples from the PTX ISA figures, and the property
// every table must have, that each element has exactly one holder.
#include "mlatile/Target/Instructions.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mlatile::isa;

namespace {

// Lane 13: g = 3, t = 1.
constexpr int kLane = 13;

TEST(Instructions, MmaExamples) {
  EXPECT_EQ(mmaA(16, kLane, 2, 1), (Coord{3, 11}));
  EXPECT_EQ(mmaB(16, kLane, 1, 0), (Coord{10, 3}));
  EXPECT_EQ(mmaC(kLane, 3), (Coord{11, 3}));
  EXPECT_EQ(mmaA(8, kLane, 3, 2), (Coord{11, 22}));
  EXPECT_EQ(mmaB(8, kLane, 1, 0), (Coord{20, 3}));
  EXPECT_EQ(mmaA(4, kLane, 2, 5), (Coord{3, 45}));
  EXPECT_EQ(mmaB(4, kLane, 0, 7), (Coord{15, 3}));
}

TEST(Instructions, MatrixMoveExamples) {
  EXPECT_EQ(matrixB16(false, kLane, 2, 1), (RowElement{19, 3}));
  EXPECT_EQ(matrixB16(true, kLane, 0, 1), (RowElement{3, 3}));
  EXPECT_EQ(ldmatrixB8Trans(kLane, 1, 2), (RowElement{6, 11}));
  EXPECT_EQ(ldmatrixB8Trans(kLane, 3, 0), (RowElement{20, 11}));
  EXPECT_EQ(stmatrixB8Trans(kLane, 1, 3), (RowElement{11, 11}));
  EXPECT_EQ(ldmatrixB4(kLane, 0, 2), (RowElement{3, 6}));
  EXPECT_EQ(movmatrixTrans(kLane, 0), (RowElement{9, 1}));
}

TEST(Instructions, BlockScaleExamples) {
  EXPECT_EQ(blockScaleLaneA(11, 1), 15);
  EXPECT_EQ(blockScaleLaneB(5, 3), 23);
  for (int id : {0, 1}) {
    std::set<int> lanes;
    for (int m = 0; m < 16; ++m)
      lanes.insert(blockScaleLaneA(m, id));
    EXPECT_EQ(lanes.size(), 16u);
  }
  // Together the two thread ids use every lane once.
  std::set<int> both;
  for (int m = 0; m < 16; ++m) {
    both.insert(blockScaleLaneA(m, 0));
    both.insert(blockScaleLaneA(m, 1));
  }
  EXPECT_EQ(both.size(), 32u);
}

TEST(Instructions, MmaTilesAreCoveredOnce) {
  for (int bits : {16, 8, 4}) {
    MmaShape shape = mmaShape(bits);
    EXPECT_EQ(shape.k * bits, 256);
    std::set<std::pair<int, int>> a, b, c;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      for (int e = 0; e < 32 / bits; ++e) {
        for (int reg = 0; reg < shape.regsA; ++reg) {
          Coord at = mmaA(bits, lane, reg, e);
          a.insert({at.row, at.col});
          EXPECT_TRUE(at.row < shape.m && at.col < shape.k);
        }
        for (int reg = 0; reg < shape.regsB; ++reg) {
          Coord at = mmaB(bits, lane, reg, e);
          b.insert({at.row, at.col});
          EXPECT_TRUE(at.row < shape.k && at.col < shape.n);
        }
      }
      for (int reg = 0; reg < shape.regsC; ++reg) {
        Coord at = mmaC(lane, reg);
        c.insert({at.row, at.col});
        EXPECT_TRUE(at.row < shape.m && at.col < shape.n);
      }
    }
    EXPECT_EQ(a.size(), static_cast<size_t>(shape.m * shape.k));
    EXPECT_EQ(b.size(), static_cast<size_t>(shape.k * shape.n));
    EXPECT_EQ(c.size(), static_cast<size_t>(shape.m * shape.n));
  }
}

/// All (lane, element) sources of a load, which must be distinct.
template <class Table>
void expectOnce(int regs, int perReg, int lanes, int elements, Table at) {
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int reg = 0; reg < regs; ++reg)
      for (int e = 0; e < perReg; ++e) {
        RowElement from = at(lane, reg, e);
        EXPECT_TRUE(from.lane >= 0 && from.lane < lanes);
        EXPECT_TRUE(from.element >= 0 && from.element < elements);
        EXPECT_TRUE(seen.insert({from.lane, from.element}).second);
      }
  EXPECT_EQ(seen.size(), static_cast<size_t>(lanes * elements));
}

TEST(Instructions, MatrixMovesTouchEachElementOnce) {
  for (bool trans : {false, true})
    for (int regs : {1, 2, 4})
      expectOnce(regs, 2, 8 * regs, 8, [&](int l, int r, int h) {
        return matrixB16(trans, l, r, h);
      });
  for (int count : {1, 2})
    expectOnce(2 * count, 4, 16 * count, 16, ldmatrixB8Trans);
  for (int regs : {1, 2, 4}) {
    expectOnce(regs, 4, 8 * regs, 16, stmatrixB8Trans);
    expectOnce(regs, 4, 8 * regs, 16, ldmatrixB4);
  }
  expectOnce(1, 2, 32, 2,
             [](int l, int, int h) { return movmatrixTrans(l, h); });
}

TEST(Instructions, LdmatrixLoadsTheOperands) {
  // A of 16 bits: lane -> row l % 16, columns 8 (l / 16) of the tile.
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int reg = 0; reg < 4; ++reg)
      for (int h = 0; h < 2; ++h) {
        RowElement from = matrixB16(false, lane, reg, h);
        EXPECT_EQ(mmaA(16, lane, reg, h),
                  (Coord{from.lane % 16, 8 * (from.lane / 16) + from.element}));
      }
  // B of 16 bits from a k x n tile, transposed: lane -> row k = l % 16.
  // From an n x k tile, plain: lane -> row n = l % 8, columns 8 (l / 8).
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int reg = 0; reg < 2; ++reg)
      for (int h = 0; h < 2; ++h) {
        RowElement trans = matrixB16(true, lane, reg, h);
        EXPECT_EQ(mmaB(16, lane, reg, h), (Coord{trans.lane, trans.element}));
        RowElement plain = matrixB16(false, lane, reg, h);
        EXPECT_EQ(
            mmaB(16, lane, reg, h),
            (Coord{8 * (plain.lane / 8) + plain.element, plain.lane % 8}));
      }
  // B of 8 bits from a k x n tile of 16 columns: registers 0, 2 are columns
  // 0..7, registers 1, 3 are columns 8..15.
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int reg = 0; reg < 4; ++reg)
      for (int byte = 0; byte < 4; ++byte) {
        RowElement from = ldmatrixB8Trans(lane, reg, byte);
        Coord b = mmaB(8, lane, reg / 2, byte);
        EXPECT_EQ(b.row, from.lane);
        EXPECT_EQ(b.col + 8 * (reg % 2), from.element);
      }
}

TEST(Instructions, MovmatrixTransposes) {
  // Halves of an 8 x 8 matrix, row g and columns 2t, 2t + 1 in lane (g, t).
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int h = 0; h < 2; ++h) {
      RowElement from = movmatrixTrans(lane, h);
      int row = from.lane / 4, col = 2 * (from.lane % 4) + from.element;
      EXPECT_EQ(row, 2 * (lane % 4) + h);
      EXPECT_EQ(col, lane / 4);
    }
}

} // namespace
