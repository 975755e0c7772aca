// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>

namespace mlatile::tilegpu {

std::optional<WarpGrid> matchAccumulator(const DistributedLayout &layout) {
  if (layout.rank() != 2)
    return std::nullopt;
  // Warps for which the tile is too small hold copies: their bases are zero.
  DistributedLayout::Bases warp = layout.warpBases();
  while (!warp.empty() && warp.back() == DistributedLayout::Coords{0, 0})
    warp.pop_back();
  auto distinct = DistributedLayout::create(
      layout.regBases(), layout.laneBases(), warp, layout.reps());
  if (!distinct)
    return std::nullopt;
  DistributedLayout::Coords shape = layout.shape();
  for (int warpsN = 1; warpsN <= distinct->numWarps(); warpsN *= 2)
    for (int packM = 0; packM <= 2; ++packM)
      for (int packN = 0; packN <= 2; ++packN) {
        int warpsM = distinct->numWarps() / warpsN;
        if (DistributedLayout::mmaAccumulator(shape[0], shape[1], warpsM,
                                              warpsN, packM, packN) == distinct)
          return WarpGrid{warpsM, warpsN, packM, packN};
      }
  return std::nullopt;
}

std::optional<DistributedLayout> operandLayout(bool isA, int64_t rows,
                                               int64_t cols, int packK,
                                               const WarpGrid &grid,
                                               int numWarps) {
  auto layout = isA ? DistributedLayout::mmaPackedOperandA(
                          rows, cols, packK, grid.warpsM, grid.warpsN)
                    : DistributedLayout::mmaPackedOperandB(
                          rows, cols, packK, grid.warpsM, grid.warpsN);
  if (!layout || layout->numWarps() >= numWarps)
    return layout;
  DistributedLayout::Bases warp = layout->warpBases();
  while ((1 << warp.size()) < numWarps)
    warp.push_back({0, 0});
  return DistributedLayout::create(layout->regBases(), layout->laneBases(),
                                   warp, layout->reps());
}

std::optional<WarpGrid> matchOperandA(const DistributedLayout &layout) {
  if (layout.rank() != 2)
    return std::nullopt;
  auto shape = layout.shape();
  if (shape[0] % 16 || shape[1] % 16)
    return std::nullopt;
  for (int warps = 1; warps <= layout.numWarps(); warps *= 2) {
    WarpGrid grid{warps, layout.numWarps() / warps};
    if (operandLayout(/*isA=*/true, shape[0], shape[1], /*packK=*/0, grid,
                      layout.numWarps()) == layout)
      return grid;
  }
  return std::nullopt;
}

int packing(mlir::Type element) {
  if (!element.isIntOrFloat())
    return 0;
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 8 ? 1 : bits == 4 ? 2 : 0;
}

std::optional<DistributedLayout>
reduceWarpLayout(const DistributedLayout &layout, int axis) {
  auto exchange = layout.exchangeAlong(axis);
  auto slice = layout.slice(axis);
  if (!exchange || !slice || exchange->warpMask == 0)
    return exchange ? slice : std::nullopt;
  auto insert = [axis](DistributedLayout::Coords coords, int64_t value) {
    coords.insert(coords.begin() + axis, value);
    return coords;
  };
  DistributedLayout::Bases reg, lane, warp;
  for (const auto &basis : slice->regBases())
    reg.push_back(insert(basis, 0));
  for (const auto &basis : slice->laneBases())
    lane.push_back(insert(basis, 0));
  int64_t column = 1;
  for (size_t bit = 0; bit < slice->warpBases().size(); ++bit) {
    bool along = (exchange->warpMask >> bit) & 1;
    warp.push_back(insert(slice->warpBases()[bit], along ? column : 0));
    column <<= along;
  }
  return DistributedLayout::create(reg, lane, warp, insert(slice->reps(), 1));
}

std::optional<std::vector<int>>
windowRegisters(const DistributedLayout &whole, const DistributedLayout &window,
                llvm::ArrayRef<int64_t> offsets) {
  if (whole.rank() != window.rank() ||
      offsets.size() != static_cast<size_t>(whole.rank()) ||
      whole.laneBases() != window.laneBases() ||
      whole.warpBases() != window.warpBases() || !whole.registersAdd() ||
      !window.registersAdd())
    return std::nullopt;
  std::vector<int> registers;
  for (int reg = 0; reg < window.numRegs(); ++reg) {
    DistributedLayout::Coords coord = window.regCoord(reg);
    for (auto [d, offset] : llvm::enumerate(offsets))
      coord[d] += offset;
    // The first thread's: its part of a coordinate is zero.
    std::optional<int> same = whole.registerOf(coord, 0, 0);
    if (!same)
      return std::nullopt;
    registers.push_back(*same);
  }
  return registers;
}

std::optional<DistributedLayout>
transposedLayout(const DistributedLayout &layout) {
  if (layout.rank() != 2)
    return std::nullopt;
  auto swapped = [](DistributedLayout::Coords coords) {
    std::swap(coords[0], coords[1]);
    return coords;
  };
  DistributedLayout::Bases reg, lane, warp;
  for (const auto &basis : layout.regBases())
    reg.push_back(swapped(basis));
  for (const auto &basis : layout.laneBases())
    lane.push_back(swapped(basis));
  for (const auto &basis : layout.warpBases())
    warp.push_back(swapped(basis));
  // The order of the repetitions differs, which only renumbers registers.
  return DistributedLayout::create(reg, lane, warp, swapped(layout.reps()));
}

std::optional<DistributedLayout> packedColumns(const DistributedLayout &layout,
                                               int pack) {
  if (layout.rank() != 2 || pack < 1 || pack > 2 ||
      layout.blockShape()[1] % (8 << pack) != 0)
    return std::nullopt;
  // Bits of a column: 1 + pack bits of the elements of a lane, two of the lane.
  // The mma has along k: the pair, two bits of the lane, the half of a step.
  static constexpr int kPlaces[2][5] = {{0, 3, 1, 2, 4}, {0, 3, 4, 1, 2}};
  auto moved = [&](DistributedLayout::Bases bases) {
    for (auto &basis : bases) {
      int64_t column = basis[1], bits = 3 + pack;
      int64_t place = column >> bits << bits;
      for (int bit = 0; bit < bits; ++bit)
        place |= (column >> bit & 1) << kPlaces[pack - 1][bit];
      basis[1] = place;
    }
    return bases;
  };
  return DistributedLayout::create(moved(layout.regBases()),
                                   moved(layout.laneBases()),
                                   moved(layout.warpBases()), layout.reps());
}

} // namespace mlatile::tilegpu
