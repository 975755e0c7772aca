// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/DistributedLayout.h"

#include "BlockBits.h"
#include "Fail.h"
#include "PowerOfTwo.h"

#include <algorithm>

namespace mlatile {
namespace {

using Coords = DistributedLayout::Coords;
using Bases = DistributedLayout::Bases;

constexpr size_t kLaneBits = 5;
constexpr size_t kMaxWarpBits = 5;
// No thread has more than 255 registers; far above it a layout is a mistake
// that would only cost time (code generation takes minutes).
constexpr int64_t kMaxRegs = 1 << 10;
constexpr int64_t kMaxCoord = int64_t(1) << 30;

bool isZero(const Coords &basis) {
  return std::ranges::all_of(basis, [](int64_t c) { return c == 0; });
}

/// XORs the bases selected by the bits of `index` into `coords`.
void accumulate(Coords &coords, const Bases &bases, unsigned index) {
  for (size_t bit = 0; bit < bases.size(); ++bit)
    if (index >> bit & 1)
      for (size_t d = 0; d < coords.size(); ++d)
        coords[d] ^= bases[bit][d];
}

bool checkBases(const char *name, const Bases &bases, size_t rank,
                std::string *error) {
  for (size_t bit = 0; bit < bases.size(); ++bit) {
    std::string where =
        std::string(name) + " basis " + std::to_string(bit) + ": expected ";
    if (bases[bit].size() != rank) {
      fail(error, where + std::to_string(rank) + " coordinates, got " +
                      std::to_string(bases[bit].size()));
      return false;
    }
    for (int64_t c : bases[bit])
      if (c < 0 || c >= kMaxCoord) {
        fail(error,
             where + "a coordinate in [0, 2^30), got " + std::to_string(c));
        return false;
      }
  }
  return true;
}

} // namespace

DistributedLayout::Result DistributedLayout::create(Bases reg, Bases lane,
                                                    Bases warp, Coords reps,
                                                    std::string *error) {
  size_t rank = reps.size();
  if (lane.size() != kLaneBits)
    return fail(error,
                "lane: expected 5 bases, got " + std::to_string(lane.size()));
  if (warp.size() > kMaxWarpBits)
    return fail(error, "warp: expected at most 5 bases, got " +
                           std::to_string(warp.size()));
  if (!checkBases("reg", reg, rank, error) ||
      !checkBases("lane", lane, rank, error) ||
      !checkBases("warp", warp, rank, error))
    return std::nullopt;
  int64_t regs = reg.size() < 62 ? int64_t(1) << reg.size() : kMaxRegs + 1;
  for (size_t d = 0; d < rank; ++d) {
    if (reps[d] < 1)
      return fail(error, "reps of dim " + std::to_string(d) +
                             ": expected at least 1, got " +
                             std::to_string(reps[d]));
    if (regs <= kMaxRegs)
      regs = reps[d] > kMaxRegs ? kMaxRegs + 1 : regs * reps[d];
  }
  if (regs > kMaxRegs)
    return fail(error, "expected at most " + std::to_string(kMaxRegs) +
                           " registers a thread, got more");

  DistributedLayout layout;
  Coords used(rank, 0);
  for (const Bases *bases : {&reg, &lane, &warp})
    for (const Coords &basis : *bases)
      for (size_t d = 0; d < rank; ++d)
        used[d] |= basis[d];
  size_t bits = 0;
  for (int64_t all : used) {
    int width = std::bit_width(static_cast<uint64_t>(all));
    layout.blockSizes.push_back(int64_t(1) << width);
    bits += width;
  }
  size_t available = reg.size() + lane.size() + warp.size();
  BitSpan span;
  if (bits <= available) {
    for (const Coords &basis : reg)
      span.insert(pack(basis, layout.blockSizes));
    if (span.rank() != static_cast<int>(reg.size()))
      return fail(error, "reg: expected independent bases, got " +
                             std::to_string(reg.size()) + " of rank " +
                             std::to_string(span.rank()));
    for (const Bases *bases : {&lane, &warp})
      for (const Coords &basis : *bases)
        span.insert(pack(basis, layout.blockSizes));
  }
  if (span.rank() != static_cast<int>(bits))
    return fail(error,
                "expected bases that reach every element of a block of " +
                    std::to_string(bits) + " bits, got " +
                    (bits <= available ? "rank " + std::to_string(span.rank())
                                       : std::to_string(available) + " bases"));
  layout.reg = std::move(reg);
  layout.lane = std::move(lane);
  layout.warp = std::move(warp);
  layout.repeats = std::move(reps);
  return layout;
}

//===--- shape and evaluation ---------------------------------------------===//

DistributedLayout::Coords DistributedLayout::shape() const {
  Coords sizes = blockSizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    sizes[d] *= repeats[d];
  return sizes;
}

int64_t DistributedLayout::numReps() const {
  int64_t count = 1;
  for (int64_t rep : repeats)
    count *= rep;
  return count;
}

LinearLayout DistributedLayout::block() const {
  std::vector<LinearLayout::Out> outs;
  for (int d = 0; d < rank(); ++d)
    outs.push_back({"dim" + std::to_string(d), blockSizes[d]});
  // create() has checked all that can fail; an empty layout would only follow
  // from a broken invariant.
  return LinearLayout::create({{"reg", reg}, {"lane", lane}, {"warp", warp}},
                              std::move(outs))
      .value_or(LinearLayout());
}

DistributedLayout::Coords DistributedLayout::threadPart(int lane,
                                                        int warp) const {
  Coords coords(rank(), 0);
  accumulate(coords, this->lane, lane);
  accumulate(coords, this->warp, warp);
  return coords;
}

DistributedLayout::Coords DistributedLayout::coord(int reg, int lane,
                                                   int warp) const {
  Coords coords = threadPart(lane, warp);
  unsigned index = reg;
  accumulate(coords, this->reg, index);
  int64_t rep = index / regsPerBlock();
  for (int d = rank() - 1; d >= 0; --d) {
    coords[d] += rep % repeats[d] * blockSizes[d];
    rep /= repeats[d];
  }
  return coords;
}

bool DistributedLayout::registersAdd() const {
  for (int d = 0; d < rank(); ++d) {
    int64_t ofRegs = 0, ofThreads = 0;
    for (const Coords &basis : reg)
      ofRegs |= basis[d];
    for (const Bases *bases : {&lane, &warp})
      for (const Coords &basis : *bases)
        ofThreads |= basis[d];
    if (ofRegs & ofThreads)
      return false;
  }
  return true;
}

std::optional<int> DistributedLayout::registerOf(const Coords &coord, int lane,
                                                 int warp) const {
  if (static_cast<int>(coord.size()) != rank())
    return std::nullopt;
  Coords inBlock = threadPart(lane, warp);
  int64_t rep = 0;
  for (int d = 0; d < rank(); ++d) {
    if (coord[d] < 0 || coord[d] >= blockSizes[d] * repeats[d])
      return std::nullopt;
    rep = rep * repeats[d] + coord[d] / blockSizes[d];
    inBlock[d] ^= coord[d] % blockSizes[d];
  }
  std::optional<uint64_t> found =
      spanOf(reg, blockSizes).solve(pack(inBlock, blockSizes));
  if (!found)
    return std::nullopt;
  return static_cast<int>(rep * regsPerBlock() + *found);
}

std::optional<DistributedLayout::Place>
DistributedLayout::placeOf(const Coords &coord) const {
  if (static_cast<int>(coord.size()) != rank())
    return std::nullopt;
  Coords inBlock(rank());
  int64_t rep = 0;
  for (int d = 0; d < rank(); ++d) {
    if (coord[d] < 0 || coord[d] >= blockSizes[d] * repeats[d])
      return std::nullopt;
    rep = rep * repeats[d] + coord[d] / blockSizes[d];
    inBlock[d] = coord[d] % blockSizes[d];
  }
  LinearLayout::Result inverse = block().pseudoInvert();
  if (!inverse)
    return std::nullopt;
  LinearLayout::Coords place = inverse->apply(inBlock);
  return Place{static_cast<int>(rep * regsPerBlock() + place[0]),
               static_cast<int>(place[1]), static_cast<int>(place[2])};
}

int DistributedLayout::laneFreeMask() const {
  return static_cast<int>(block().freeVariableMasks()[1]);
}

int DistributedLayout::warpFreeMask() const {
  return static_cast<int>(block().freeVariableMasks()[2]);
}

//===--- slices -----------------------------------------------------------===//

DistributedLayout::Result DistributedLayout::slice(int dim,
                                                   std::string *error) const {
  if (dim < 0 || dim >= rank())
    return fail(error, "slice: expected a dim below " + std::to_string(rank()) +
                           ", got " + std::to_string(dim));
  auto project = [&](const Bases &bases) {
    Bases projected = bases;
    for (Coords &basis : projected)
      basis.erase(basis.begin() + dim);
    return projected;
  };
  Coords sizes = blockSizes, reps = repeats;
  sizes.erase(sizes.begin() + dim);
  reps.erase(reps.begin() + dim);
  BitSpan span;
  Bases kept;
  for (Coords &basis : project(reg))
    if (span.insert(pack(basis, sizes)))
      kept.push_back(std::move(basis));
  return create(std::move(kept), project(lane), project(warp), std::move(reps),
                error);
}

bool DistributedLayout::isSliceOf(const DistributedLayout &parent,
                                  int dim) const {
  return parent.slice(dim) == *this;
}

std::vector<int> DistributedLayout::sliceRegisters(int dim) const {
  std::vector<int> registers;
  Result sliced = slice(dim);
  if (!sliced)
    return registers;
  BitSpan span = spanOf(sliced->reg, sliced->blockSizes);
  for (int r = 0, end = numRegs(); r < end; ++r) {
    Coords at = regCoord(r);
    at.erase(at.begin() + dim);
    int64_t rep = 0;
    for (int d = 0; d < sliced->rank(); ++d) {
      rep = rep * sliced->repeats[d] + at[d] / sliced->blockSizes[d];
      at[d] %= sliced->blockSizes[d];
    }
    uint64_t inBlock = span.solve(pack(at, sliced->blockSizes)).value_or(0);
    registers.push_back(
        static_cast<int>(rep * sliced->regsPerBlock() + inBlock));
  }
  return registers;
}

std::optional<DistributedLayout::Exchange>
DistributedLayout::exchangeAlong(int dim) const {
  if (dim < 0 || dim >= rank())
    return std::nullopt;
  BitSpan span;
  Exchange exchange{0, 0};
  auto visit = [&](const Bases &bases, int *mask) {
    for (size_t bit = 0; bit < bases.size(); ++bit) {
      const Coords &basis = bases[bit];
      if (isZero(basis))
        continue; // a copy, on both sides
      if (!span.insert(pack(basis, blockSizes)))
        return false;
      if (!basis[dim])
        continue;
      Coords others = basis;
      others[dim] = 0;
      if (!isZero(others))
        return false;
      if (mask)
        *mask |= 1 << bit;
    }
    return true;
  };
  if (!visit(reg, nullptr) || !visit(lane, &exchange.laneMask) ||
      !visit(warp, &exchange.warpMask))
    return std::nullopt;
  return exchange;
}

//===--- transposition and access -----------------------------------------===//

DistributedLayout::Result
DistributedLayout::transpose(const std::vector<int> &order,
                             std::string *error) const {
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  for (int d = 0; d < std::max<int>(rank(), sorted.size()); ++d)
    if (static_cast<int>(sorted.size()) != rank() || sorted[d] != d)
      return fail(error, "transpose: expected a permutation of the dims of a "
                         "layout of rank " +
                             std::to_string(rank()));
  auto move = [&](const Coords &from) {
    Coords to;
    for (int d : order)
      to.push_back(from[d]);
    return to;
  };
  auto moveAll = [&](const Bases &from) {
    Bases to;
    for (const Coords &basis : from)
      to.push_back(move(basis));
    return to;
  };
  return create(moveAll(reg), moveAll(lane), moveAll(warp), move(repeats),
                error);
}

std::vector<int>
DistributedLayout::transposeRegisters(const std::vector<int> &order) const {
  std::vector<int> registers;
  Result result = transpose(order);
  if (!result)
    return registers;
  for (int r = 0, end = numRegs(); r < end; ++r) {
    Coords there = result->regCoord(r), here(rank());
    for (int d = 0; d < rank(); ++d)
      here[order[d]] = there[d];
    // Block registers keep their numbers, the repetitions change theirs.
    int64_t rep = 0;
    for (int d = 0; d < rank(); ++d)
      rep = rep * repeats[d] + here[d] / blockSizes[d];
    registers.push_back(
        static_cast<int>(rep * regsPerBlock() + r % regsPerBlock()));
  }
  return registers;
}

int DistributedLayout::vectorWidth(int dim) const {
  if (dim < 0 || dim >= rank())
    return 1;
  size_t bits = 0;
  while (bits < reg.size()) {
    Coords unit(rank(), 0);
    unit[dim] = int64_t(1) << bits;
    if (reg[bits] != unit)
      break;
    ++bits;
  }
  // Nothing else may step inside the vector.
  for (const Bases *bases : {&reg, &lane, &warp})
    for (size_t bit = bases == &reg ? bits : 0; bit < bases->size(); ++bit)
      if (int64_t c = (*bases)[bit][dim])
        bits = std::min<size_t>(bits, std::countr_zero<uint64_t>(c));
  return 1 << bits;
}

DistributedLayout::Vectors DistributedLayout::vectors(int dim, int most) const {
  // Register bits that are 1, 2, 4 ... along dim, in that order.
  std::vector<size_t> bits;
  while (dim >= 0 && dim < rank() && (2 << bits.size()) <= most) {
    Coords unit(rank(), 0);
    unit[dim] = int64_t(1) << bits.size();
    auto found = std::find(reg.begin(), reg.end(), unit);
    if (found == reg.end())
      break;
    bits.push_back(found - reg.begin());
  }
  // Nothing else may step inside the vector.
  auto isInside = [&](size_t bit) {
    return std::find(bits.begin(), bits.end(), bit) != bits.end();
  };
  auto otherStepsInside = [&] {
    int64_t width = int64_t(1) << bits.size();
    for (const Bases *bases : {&reg, &lane, &warp})
      for (size_t bit = 0; bit < bases->size(); ++bit)
        if ((bases != &reg || !isInside(bit)) && (*bases)[bit][dim] % width)
          return true;
    return false;
  };
  while (!bits.empty() && otherStepsInside())
    bits.pop_back();

  Vectors result{1 << bits.size(), {}};
  int within = 0;
  for (size_t bit : bits)
    within |= 1 << bit;
  for (int first = 0; first < numRegs(); ++first) {
    if (first & within)
      continue;
    for (int i = 0; i < result.width; ++i) {
      int index = first;
      for (size_t bit = 0; bit < bits.size(); ++bit)
        index |= (i >> bit & 1) << bits[bit];
      result.registers.push_back(index);
    }
  }
  return result;
}

size_t DistributedLayout::hash() const {
  size_t seed = block().hash();
  for (int64_t rep : repeats) {
    seed = (seed ^ static_cast<uint64_t>(rep)) * 0x9e3779b97f4a7c15ull;
    seed ^= seed >> 29;
  }
  return seed;
}

} // namespace mlatile
