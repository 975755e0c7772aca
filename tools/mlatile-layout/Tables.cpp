// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tables.h"

#include <algorithm>
#include <bit>

using namespace mlatile;

namespace {

using Coords = DistributedLayout::Coords;
using Row = std::vector<std::string>;

std::string joined(const Coords &values, const char *separator) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? separator : "") + std::to_string(values[i]);
  return text;
}

std::string sizeText(const Coords &sizes) {
  return sizes.empty() ? "scalar" : joined(sizes, " x ");
}

std::string tuple(const Coords &coords) {
  return "(" + joined(coords, ", ") + ")";
}

/// Columns as wide as their widest cell, right-aligned; the first row is the
/// head.
void printTable(llvm::raw_ostream &os, const std::vector<Row> &rows) {
  std::vector<size_t> widths;
  for (const Row &row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  for (const Row &row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      os.indent((c ? 2 : 0) + widths[c] - row[c].size());
      os << row[c];
    }
    os << "\n";
  }
}

/// Bits of a mask, as "4, 8, 16".
std::string maskText(int mask) {
  Coords bits;
  for (int bit = 1; bit <= mask; bit *= 2)
    if (mask & bit)
      bits.push_back(bit);
  return bits.empty() ? "none" : joined(bits, ", ");
}

} // namespace

void mlatile::printSummary(llvm::raw_ostream &os,
                           const DistributedLayout &layout) {
  os << layout.str() << "\n";
  os << "shape: " << sizeText(layout.shape()) << ", block "
     << sizeText(layout.blockShape()) << ", repeated [" // as in the attribute
     << joined(layout.reps(), ", ") << "]\n";
  os << "registers: " << layout.numRegs() << " a thread, "
     << layout.regsPerBlock() << " a block; warps: " << layout.numWarps()
     << "\n";
  os << "copies: lane bits " << maskText(layout.laneFreeMask())
     << "; warp bits " << maskText(layout.warpFreeMask()) << "\n";
  for (int d = 0; d < layout.rank(); ++d) {
    os << "dim " << d << ": vectors of " << layout.vectorWidth(d)
       << "; a reduction exchanges ";
    if (auto exchange = layout.exchangeAlong(d))
      os << "lane bits " << maskText(exchange->laneMask) << ", warp bits "
         << maskText(exchange->warpMask) << "\n";
    else
      os << "no plain bits\n";
  }
}

void mlatile::printBases(llvm::raw_ostream &os,
                         const DistributedLayout &layout) {
  std::vector<Row> rows;
  auto add = [&](const char *name, const DistributedLayout::Bases &bases) {
    for (size_t bit = 0; bit < bases.size(); ++bit)
      rows.push_back({name, std::to_string(1 << bit), "->", tuple(bases[bit])});
  };
  add("reg", layout.regBases());
  add("lane", layout.laneBases());
  add("warp", layout.warpBases());
  printTable(os, rows);
}

void mlatile::printElements(llvm::raw_ostream &os,
                            const DistributedLayout &layout) {
  if (layout.rank() < 1 || layout.rank() > 2) {
    os << "(elements are shown for layouts of rank 1 and 2)\n";
    return;
  }
  int copies = 1 << (std::popcount<unsigned>(layout.laneFreeMask()) +
                     std::popcount<unsigned>(layout.warpFreeMask()));
  bool flat = layout.rank() == 1;
  int64_t rows = flat ? 1 : layout.blockShape()[0];
  int64_t cols = layout.blockShape().back();
  std::vector<Row> table(1, Row{"warp:lane:reg"});
  for (int64_t col = 0; col < cols; ++col)
    table[0].push_back(std::to_string(col));
  for (int64_t row = 0; row < rows; ++row) {
    Row &line = table.emplace_back(Row{std::to_string(row)});
    for (int64_t col = 0; col < cols; ++col) {
      auto place = layout.placeOf(flat ? Coords{col} : Coords{row, col});
      line.push_back(place ? std::to_string(place->warp) + ":" +
                                 std::to_string(place->lane) + ":" +
                                 std::to_string(place->reg)
                           : "?");
      if (copies > 1)
        line.back() += " x" + std::to_string(copies);
    }
  }
  printTable(os, table);
}

void mlatile::printThreads(llvm::raw_ostream &os,
                           const DistributedLayout &layout, int warp) {
  std::vector<Row> table(1, Row{"lane"});
  for (int reg = 0; reg < layout.regsPerBlock(); ++reg)
    table[0].push_back("r" + std::to_string(reg));
  for (int lane = 0; lane < 32; ++lane) {
    Row &line = table.emplace_back(Row{std::to_string(lane)});
    for (int reg = 0; reg < layout.regsPerBlock(); ++reg)
      line.push_back(tuple(layout.coord(reg, lane, warp)));
  }
  printTable(os, table);
}

void mlatile::printConversion(llvm::raw_ostream &os,
                              const DistributedLayout &from,
                              const DistributedLayout &to) {
  if (from.shape() != to.shape() || from.numWarps() != to.numWarps()) {
    os << "conversion: none, expected " << sizeText(from.shape()) << " over "
       << from.numWarps() << " warps, got " << sizeText(to.shape()) << " over "
       << to.numWarps() << "\n";
    return;
  }
  if (auto map = registersOnly(from, to)) {
    os << "conversion: registers only, new <- old:";
    for (size_t r = 0; r < map->size(); ++r)
      os << " " << r << "<-" << (*map)[r];
    os << "\n";
    return;
  }
  if (auto pairs = matrixTransposes(from, to)) {
    os << "conversion: of 16 bits by movmatrix, new <- old pair:";
    for (size_t p = 0; p < pairs->size(); ++p)
      os << " " << p << "<-" << (*pairs)[p];
    os << "\n";
    return;
  }
  os << (sameWarpOwnership(from, to)
             ? "conversion: between the lanes of each warp\n"
             : "conversion: between warps\n");
}
