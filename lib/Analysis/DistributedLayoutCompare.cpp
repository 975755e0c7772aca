// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a conversion from one layout to another has to cross: nothing but
// register names, the lanes of a warp, or warps.
#include "BlockBits.h"
#include "mlatile/Analysis/DistributedLayout.h"

#include <algorithm>

namespace mlatile {
namespace {

using Coords = DistributedLayout::Coords;
using Bases = DistributedLayout::Bases;

/// Two layouts of one shape seen over a common block: repetitions that only one
/// of them needs become register bases. Both blocks are powers of two that
/// divide the shape, so the larger one is a block of both, and what is left
/// over is repeated alike and held by every thread.
struct CommonBlock {
  Coords sizes;
  uint64_t operator()(const Coords &basis) const { return pack(basis, sizes); }
};

std::optional<CommonBlock> commonBlock(const DistributedLayout &a,
                                       const DistributedLayout &b) {
  if (a.shape() != b.shape() || a.numWarps() != b.numWarps())
    return std::nullopt;
  CommonBlock common{a.blockShape()};
  for (size_t d = 0; d < common.sizes.size(); ++d)
    common.sizes[d] = std::max(common.sizes[d], b.blockShape()[d]);
  return common;
}

/// The vectors that span what a thread of `layout` holds of the common block,
/// moved to thread 0.
Bases registerVectors(const CommonBlock &common,
                      const DistributedLayout &layout) {
  Bases bases = layout.regBases();
  for (size_t d = 0; d < common.sizes.size(); ++d)
    for (int64_t c = layout.blockShape()[d]; c < common.sizes[d]; c *= 2) {
      bases.emplace_back(common.sizes.size(), 0);
      bases.back()[d] = c;
    }
  return bases;
}

} // namespace

bool sameWarpOwnership(const DistributedLayout &from,
                       const DistributedLayout &to) {
  std::optional<CommonBlock> common = commonBlock(from, to);
  if (!common)
    return false;
  BitSpan held = spanOf(registerVectors(*common, from), common->sizes);
  for (const Coords &basis : from.laneBases())
    held.insert((*common)(basis));
  for (const Coords &basis : registerVectors(*common, to))
    if (!held.contains((*common)(basis)))
      return false;
  for (const Coords &basis : to.laneBases())
    if (!held.contains((*common)(basis)))
      return false;
  for (size_t bit = 0; bit < to.warpBases().size(); ++bit)
    if (!held.contains((*common)(from.warpBases()[bit]) ^
                       (*common)(to.warpBases()[bit])))
      return false;
  return true;
}

std::optional<std::vector<int>> registersOnly(const DistributedLayout &from,
                                              const DistributedLayout &to) {
  std::optional<CommonBlock> common = commonBlock(from, to);
  if (!common || from.laneBases() != to.laneBases() ||
      from.warpBases() != to.warpBases())
    return std::nullopt;
  BitSpan held = spanOf(registerVectors(*common, from), common->sizes);
  for (const Coords &basis : registerVectors(*common, to))
    if (!held.contains((*common)(basis)))
      return std::nullopt;
  std::vector<int> map;
  for (int r = 0, end = to.numRegs(); r < end; ++r) {
    std::optional<int> source = from.registerOf(to.regCoord(r), 0, 0);
    if (!source)
      return std::nullopt;
    map.push_back(*source);
  }
  return map;
}

std::optional<std::vector<int>> matrixTransposes(const DistributedLayout &from,
                                                 const DistributedLayout &to) {
  // Rows of a matrix over the lanes, two neighbours of a row in a pair.
  const Bases rows{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  const Bases columns{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}};
  if (from.shape() != to.shape() || from.warpBases() != to.warpBases() ||
      from.laneBases() != rows || to.laneBases() != columns ||
      from.regBases().empty() || from.regBases()[0] != Coords{0, 1} ||
      to.regBases().empty() || to.regBases()[0] != Coords{1, 0} ||
      !from.registersAdd() || !to.registersAdd())
    return std::nullopt;
  std::vector<int> pairs;
  for (int r = 0, end = to.numRegs(); r < end; r += 2) {
    Coords corner = to.regCoord(r);
    std::optional<int> source = from.registerOf(corner, 0, 0);
    if (!source || corner[0] % 8 || corner[1] % 8 || *source % 2)
      return std::nullopt;
    pairs.push_back(*source / 2);
  }
  return pairs;
}

} // namespace mlatile
