// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a tile that lives in registers is spread over the threads of a CTA (or of
// the warps of one role: `warp` counts from the first of them).
//
// A *block* of power-of-two sizes is a linear map of (reg, lane, warp); it is
// repeated `reps[d]` times along dim d, with any positive counts, so that
// 16 x 448 is a block of 16 x 64 repeated [1, 7]. The repetitions are further
// registers, outermost, row-major over the dims (last dim fastest):
//
//   register = repIndex * regsPerBlock + block register
//   coordinate in dim d = block coordinate + rep_d * blockSize_d
//
// What always holds (create() refuses anything else): every element is held by
// some thread, no thread holds an element twice, and the thread part of a
// coordinate does not depend on the register. Whole warps or lanes may hold
// copies.
//
// Example, accumulator 16 x 448 of four warps along the columns:
//
//   reg = [[0, 1], [8, 0]],
//   lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
//   warp = [[0, 8], [0, 16]], reps = [1, 14]
//
// has 4 * 14 = 56 registers a thread. slice(1), the layout of its row sums:
//
//   reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0], [0]], reps =
//   [1]
//
// two registers (rows g and g + 8), the same in the four lanes of a quad and in
// all warps.
#ifndef MLATILE_ANALYSIS_DISTRIBUTEDLAYOUT_H
#define MLATILE_ANALYSIS_DISTRIBUTEDLAYOUT_H

#include "mlatile/Analysis/LinearLayout.h"

namespace mlatile {

/// See the head of this file. Immutable. Dims are numbered from 0; functions
/// that take a dim out of range return their "no" value.
class DistributedLayout {
public:
  using Coords = std::vector<int64_t>;
  using Bases = std::vector<Coords>;
  using Result = std::optional<DistributedLayout>;
  /// The place of an element.
  struct Place {
    int reg, lane, warp;
    bool operator==(const Place &) const = default;
  };

  /// From plain vectors: every basis has one coordinate a dim (as many as
  /// `reps`), `lane` five of them, `warp` log2 of the number of warps (at most
  /// 5). The block size of a dim is the smallest power of two above the
  /// coordinates. A layout without dims (a scalar) has empty coordinates.
  static Result create(Bases reg, Bases lane, Bases warp, Coords reps,
                       std::string *error = nullptr);
  /// The text of str(): `reg = [[0, 1], [8, 0]], lane = ..., warp = ..., reps =
  /// [1, 7]`, the four names in this order.
  static Result parse(std::string_view text, std::string *error = nullptr);

  //===--- factories ------------------------------------------------------===//
  /// f32 accumulator of `mma.m16n8` (isa::mmaC). Each warp has m16n8; the low
  /// warp bits go along N, the others along M; the rest of the shape is reps.
  /// `warpsM` and `warpsN` are powers of two; `m` a multiple of 16 * warpsM,
  /// `n` of 8 * warpsN.
  static Result mmaAccumulator(int64_t m, int64_t n, int warpsM, int warpsN,
                               std::string *error = nullptr);
  /// The same where an operand of 8 or 4 bits is read by the 16-bit `ldmatrix`
  /// with its elements contiguous along M (N): 2^pack elements stand in 16
  /// bits, which a lane gets together, so that neighbours along M (N) belong to
  /// different rows or tiles of the instruction (docs/Layouts.md, section 3).
  /// A warp has (8 << packM) x (8 << packN) then; pack 0 is the layout above.
  static Result mmaAccumulator(int64_t m, int64_t n, int warpsM, int warpsN,
                               int packM, int packN,
                               std::string *error = nullptr);
  /// Operand A, m x k, of elements of `bits` (16, 8, 4), isa::mmaA. One
  /// register is one element here; the 32 / bits elements of a hardware
  /// register are adjacent, low bits first, and the hardware registers of an
  /// instruction follow each other in its order. Copies over the warps along N.
  /// `m` is a multiple of 16 * warpsM, `k` of 256 / bits.
  static Result mmaOperandA(int64_t m, int64_t k, int bits, int warpsM,
                            int warpsN, std::string *error = nullptr);
  /// Operand B, k x n (isa::mmaB), likewise; copies over the warps along M.
  static Result mmaOperandB(int64_t k, int64_t n, int bits, int warpsM,
                            int warpsN, std::string *error = nullptr);
  /// 16-bit operands whose partner has its 8- or 4-bit elements contiguous
  /// along K (see the second mmaAccumulator): a lane holds 4 << (packK - 1)
  /// neighbours along K, of as many steps of 16 as that makes. `k` is a
  /// multiple of 8 << packK; packK 0 is the layout above.
  static Result mmaPackedOperandA(int64_t m, int64_t k, int packK, int warpsM,
                                  int warpsN, std::string *error = nullptr);
  static Result mmaPackedOperandB(int64_t k, int64_t n, int packK, int warpsM,
                                  int warpsN, std::string *error = nullptr);
  /// For coalesced memory access: vectors of up to 16 bytes along the last dim,
  /// then lanes, then warps, each from the last dim to the first, as far as the
  /// power of two in each size goes. Odd factors are reps; lanes and warps left
  /// over hold copies. Of three dims the first, its planes, is numbered by
  /// warps, then lanes, then registers. Any sizes >= 1. `elementBytes` is 1, 2,
  /// 4, 8 or 16.
  static Result blocked(const Coords &shape, int elementBytes, int numWarps,
                        std::string *error = nullptr);
  /// Rank 1: as many threads a row as there are. With `block` the power of two
  /// in `rows`, at most the number of threads: thread tid holds row
  /// tid / (threads / block) of each block; rows / block are reps.
  static Result rowsOverThreads(int64_t rows, int numWarps,
                                std::string *error = nullptr);
  /// Every thread holds everything, in row-major order.
  static Result replicated(const Coords &shape, int numWarps,
                           std::string *error = nullptr);

  //===--- shape ----------------------------------------------------------===//
  int rank() const { return static_cast<int>(repeats.size()); }
  Coords shape() const;
  const Coords &blockShape() const { return blockSizes; }
  const Coords &reps() const { return repeats; }
  const Bases &regBases() const { return reg; }
  const Bases &laneBases() const { return lane; }
  const Bases &warpBases() const { return warp; }
  int numWarps() const { return 1 << warp.size(); }
  int numThreads() const { return 32 * numWarps(); }
  int regsPerBlock() const { return 1 << reg.size(); }
  int64_t numReps() const;
  /// Registers a thread, one element each.
  int numRegs() const { return static_cast<int>(numReps()) * regsPerBlock(); }
  /// The block as a map of "reg", "lane", "warp" to "dim0", "dim1", ...
  LinearLayout block() const;

  //===--- evaluation -----------------------------------------------------===//
  /// The element in a register. Bits above the sizes do not count.
  Coords coord(int reg, int lane, int warp) const;
  /// The part of the coordinate that the register gives: coord(reg, 0, 0).
  Coords regCoord(int reg) const { return coord(reg, 0, 0); }
  /// True if coord(reg, lane, warp) = regCoord(reg) + coord(0, lane, warp), sum
  /// instead of XOR: then a register is a constant offset from the thread's
  /// first element. Holds for all factories.
  bool registersAdd() const;
  /// The register in which this thread holds an element, or nothing.
  std::optional<int> registerOf(const Coords &coord, int lane, int warp) const;
  /// The first holder of an element: least free variables (see
  /// LinearLayout::pseudoInvert). Empty outside the shape.
  std::optional<Place> placeOf(const Coords &coord) const;

  //===--- copies ---------------------------------------------------------===//
  /// Lane and warp bits that only make copies. Threads where these are zero
  /// hold every element exactly once: let those store.
  int laneFreeMask() const;
  int warpFreeMask() const;

  //===--- slices (reductions and their broadcast back) ------------------===//
  /// The layout after `dim` is reduced away: registers that became equal are
  /// one; lane and warp bits along `dim` become zero bases, that is, copies.
  Result slice(int dim, std::string *error = nullptr) const;
  bool isSliceOf(const DistributedLayout &parent, int dim) const;
  /// For each register of this layout the register of slice(dim) that holds its
  /// row; the same for every thread. Serves sums (many to one) and broadcasts.
  std::vector<int> sliceRegisters(int dim) const;
  /// Lane and warp bits that differ only along `dim`: what a reduction must
  /// exchange after each thread has combined its own registers.
  struct Exchange {
    int laneMask, warpMask;
    bool operator==(const Exchange &) const = default;
  };
  /// Empty if a basis mixes `dim` with other dims, or if copies are hidden in
  /// dependent bases: then no exchange by bits is right.
  std::optional<Exchange> exchangeAlong(int dim) const;

  //===--- transposition --------------------------------------------------===//
  /// The layout of the same registers with dim d of the result being dim
  /// order[d] of this one. Repetitions are row-major in the new order, so the
  /// registers may change their numbers: see transposeRegisters.
  Result transpose(const std::vector<int> &order,
                   std::string *error = nullptr) const;
  /// For each register of transpose(order) the register of this layout.
  std::vector<int> transposeRegisters(const std::vector<int> &order) const;

  //===--- access ---------------------------------------------------------===//
  /// How many consecutive registers are consecutive elements along `dim`,
  /// starting at a multiple of that number (a power of two, >= 1).
  int vectorWidth(int dim) const;
  /// The same with registers chosen in any order: vector i is the elements of
  /// registers[i * width] and the next width - 1.
  struct Vectors {
    int width; ///< a power of two, at most `most`
    std::vector<int> registers;
  };
  Vectors vectors(int dim, int most) const;

  //===--- comparison -----------------------------------------------------===//
  bool operator==(const DistributedLayout &other) const = default;
  size_t hash() const;
  std::string str() const;

private:
  DistributedLayout() = default;
  Coords threadPart(int lane, int warp) const;

  Bases reg, lane, warp;
  Coords repeats, blockSizes;
};

/// True if every element that a warp holds under `to` is held by the same warp
/// under `from`. A conversion through shared memory then needs no barrier wider
/// than the warp, provided that every warp stores what it holds. Where only the
/// first holders store (see warpFreeMask), warps with copies store nothing:
/// there `from.warpFreeMask() == 0` is required as well. False if shapes or
/// warps differ.
bool sameWarpOwnership(const DistributedLayout &from,
                       const DistributedLayout &to);

/// If every thread already holds under `from` what it needs under `to`, and in
/// the same registers for all threads: for each register of `to` the register
/// of `from`. Empty otherwise, also if shapes or warps differ.
std::optional<std::vector<int>> registersOnly(const DistributedLayout &from,
                                              const DistributedLayout &to);

/// If pairs of 16-bit registers under `to` are 8 x 8 matrices of `from`,
/// transposed (`movmatrix`, isa::movmatrixTrans): for each pair of `to` the
/// pair of `from`. So an accumulator, rounded, becomes operand B without
/// leaving its warp. Empty otherwise.
std::optional<std::vector<int>> matrixTransposes(const DistributedLayout &from,
                                                 const DistributedLayout &to);

} // namespace mlatile
#endif
