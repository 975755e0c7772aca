// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that the compiler starts from. Fragment layouts are read off the
// lane tables of Instructions.h: a linear map is known by its values at the
// powers of two.
#include "Fail.h"
#include "PowerOfTwo.h"
#include "mlatile/Analysis/DistributedLayout.h"
#include "mlatile/Target/Instructions.h"

#include <algorithm>

namespace mlatile {
namespace {

using Coords = DistributedLayout::Coords;
using Bases = DistributedLayout::Bases;
using Result = DistributedLayout::Result;

constexpr int kMaxWarps = 32;

/// One warp's fragment: register and lane bases, and its size.
struct Fragment {
  Bases reg, lane;
  int64_t rows, cols;
};

/// `at(lane, register, element)` is a table of Instructions.h.
template <class Table>
Fragment fragment(int64_t rows, int64_t cols, int perReg, int regs, Table at) {
  Fragment result{{}, {}, rows, cols};
  auto basis = [](isa::Coord c) { return Coords{c.row, c.col}; };
  for (int element = 1; element < perReg; element *= 2)
    result.reg.push_back(basis(at(0, 0, element)));
  for (int reg = 1; reg < regs; reg *= 2)
    result.reg.push_back(basis(at(0, reg, 0)));
  for (int lane = 1; lane < isa::kWarpLanes; lane *= 2)
    result.lane.push_back(basis(at(lane, 0, 0)));
  return result;
}

bool checkWarps(int warps, const char *name, std::string *error) {
  if (warps <= kMaxWarps && isPowerOfTwo(warps))
    return true;
  fail(error, std::string(name) + ": expected a power of two up to 32, got " +
                  std::to_string(warps));
  return false;
}

/// Warps side by side, low warp bits along N; a count of copies for a dim that
/// the operand does not have. `alongM` and `alongN` are the dims of the warp
/// grid in the operand, -1 for copies.
Result tiled(const char *what, Fragment one, int64_t rows, int64_t cols,
             int warpsM, int warpsN, int alongM, int alongN,
             std::string *error) {
  if (!checkWarps(warpsM, "warpsM", error) ||
      !checkWarps(warpsN, "warpsN", error) ||
      !checkWarps(warpsM * warpsN, "warpsM * warpsN", error))
    return std::nullopt;
  Coords block{one.rows, one.cols};
  Bases warp;
  auto spread = [&](int warps, int dim) {
    for (int step = 1; step < warps; step *= 2) {
      Coords basis{0, 0};
      if (dim >= 0) {
        basis[dim] = block[dim];
        block[dim] *= 2;
      }
      warp.push_back(std::move(basis));
    }
  };
  spread(warpsN, alongN);
  spread(warpsM, alongM);
  Coords shape{rows, cols}, reps;
  for (int d = 0; d < 2; ++d) {
    if (shape[d] < 1 || shape[d] % block[d])
      return fail(error, std::string(what) + ", dim " + std::to_string(d) +
                             ": expected a multiple of " +
                             std::to_string(block[d]) + ", got " +
                             std::to_string(shape[d]));
    reps.push_back(shape[d] / block[d]);
  }
  return DistributedLayout::create(std::move(one.reg), std::move(one.lane),
                                   std::move(warp), std::move(reps), error);
}

bool checkBits(int bits, std::string *error) {
  if (bits == 16 || bits == 8 || bits == 4)
    return true;
  fail(error, "operand bits: expected 16, 8 or 4, got " + std::to_string(bits));
  return false;
}

bool checkPack(int pack, std::string *error) {
  if (pack >= 0 && pack <= 2)
    return true;
  fail(error, "pack: expected 0, 1 or 2, got " + std::to_string(pack));
  return false;
}

/// Where row bit `row` of an instruction (rows g and g + 8) stands along M: the
/// 16 bits of a lane hold both rows, of several tiles where they are four.
int64_t packedRow(int64_t row, int pack) {
  if (pack == 0)
    return row;
  return row == 8 ? 1 : row << pack;
}

/// A fragment of 16 bits in which a lane's elements along K (dim `k`) are
/// neighbours: its registers come first, steps of the instruction next, lanes
/// last.
void packAlongK(Fragment &one, int k, int pack) {
  if (pack == 0)
    return;
  auto move = [&](Coords &basis) {
    if (basis[k] == 8) // the second half of a step
      basis[k] = 2;
    else if (basis[k] > 1) // lanes
      basis[k] <<= pack;
  };
  for (Coords &basis : one.reg)
    move(basis);
  for (Coords &basis : one.lane)
    move(basis);
  for (int bit = 1; bit < pack; ++bit) {
    Coords step{0, 0};
    step[k] = int64_t(2) << bit;
    one.reg.push_back(std::move(step));
  }
  (k == 0 ? one.rows : one.cols) = int64_t(8) << pack;
}

bool checkShape(const Coords &shape, std::string *error) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 1) {
      fail(error, "dim " + std::to_string(d) + ": expected at least 1, got " +
                      std::to_string(shape[d]));
      return false;
    }
  return true;
}

} // namespace

Result DistributedLayout::mmaAccumulator(int64_t m, int64_t n, int warpsM,
                                         int warpsN, std::string *error) {
  return mmaAccumulator(m, n, warpsM, warpsN, 0, 0, error);
}

Result DistributedLayout::mmaAccumulator(int64_t m, int64_t n, int warpsM,
                                         int warpsN, int packM, int packN,
                                         std::string *error) {
  if (!checkPack(packM, error) || !checkPack(packN, error))
    return std::nullopt;
  isa::MmaShape shape = isa::mmaShape(16);
  Fragment one =
      fragment(shape.m, shape.n, 1, shape.regsC,
               [](int lane, int reg, int) { return isa::mmaC(lane, reg); });
  auto move = [&](Coords &basis) {
    basis = {packedRow(basis[0], packM), basis[1] << packN};
  };
  for (Coords &basis : one.reg)
    move(basis);
  for (Coords &basis : one.lane)
    move(basis);
  // Tiles of the instruction that share 16 bits.
  for (int bit = 0; bit < packN; ++bit)
    one.reg.push_back({0, int64_t(1) << bit});
  for (int bit = 1; bit < packM; ++bit)
    one.reg.push_back({int64_t(1) << bit, 0});
  one.rows = packM ? shape.n << packM : shape.m;
  one.cols = shape.n << packN;
  return tiled("mma accumulator", std::move(one), m, n, warpsM, warpsN, 0, 1,
               error);
}

Result DistributedLayout::mmaOperandA(int64_t m, int64_t k, int bits,
                                      int warpsM, int warpsN,
                                      std::string *error) {
  if (!checkBits(bits, error))
    return std::nullopt;
  isa::MmaShape shape = isa::mmaShape(bits);
  Fragment one = fragment(shape.m, shape.k, 32 / bits, shape.regsA,
                          [&](int lane, int reg, int element) {
                            return isa::mmaA(bits, lane, reg, element);
                          });
  return tiled("mma operand A", std::move(one), m, k, warpsM, warpsN, 0, -1,
               error);
}

Result DistributedLayout::mmaOperandB(int64_t k, int64_t n, int bits,
                                      int warpsM, int warpsN,
                                      std::string *error) {
  if (!checkBits(bits, error))
    return std::nullopt;
  isa::MmaShape shape = isa::mmaShape(bits);
  Fragment one = fragment(shape.k, shape.n, 32 / bits, shape.regsB,
                          [&](int lane, int reg, int element) {
                            return isa::mmaB(bits, lane, reg, element);
                          });
  return tiled("mma operand B", std::move(one), k, n, warpsM, warpsN, -1, 1,
               error);
}

Result DistributedLayout::mmaPackedOperandA(int64_t m, int64_t k, int packK,
                                            int warpsM, int warpsN,
                                            std::string *error) {
  if (!checkPack(packK, error))
    return std::nullopt;
  isa::MmaShape shape = isa::mmaShape(16);
  Fragment one = fragment(shape.m, shape.k, 2, shape.regsA,
                          [](int lane, int reg, int element) {
                            return isa::mmaA(16, lane, reg, element);
                          });
  packAlongK(one, 1, packK);
  return tiled("mma operand A", std::move(one), m, k, warpsM, warpsN, 0, -1,
               error);
}

Result DistributedLayout::mmaPackedOperandB(int64_t k, int64_t n, int packK,
                                            int warpsM, int warpsN,
                                            std::string *error) {
  if (!checkPack(packK, error))
    return std::nullopt;
  isa::MmaShape shape = isa::mmaShape(16);
  Fragment one = fragment(shape.k, shape.n, 2, shape.regsB,
                          [](int lane, int reg, int element) {
                            return isa::mmaB(16, lane, reg, element);
                          });
  packAlongK(one, 0, packK);
  return tiled("mma operand B", std::move(one), k, n, warpsM, warpsN, -1, 1,
               error);
}

Result DistributedLayout::blocked(const Coords &shape, int elementBytes,
                                  int numWarps, std::string *error) {
  if (!isPowerOfTwo(elementBytes) || elementBytes > 16)
    return fail(error, "element bytes: expected 1, 2, 4, 8 or 16, got " +
                           std::to_string(elementBytes));
  if (!checkWarps(numWarps, "warps", error) || !checkShape(shape, error))
    return std::nullopt;
  int rank = static_cast<int>(shape.size());
  Coords block(rank, 1);
  // The next basis: the last dim that still has a factor of two.
  auto next = [&](int firstDim) {
    Coords basis(rank, 0);
    for (int d = rank - 1; d >= firstDim; --d)
      if (block[d] < powerOfTwoPart(shape[d])) {
        basis[d] = block[d];
        block[d] *= 2;
        break;
      }
    return basis;
  };
  Bases reg, lane, warp;
  int64_t vector =
      rank ? std::min<int64_t>(16 / elementBytes, powerOfTwoPart(shape.back()))
           : 1;
  for (int64_t step = 1; step < vector; step *= 2)
    reg.push_back(next(rank - 1));
  for (int step = 1; step < isa::kWarpLanes; step *= 2)
    lane.push_back(next(0));
  for (int step = 1; step < numWarps; step *= 2)
    warp.push_back(next(0));
  if (rank == 3) {
    // Warps have the lowest bits of a plane's number and registers the highest,
    // so that planes are added in the same order by any number of each.
    std::vector<Coords *> planes;
    for (Bases *bases : {&warp, &lane})
      for (Coords &basis : *bases)
        if (basis.front())
          planes.push_back(&basis);
    for (size_t bit = 0; bit < planes.size(); ++bit)
      planes[bit]->front() = int64_t{1} << bit;
  }
  Coords reps;
  for (int d = 0; d < rank; ++d)
    reps.push_back(shape[d] / block[d]);
  return create(std::move(reg), std::move(lane), std::move(warp),
                std::move(reps), error);
}

Result DistributedLayout::rowsOverThreads(int64_t rows, int numWarps,
                                          std::string *error) {
  if (!checkWarps(numWarps, "warps", error) || !checkShape({rows}, error))
    return std::nullopt;
  int64_t threads = int64_t(isa::kWarpLanes) * numWarps;
  int64_t block = std::min(powerOfTwoPart(rows), threads);
  int64_t perRow = threads / block;
  Bases lane, warp;
  for (int64_t tid = 1; tid < threads; tid *= 2)
    (tid < isa::kWarpLanes ? lane : warp).push_back({tid / perRow});
  return create({}, std::move(lane), std::move(warp), {rows / block}, error);
}

Result DistributedLayout::replicated(const Coords &shape, int numWarps,
                                     std::string *error) {
  if (!checkWarps(numWarps, "warps", error) || !checkShape(shape, error))
    return std::nullopt;
  Coords none(shape.size(), 0);
  Bases warp(log2Exact(numWarps), none);
  return create({}, Bases(5, none), std::move(warp), shape, error);
}

} // namespace mlatile
