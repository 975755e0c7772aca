// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each warp instruction does, lane by lane: the one table that layouts,
// lowering and the executor share. Sources: PTX ISA, sections "Warp-level
// matrix instructions" (mma, ldmatrix, stmatrix, movmatrix) and
// "mma.sync with block scaling".
//
// Notation: lane l, g = l / 4, t = l % 4; a fragment is 32-bit registers, an
// element of a register counts from its low bits.
#ifndef MLATILE_TARGET_INSTRUCTIONS_H
#define MLATILE_TARGET_INSTRUCTIONS_H

namespace mlatile::isa {

inline constexpr int kWarpLanes = 32;

/// Row and column of an element in a matrix operand.
struct Coord {
  int row, col;
  friend constexpr bool operator==(Coord, Coord) = default;
};

/// Shape of `mma.sync` for operands of `bits` (16, 8 or 4) bits: m16n8, with k
/// filling 32 bytes a row.
struct MmaShape {
  int m, n, k;
  int regsA, regsB, regsC;
};
constexpr MmaShape mmaShape(int bits) { return {16, 8, 256 / bits, 4, 2, 4}; }

/// Element `elem` of register `reg` of operand A, as (m, k).
constexpr Coord mmaA(int bits, int lane, int reg, int elem) {
  int perReg = 32 / bits;
  return {lane / 4 + 8 * (reg % 2),
          perReg * (lane % 4) + elem + 4 * perReg * (reg / 2)};
}
/// Element `elem` of register `reg` of operand B, as (k, n).
constexpr Coord mmaB(int bits, int lane, int reg, int elem) {
  int perReg = 32 / bits;
  return {perReg * (lane % 4) + elem + 4 * perReg * reg, lane / 4};
}
/// Register `reg` of the f32 accumulator C or D, as (m, n).
constexpr Coord mmaC(int lane, int reg) {
  return {lane / 4 + 8 * (reg / 2), 2 * (lane % 4) + reg % 2};
}

/// Where a register element of a matrix move comes from (loads) or goes to
/// (stores): element `element` of the row whose address lane `lane` supplies.
struct RowElement {
  int lane, element;
  friend constexpr bool operator==(RowElement, RowElement) = default;
};
/// `ldmatrix.m8n8.xN[.trans].b16` and its inverse `stmatrix`; elements are
/// 16-bit halves, the row addressed by lane 8 * matrix + row.
constexpr RowElement matrixB16(bool trans, int lane, int reg, int half) {
  int g = lane / 4, t = lane % 4;
  return trans ? RowElement{8 * reg + 2 * t + half, g}
               : RowElement{8 * reg + g, 2 * t + half};
}
/// `ldmatrix.m16n16.xN.trans.b8`; elements are bytes.
constexpr RowElement ldmatrixB8Trans(int lane, int reg, int byte) {
  return {16 * (reg / 2) + 4 * (lane % 4) + byte, lane / 4 + 8 * (reg % 2)};
}
/// `stmatrix.m16n8.xN.trans.b8`; elements are bytes.
constexpr RowElement stmatrixB8Trans(int lane, int reg, int byte) {
  return {8 * reg + 2 * (lane % 4) + byte % 2, lane / 4 + 8 * (byte / 2)};
}
/// `ldmatrix.m8n16.xN.b8x16.b4x16_p64`; elements are nibbles of the 8 data
/// bytes of a row.
constexpr RowElement ldmatrixB4(int lane, int reg, int byte) {
  return {8 * reg + lane / 4, 4 * (lane % 4) + byte};
}
/// `movmatrix.m8n8.trans.b16`: the half of another lane's register that half
/// `half` of this lane receives; `element` is that half.
constexpr RowElement movmatrixTrans(int lane, int half) {
  int g = lane / 4, t = lane % 4;
  return {4 * (2 * t + half) + g / 2, g % 2};
}

/// Lane whose scale register serves row `m` of A under `thread-id-a` (0, 1).
constexpr int blockScaleLaneA(int m, int threadId) {
  return 4 * (m % 8) + 2 * threadId + m / 8;
}
/// Lane whose scale register serves column `n` of B under `thread-id-b` (0..3).
constexpr int blockScaleLaneB(int n, int threadId) { return 4 * n + threadId; }

} // namespace mlatile::isa
#endif
