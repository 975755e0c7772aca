// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of docs/CostModel.md, each where it alone decides.
#include "mlatile/Runtime/CostModel.h"

#include "KernelWork.h"
#include "mlatile/Target/Format.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlatile;

namespace {

/// Round numbers: 100 SMs of sm_120a at 1 GHz.
Card card() {
  return {"card", "sm_120a", 100, 1 << 20, 1e12, 4e12, 1e9, {1000, 2000, 0, 0}};
}

/// One CTA of four warps that fills an SM's shared memory; nothing to do yet.
LaunchWork work() {
  LaunchWork work;
  work.grid = 1;
  work.threads = 128;
  work.sharedBytes = 100'000;
  return work;
}

LoopWork loop(double instructions) {
  LoopWork loop;
  loop.instructions = instructions;
  loop.ahead = 1;
  loop.iterations = 1000;
  return loop;
}

constexpr double kLaunch = 1.6;

double us(const LaunchWork &work, const Card &on = card()) {
  std::optional<Prediction> prediction = predict(work, on);
  EXPECT_TRUE(prediction);
  return prediction ? prediction->microseconds : -1;
}
Limiter limiter(const LaunchWork &work, const Card &on = card()) {
  std::optional<Prediction> prediction = predict(work, on);
  EXPECT_TRUE(prediction);
  return prediction ? prediction->limiter : Limiter::Launch;
}

TEST(CostModel, ALaunchAndItsCode) {
  LaunchWork empty = work();
  empty.threads = 32;
  EXPECT_NEAR(us(empty), kLaunch, 1e-9);
  EXPECT_EQ(limiter(empty), Limiter::Launch);
  empty.instructions = 2000; // 1.85 clocks each
  EXPECT_NEAR(us(empty), kLaunch + 3.7, 1e-9);
  empty.chain = 3;
  EXPECT_NEAR(us(empty), kLaunch + 3.7 + 0.54, 1e-9);
  EXPECT_EQ(limiter(empty), Limiter::Latency);
  // What a loop has of the code is not outside of it.
  empty.loops = {loop(1000)};
  empty.loops[0].iterations = 0;
  EXPECT_NEAR(us(empty), kLaunch + 1.85 + 0.54, 1e-9);
}

TEST(CostModel, AWarpAloneWaitsForItself) {
  LaunchWork one = work();
  one.loops = {loop(4000)};
  // 1000 a warp, 1.85 clocks each, are more than 4000 at 2.35 a clock.
  EXPECT_NEAR(us(one), kLaunch + 1850, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Issue);
  one.threads = 32;
  EXPECT_NEAR(us(one), kLaunch + 7400, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Latency);
  one.loops[0].barriers = 10;
  EXPECT_NEAR(us(one), kLaunch + 9150, 1e-6);
  // One thing after another.
  one.loops[0].sharedBytes = 128 * 1000;
  EXPECT_NEAR(us(one), kLaunch + 10150, 1e-6);
  // Of two warps of a scheduler the second takes a tenth longer.
  one.threads = 256;
  one.loops = {loop(1600)};
  one.loops[0].mmaFlops[size_t(MmaRate::F16)] = 2e6;
  EXPECT_NEAR(us(one), kLaunch + 2000 + 200 * 1.85 * 1.1, 1e-6);
}

/// The slowest of them, a quarter of what the others use, and once the
/// others, before the slowest has something to do.
TEST(CostModel, RolesWorkAtTheSameTime) {
  LaunchWork one = work();
  one.loops = {loop(0)};
  RoleWork copies, computes;
  copies.warps = computes.warps = 2;
  copies.instructions = 1000; // 925 clocks
  computes.instructions = 2000;
  computes.barriers = 1; // 1850 and 175
  one.loops[0].roles = {copies, computes};
  for (const RoleWork &role : one.loops[0].roles)
    one.loops[0].add(role);
  EXPECT_NEAR(us(one), kLaunch + 2025 + 0.925, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Issue); // 1200 of 2025, at 2.5 a clock
  one.loops[0].roles[0].sharedBytes = 128 * 100;
  one.loops[0].sharedBytes = 128 * 100;
  EXPECT_NEAR(us(one), kLaunch + 2050 + 1.025, 1e-6);
  // No part of them is outside of the loops, where seven tenths count.
  one.instructions = 1500;
  EXPECT_NEAR(us(one), kLaunch + 2050 + 1.025, 1e-6);
  one.instructions = 2500;
  EXPECT_NEAR(us(one), kLaunch + 2050 + 1.025 + 1.295, 1e-6);
}

TEST(CostModel, EachUnitCanBeTheLimit) {
  LaunchWork one = work();
  one.loops = {loop(4)};
  one.loops[0].mmaFlops[size_t(MmaRate::F16)] = 2e6;
  EXPECT_NEAR(us(one), kLaunch + 2000 + 1.85, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Mma);
  one.loops[0].sharedBytes = 128 * 3000;
  EXPECT_NEAR(us(one), kLaunch + 5000 + 1.85, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Shared);
  one.loops[0].conversions = 12000;
  EXPECT_NEAR(us(one), kLaunch + 6000, 1e-6);
  EXPECT_EQ(limiter(one), Limiter::Conversion);
}

TEST(CostModel, LatencyIsHiddenByWhatIsAhead) {
  LaunchWork one = work();
  one.loops = {loop(4)};
  EXPECT_NEAR(us(one), kLaunch + 600, 1e-6);
  one.loops[0].ahead = 2;
  EXPECT_NEAR(us(one), kLaunch + 300, 1e-6);
  one.loops[0].ahead = 0;
  one.threads = 32;
  EXPECT_NEAR(us(one), kLaunch + 600 + 7.4, 1e-6);
}

/// Of `resident` CTAs that take so long alone, the SM being busy for so much.
double together(double alone, double busy, double resident) {
  return std::cbrt(std::pow(alone, 3) + std::pow(resident * busy, 3) -
                   std::pow(busy, 3));
}

TEST(CostModel, WavesOverTheSMs) {
  LaunchWork many = work();
  many.loops = {loop(2700)};
  many.threads = 32; // alone 4995 clocks, of which the SM is busy 964
  constexpr double kBusy = 2700 / 2.8, // no barriers
      kAlone = 4995 * 1.02;
  many.grid = 50;
  EXPECT_NEAR(us(many), kLaunch + 4995, 1e-6);
  many.grid = 75; // half of those with a neighbour
  EXPECT_NEAR(us(many), kLaunch + 4995 * 1.01, 1e-6);
  many.grid = 100;
  EXPECT_NEAR(us(many), kLaunch + kAlone, 1e-6);
  many.grid = 101;
  EXPECT_NEAR(us(many), kLaunch + 2 * kAlone, 1e-6);
  // Two on an SM have room beside each other, four take turns more often.
  many.sharedBytes = 50'176;
  EXPECT_EQ(residentCtas(many, card()), 2);
  EXPECT_NEAR(us(many), kLaunch + together(kAlone, kBusy, 2), 1e-6);
  EXPECT_LT(us(many), kLaunch + 1.05 * kAlone);
  many.sharedBytes = 24'576;
  EXPECT_EQ(residentCtas(many, card()), 4);
  many.grid = 400;
  double four = together(kAlone, kBusy, 4);
  EXPECT_GT(four, 1.05 * kAlone);
  EXPECT_NEAR(us(many), kLaunch + four, 1e-6);
  many.grid = 500;
  EXPECT_NEAR(us(many), kLaunch + four + kAlone, 1e-6);
}

TEST(CostModel, CodeOutsideOfLoopsIsShared) {
  LaunchWork many = work();
  many.instructions = 2700;
  many.sharedBytes = 24'576;
  many.grid = 400;
  // 2700 instructions of four warps, of four CTAs.
  EXPECT_NEAR(us(many), kLaunch + together(4.995, 2.7 * 4 / 2.35, 4), 1e-9);
}

TEST(CostModel, MergesTakeRounds) {
  LaunchWork merge = work();
  merge.mergeRounds = 3;
  EXPECT_NEAR(us(merge), kLaunch + 2.4, 1e-9);
  merge.joins = true;
  EXPECT_NEAR(us(merge), kLaunch + 2.4 + 3.5, 1e-9);
  merge.joins = false;
  merge.cluster = 4;
  EXPECT_NEAR(us(merge), kLaunch + 2.25, 1e-9);
  merge.barriers = 2;
  EXPECT_NEAR(us(merge), kLaunch + 2.25 + 0.35, 1e-9);
}

/// More than half of the SMs are not there for clusters of more than two, one
/// CTA on each: then some have two.
TEST(CostModel, ClustersStandTogether) {
  LaunchWork alone = work(), crowded = work();
  alone.sharedBytes = crowded.sharedBytes = 40'000;
  alone.instructions = crowded.instructions = 2700;
  alone.grid = 48;
  crowded.grid = 96; // of 100 SMs
  double apart = us(alone);
  EXPECT_EQ(us(crowded), apart);
  crowded.cluster = 2;
  EXPECT_EQ(us(crowded), apart);
  alone.cluster = crowded.cluster = 4;
  EXPECT_EQ(us(alone), apart);
  EXPECT_GT(us(crowded), apart * 1.02);
  // Those beyond the SMs come after others.
  LaunchWork more = crowded;
  more.grid = 196;
  double two = us(crowded), whole = us(more);
  EXPECT_NEAR(whole, two + apart - kLaunch, 1e-9);
  crowded.sharedBytes = 100'000; // no SM has place for two
  EXPECT_EQ(us(crowded), apart);
}

/// They begin once for all of their items.
TEST(CostModel, PersistentCtasBeginLessOften) {
  LaunchWork items = work();
  items.chain = 10;
  EXPECT_NEAR(us(items), kLaunch + 1.8, 1e-9);
  items.persistent = true;
  EXPECT_NEAR(us(items), kLaunch + 0.7, 1e-9);
}

TEST(CostModel, ADependentLaunchIsHiddenInPart) {
  LaunchWork before = work(), after = work();
  EXPECT_EQ(hiddenMicroseconds(before, after, card()), 0);
  after.dependent = true;
  EXPECT_NEAR(hiddenMicroseconds(before, after, card()), 0.75, 1e-9);
  before.grid = 101; // more than run at once
  EXPECT_EQ(hiddenMicroseconds(before, after, card()), 0);
}

TEST(CostModel, WhatFitsOnAnSM) {
  LaunchWork one = work();
  EXPECT_EQ(residentCtas(one, card()), 1);
  one.sharedBytes = 101'377;
  EXPECT_EQ(residentCtas(one, card()), 0);
  EXPECT_FALSE(predict(one, card()));
  one.sharedBytes = 0;
  EXPECT_EQ(residentCtas(one, card()), 12) << "1536 threads";
  one.threads = 32;
  EXPECT_EQ(residentCtas(one, card()), 24);
  one.threads = 128;
  one.registers = 168; // three warps a quarter
  EXPECT_EQ(residentCtas(one, card()), 3);
  one.registers = 255;
  EXPECT_EQ(residentCtas(one, card()), 2);
  one.threads = 1024;
  EXPECT_EQ(residentCtas(one, card()), 0);
}

TEST(CostModel, MemoryAndL2) {
  LaunchWork bytes = work();
  bytes.grid = 100;
  bytes.memoryBytes = 1e9;
  EXPECT_NEAR(us(bytes), kLaunch + 1000, 1e-6);
  EXPECT_EQ(limiter(bytes), Limiter::Memory);
  bytes.l2Bytes = 8e9;
  EXPECT_NEAR(us(bytes), kLaunch + 2000, 1e-6);
  EXPECT_EQ(limiter(bytes), Limiter::L2);
}

TEST(CostModel, SharedRowsComeFromMemoryOnceIfL2KeepsThem) {
  LaunchWork rows = work();
  rows.grid = 4000;
  rows.sharers = 4;
  // Lists of 1 GB, 1/40 of them in flight: 25 MB.
  rows.gatherBytes = 4e9;
  Card big = card();
  big.l2Bytes = 32 << 20;
  EXPECT_NEAR(us(rows, big), kLaunch + 1000, 1e-6);
  // Half of that fits: the three others find half of their rows.
  big.l2Bytes = 12'500'000;
  EXPECT_NEAR(us(rows, big), kLaunch + 2500, 1e-6);
  EXPECT_EQ(limiter(rows, big), Limiter::Memory);
}

TEST(CostModel, AMissingMmaIsNoTime) {
  LaunchWork one = work();
  one.loops = {loop(4)};
  one.loops[0].mmaFlops[size_t(MmaRate::BlockScaled8)] = 1;
  EXPECT_FALSE(predict(one, card()));
  one.grid = 0;
  one.loops.clear();
  EXPECT_FALSE(predict(one, card()));
}

Problem problem() {
  Problem problem;
  problem.numTokens = 4;
  problem.numHeads = 40;
  problem.width = 500;
  problem.kvFormat = "dsv4";
  problem.pageSize = 64;
  return problem;
}

TEST(KernelWork, SizesOfAnAttentionKernel) {
  std::map<std::string, std::string> params = {
      {"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
  auto work = estimateWork("decode", params, problem(), 3);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->grid, 4 * 3 * 3);
  EXPECT_EQ(work->sharers, 3);
  EXPECT_EQ(work->threads, 128);
  ASSERT_EQ(work->loops.size(), 1u);
  EXPECT_EQ(work->loops[0].iterations, 6); // 16 tiles of 32 in 3 splits
  EXPECT_EQ(work->loops[0].mma, 256);
  EXPECT_EQ(work->gatherBytes, 4.0 * 3 * 500 * (576 + 8 + 4));
  Problem two = problem();
  two.extraWidth = 100;
  auto both = estimateWork("decode", params, two, 1);
  ASSERT_EQ(both->loops.size(), 2u);
  EXPECT_EQ(both->loops[1].iterations, 4);
}

TEST(KernelWork, SizesOfAMerge) {
  auto work = estimateWork(
      "merge", {{"BH", "16"}, {"BD", "64"}, {"WARPS", "4"}}, problem(), 9);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->grid, 4 * 3 * 8);
  EXPECT_EQ(work->mergeRounds, 2); // eight splits each
  EXPECT_FALSE(work->joins || work->dependent);
}

TEST(KernelWork, SlicesReadWhatTheyStored) {
  std::map<std::string, std::string> params = {
      {"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
  auto stored = estimateWork("decode", params, problem(), 9);
  params["SLICES"] = "true";
  auto joined = estimateWork("decode", params, problem(), 9);
  ASSERT_TRUE(stored && joined);
  EXPECT_GT(joined->l2Bytes, 1.8 * stored->l2Bytes);
  EXPECT_GT(joined->memoryBytes, stored->memoryBytes);
  EXPECT_FALSE(stored->joins);
  EXPECT_TRUE(joined->joins);
  // 16 heads are 16 slices, two each for most of nine CTAs; two rounds.
  params["MERGE_BD"] = "512";
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->mergeRounds, 4);
  params["MERGE_BD"] = "128";
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->mergeRounds, 16);
  // Past the value's columns there is nothing to join.
  params["MERGE_BD"] = "1024";
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->mergeRounds, 4);
  // All splits at once.
  params["MERGE_BD"] = "512";
  params["AT_ONCE"] = "16";
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->mergeRounds, 2);
}

/// Of a split and head: 512 columns of f16, and three numbers in f32.
TEST(KernelWork, SplitsLeaveF16) {
  std::map<std::string, std::string> params = {
      {"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
  auto one = estimateWork("decode", params, problem(), 1);
  auto two = estimateWork("decode", params, problem(), 2);
  auto merge = estimateWork(
      "merge", {{"BH", "1"}, {"BD", "512"}, {"WARPS", "4"}}, problem(), 2);
  ASSERT_TRUE(one && two && merge);
  constexpr double kHeads = 4 * 40, kPartial = 512 * 2 + 3 * 4;
  EXPECT_EQ(two->l2Bytes - two->memoryBytes, kHeads * 2 * kPartial);
  EXPECT_EQ(one->memoryBytes - two->memoryBytes, kHeads * 512 * 2);
  EXPECT_EQ(merge->l2Bytes - merge->memoryBytes, kHeads * 2 * kPartial);
}

/// Warps that share the splits of a head wait for each other twice a round.
TEST(KernelWork, BarriersOutsideOfLoops) {
  auto merge = [](const char *heads, const char *columns, const char *warps,
                  int64_t splits) {
    return estimateWork("merge",
                        {{"BH", heads}, {"BD", columns}, {"WARPS", warps}},
                        problem(), splits)
        ->barriers;
  };
  EXPECT_EQ(merge("1", "512", "4", 8), 2);
  EXPECT_EQ(merge("1", "512", "4", 9), 4);
  EXPECT_EQ(merge("1", "512", "2", 9), 0); // all warps for one split
  EXPECT_EQ(merge("2", "512", "4", 8), 0); // each has a head
  EXPECT_EQ(merge("1", "128", "4", 8), 2);
  EXPECT_EQ(merge("1", "128", "1", 8), 0);
  std::map<std::string, std::string> params = {
      {"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
  EXPECT_EQ(estimateWork("decode", params, problem(), 1)->barriers, 0);
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->barriers, 0);
  // Two rounds of two slices each.
  params["SLICES"] = "true";
  params["MERGE_BD"] = "512";
  EXPECT_EQ(estimateWork("decode", params, problem(), 9)->barriers, 4 * 2);
}

TEST(KernelWork, ClustersStoreNothingBetween) {
  std::map<std::string, std::string> params = {
      {"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
  auto stored = estimateWork("decode", params, problem(), 5);
  params["CLUSTER"] = "5";
  params["JOIN"] = "4";
  params["MERGE_BD"] = "512";
  auto joined = estimateWork("decode", params, problem(), 5);
  ASSERT_TRUE(stored && joined);
  EXPECT_LT(joined->l2Bytes, stored->l2Bytes);
  EXPECT_GT(joined->memoryBytes, stored->memoryBytes);
  EXPECT_FALSE(joined->joins);
  EXPECT_EQ(joined->cluster, 5);
  // Four parts for five CTAs; eight of two heads are two for some.
  EXPECT_EQ(joined->mergeRounds, 1);
  params["JOIN"] = "2";
  EXPECT_EQ(estimateWork("decode", params, problem(), 5)->mergeRounds, 2);
}

TEST(KernelWork, OtherParametersAreNoKernelOfOurs) {
  EXPECT_FALSE(estimateWork("decode", {}, problem(), 1));
  EXPECT_FALSE(estimateWork("decode", {{"BN", "32"}}, problem(), 1));
  EXPECT_FALSE(estimateWork(
      "decode", {{"FMT", "none"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}},
      problem(), 1));
  EXPECT_FALSE(estimateWork(
      "decode", {{"FMT", "dsv4"}, {"BH", "x"}, {"BN", "32"}, {"WARPS", "4"}},
      problem(), 1));
}

} // namespace
