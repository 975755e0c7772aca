// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles in which splits are joined.
#include "Fixtures.h"

#include "KernelWork.h"

using namespace mlatile;

namespace {
struct Tile {
  int64_t heads, columns, warps, atOnce, ctas;
  bool operator==(const Tile &) const = default;
};
std::ostream &operator<<(std::ostream &os, const Tile &tile) {
  return os << tile.heads << "x" << tile.columns << ", " << tile.warps
            << " warps, " << tile.atOnce << " at once, " << tile.ctas
            << " CTAs";
}

/// Of the launch that joins so many splits on 132 SMs.
Tile mergeOf(Problem p, int64_t splits) {
  p.target = "sm_90a";
  p.numSMs = 132;
  p.kernel = "decode";
  p.merge = "launch";
  p.numSplits = splits;
  const LaunchStep step = plan(p)->launches.at(1);
  auto number = [&](const char *name) {
    return std::stoll(step.kernel.params.at(name));
  };
  EXPECT_EQ(step.kernel.symbol, "merge");
  return {number("BH"), number("BD"), number("WARPS"), number("AT_ONCE"),
          step.grid};
}

Problem rowsOf(int64_t tokens, int64_t heads) {
  Problem p = smallProblem();
  p.numTokens = tokens;
  p.numHeads = heads;
  return p;
}

/// The smallest tile of which all CTAs run at once, four on an SM: 528.
TEST(MergePlan, TilesByRowsAndHeads) {
  struct Case {
    int64_t tokens, heads;
    Tile tile;
  };
  const Case cases[] = {
      {1, 16, {1, 128, 1, 8, 64}},     // 16 rows x heads
      {1, 128, {1, 128, 1, 8, 512}},   // 128
      {132, 1, {1, 128, 1, 8, 528}},   // as many as run
      {133, 1, {1, 256, 4, 8, 266}},   // one more
      {4, 64, {1, 256, 4, 8, 512}},    // 256
      {8, 64, {1, 512, 4, 8, 512}},    // 512
      {16, 64, {2, 512, 4, 8, 512}},   // 1024
      {64, 64, {2, 512, 4, 8, 2048}},  // 4096: four heads have no eight splits
      {1024, 1, {1, 512, 4, 8, 1024}}, // no two heads in a row
  };
  for (const Case &c : cases)
    EXPECT_EQ(mergeOf(rowsOf(c.tokens, c.heads), 8), c.tile)
        << c.tokens << " x " << c.heads;
  EXPECT_EQ(mergeOf(rowsOf(64, 64), 2), (Tile{4, 512, 4, 2, 1024}));
  EXPECT_EQ(mergeOf(rowsOf(64, 66), 2), (Tile{2, 512, 4, 2, 2112}));
  EXPECT_EQ(mergeOf(rowsOf(64, 64), 3), (Tile{2, 512, 4, 4, 2048}));
}

/// Warps share the splits of a head where a thread has more than four vectors
/// of them: 256 columns of f16 a warp.
TEST(MergePlan, WarpsBySplits) {
  auto warps = [](Problem p, int64_t splits) {
    return mergeOf(p, splits).warps;
  };
  Problem narrow = rowsOf(1, 16), wide = rowsOf(8, 64), middle = rowsOf(4, 64);
  EXPECT_EQ(warps(narrow, 2), 1);
  EXPECT_EQ(warps(narrow, 8), 1);
  EXPECT_EQ(warps(narrow, 9), 4);
  EXPECT_EQ(warps(middle, 4), 1);
  EXPECT_EQ(warps(middle, 5), 4);
  EXPECT_EQ(warps(wide, 4), 2);
  EXPECT_EQ(warps(wide, 5), 4);
  EXPECT_EQ(warps(rowsOf(16, 64), 2), 4); // heads for all of them
}

/// All splits at once, up to 32, however many rows there are: what a row's bits
/// follow from. Several heads up to eight.
TEST(MergePlan, SplitsAtOnce) {
  const std::pair<int64_t, int64_t> few[] = {
      {2, 2}, {3, 4}, {5, 8}, {9, 16}, {16, 16}, {17, 32}, {33, 32}, {64, 32}};
  for (auto [splits, atOnce] : few) {
    for (int64_t rows : {1, 4, 8, 64, 2048})
      EXPECT_EQ(mergeOf(rowsOf(rows, 64), splits).atOnce, atOnce)
          << rows << " rows in " << splits;
    EXPECT_EQ(mergeOf(rowsOf(16, 64), splits).heads, splits <= 8 ? 2 : 1)
        << splits;
  }
  EXPECT_EQ(splitsAtOnce(1, 8), 2);
  EXPECT_EQ(splitsAtOnce(8, 8), 8);
  EXPECT_EQ(splitsAtOnce(9, 8), 8);
}

TEST(MergePlan, NarrowerOnOtherCards) {
  Problem p = rowsOf(16, 64);
  p.numSplits = 4;
  p.merge = "launch";
  p.kernel = "decode";
  p.numSMs = 512; // 2048 CTAs
  EXPECT_EQ(plan(p)->launches.at(1).kernel.params.at("BD"), "256");
  p.numSMs = 1024;
  EXPECT_EQ(plan(p)->launches.at(1).kernel.params.at("BD"), "128");
}

/// Slices have all splits at once too, over fewer columns the more there are.
TEST(MergePlan, SlicesHaveAllSplitsAtOnce) {
  const std::tuple<int64_t, const char *, const char *> cases[] = {
      {2, "2", "512"},   {8, "8", "512"},   {9, "16", "256"},
      {17, "32", "128"}, {40, "32", "128"},
  };
  for (auto [splits, atOnce, columns] : cases) {
    Problem p = rowsOf(1, 16);
    p.kernel = "decode";
    p.merge = "slices";
    p.numSplits = splits;
    std::map<std::string, std::string> params =
        plan(p)->launches.at(0).kernel.params;
    EXPECT_EQ(params.at("AT_ONCE"), atOnce) << splits;
    EXPECT_EQ(params.at("MERGE_BD"), columns) << splits;
  }
}

/// No wider than the value; in slices and clusters 16 bytes of each thread.
TEST(MergePlan, ColumnsOfSlicesAndClusters) {
  auto columns = [](const char *format, const char *merge, const char *warps) {
    Problem p = rowsOf(1, 16);
    p.target = "sm_90a";
    p.kvFormat = format;
    p.kernel = "decode";
    p.merge = merge;
    p.numSplits = 4;
    p.params = {{"WARPS", warps}};
    return plan(p)->launches.at(0).kernel.params.at("MERGE_BD");
  };
  EXPECT_EQ(columns("dsv4", "slices", "1"), "256");
  EXPECT_EQ(columns("dsv4", "slices", "2"), "512");
  EXPECT_EQ(columns("dsv4", "slices", "4"), "512");
  EXPECT_EQ(columns("dots3_swa", "slices", "8"), "1024");
  EXPECT_EQ(columns("dsv4", "cluster", "1"), "128");
  EXPECT_EQ(columns("dsv4", "cluster", "2"), "256");
  EXPECT_EQ(columns("dsv4", "cluster", "8"), "512");
  EXPECT_EQ(columns("dots3_swa", "cluster", "8"), "1024");
}

/// Up to eight splits come to fewer CTAs of several heads each.
TEST(MergePlan, TheGridOfAMergeHasAnEnd) {
  Problem p = rowsOf(10'000'000, 128);
  p.kernel = "decode";
  p.numSplits = 8;
  EXPECT_EQ(plan(p)->numSplits, 8);
  p.numSplits = 9;
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }),
             "`num_splits`: expected splits whose merge has at most 2147483647 "
             "CTAs (on grid x), got 9, whose merge has 2560000000");
}

/// As asked for by an author's file, which may have no AT_ONCE.
TEST(MergePlan, FilesOfAuthors) {
  Problem p = rowsOf(1, 16);
  auto source = std::make_shared<KernelSource>();
  source->name = "mine.mlir";
  source->text = "decode merge";
  p.source = source;
  p.numSplits = 3;
  EXPECT_FALSE(plan(p)->launches.at(1).kernel.params.count("AT_ONCE"));
  auto other = std::make_shared<KernelSource>(*source);
  other->text += " AT_ONCE";
  p.source = other;
  EXPECT_EQ(plan(p)->launches.at(1).kernel.params.at("AT_ONCE"), "4");
}
} // namespace
