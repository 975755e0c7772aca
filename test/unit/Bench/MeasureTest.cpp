// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol of mlatile-bench, with the driver of FakeDriver.cpp, where every
// kernel takes 10 us.
#include "Bench.h"
#include "Candidates.h"
#include "FloorKernels.h"
#include "Floors.h"
#include "ProblemArrays.h"
#include "mlatile/Runtime/Error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <dlfcn.h>
#include <set>

using namespace mlatile;
using namespace mlatile::bench;

namespace {
int count(const char *what) {
  static auto function = reinterpret_cast<int (*)(const char *)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_driver_count"));
  return function(what);
}

Problem smallProblem() {
  Problem problem;
  problem.numTokens = 3;
  problem.numHeads = 2;
  problem.width = 70;
  problem.kvFormat = "dsv4";
  problem.pageSize = 16;
  problem.numSMs = 188;
  return problem;
}

Protocol fewCalls() {
  Protocol protocol;
  protocol.calls = 4;
  protocol.replays = 6;
  protocol.flushBytes = 1 << 20;
  return protocol;
}

TEST(RandomSlots, GivesEachOnce) {
  for (int64_t slots : {1, 2, 7, 64, 1000, 4097}) {
    RandomSlots source(slots, 1);
    for (int round = 0; round < 3; ++round) {
      std::vector<int32_t> taken(static_cast<size_t>(slots));
      source.take(slots, taken.data());
      std::set<int32_t> different(taken.begin(), taken.end());
      EXPECT_EQ(different.size(), taken.size());
      EXPECT_GE(*different.begin(), 0);
      EXPECT_LT(*different.rbegin(), slots);
    }
  }
}

TEST(RandomSlots, TakesFromTheWholePoolInAnyOrder) {
  RandomSlots source(1 << 20, 5);
  std::vector<int32_t> taken(4000);
  source.take(4000, taken.data());
  int ascending = 0;
  std::vector<int> inPart(16);
  for (size_t i = 0; i < taken.size(); ++i) {
    ascending += i && taken[i] > taken[i - 1];
    ++inPart[static_cast<size_t>(taken[i] >> 16)];
  }
  EXPECT_NEAR(ascending, 2000, 150);
  for (int part : inPart)
    EXPECT_NEAR(part, 250, 80);
  RandomSlots other(1 << 20, 6);
  std::vector<int32_t> others(4000);
  other.take(4000, others.data());
  EXPECT_NE(taken, others);
}

TEST(RandomSlots, NeedsAsManySlotsAsARow) {
  RandomSlots source(10, 1);
  std::vector<int32_t> row(11);
  try {
    source.take(11, row.data());
    FAIL();
  } catch (const ArgumentError &error) {
    EXPECT_NE(std::string(error.what()).find("at least 11 slots"),
              std::string::npos)
        << error.what();
  }
}

TEST(Entries, RowsAreDistinctWherePoolsAreSmall) {
  RandomSlots source(100, 1);
  std::vector<int32_t> entries = makeEntries(source, 50, 70, 0, 1);
  for (size_t row = 0; row < 50; ++row) {
    auto first = entries.begin() + static_cast<ptrdiff_t>(row * 70);
    EXPECT_EQ(std::set<int32_t>(first, first + 70).size(), 70u);
  }
}

TEST(Entries, APartIsSkipped) {
  RandomSlots source(1 << 16, 1);
  std::vector<int32_t> entries = makeEntries(source, 100, 100, 0.25, 9);
  EXPECT_NEAR(
      static_cast<double>(std::count(entries.begin(), entries.end(), -1)), 2500,
      150);
}

TEST(Statistics, MedianOfOddAndEven) {
  EXPECT_EQ(statistics({5, 1, 3}).median, 3);
  Timing even = statistics({8, 1, 3, 4});
  EXPECT_EQ(even.median, 3.5);
  EXPECT_EQ(even.fastest, 1);
  EXPECT_EQ(even.slowest, 8);
  EXPECT_EQ(even.replays, 4);
}

TEST(Arrays, EveryCallHasRowsOfItsOwn) {
  Problem problem = smallProblem();
  problem.extraWidth = 40;
  problem.extraPageSize = 16;
  Pools pools(1 << 20, 0);
  ProblemArrays arrays(problem, 0, pools, 0);
  arrays.makeSets(5);
  std::set<int32_t> first, second;
  for (int set = 0; set < 5; ++set) {
    const Call &call = arrays.call(set);
    // Device memory of this driver is memory.
    auto *indices = static_cast<int32_t *>(call.indices.data);
    first.insert(indices, indices + 3 * 70);
    auto *extra = static_cast<int32_t *>(call.extraIndices.data);
    second.insert(extra, extra + 3 * 40);
    EXPECT_NE(call.kv.data, call.extraKv.data);
  }
  EXPECT_EQ(first.size(), 5u * 3 * 70);
  EXPECT_EQ(second.size(), 5u * 3 * 40);
  EXPECT_GE(*first.begin(), 0);
  EXPECT_LT(*first.rbegin(), arrays.call(0).kv.slots);
  EXPECT_EQ(arrays.gatheredBytes(), 3 * (70 + 40) * 584);
  EXPECT_EQ(arrays.gatheredRows(), 3 * (70 + 40));
}

TEST(Arrays, PoolsAreKept) {
  Pools pools(1 << 20, 0);
  const DevicePool &pool = pools.get({"dsv4", 16, 0, 0, 0}, 100);
  EXPECT_GE(pool.geometry.pages * pool.geometry.pageStride, 1000000);
  void *memory = pool.memory.data();
  EXPECT_EQ(pools.get({"dsv4", 16, 0, 0, 0}, 100).memory.data(), memory);
  pools.get({"dsv4", 16, 0, 0, 1}, 100);
  EXPECT_EQ(pools.get({"dsv4", 16, 0, 0, 0}, 100).memory.data(), memory);
  // A row has to fit, whatever was asked for.
  EXPECT_GE(pools.get({"dsv4", 16, 0, 0, 0}, 5000).geometry.slots(), 5000);
}

TEST(Stopwatch, CapturesOnceAndReadsBetweenReplays) {
  std::optional<DeviceInfo> device = cudaDevice();
  ASSERT_TRUE(device);
  Pools pools(1 << 20, 0);
  ProblemArrays arrays(smallProblem(), 0, pools, 0);
  preload(arrays.plan());
  auto kernels = static_cast<int>(arrays.plan().launches.size());
  for (bool warm : {false, true}) {
    Protocol protocol = fewCalls();
    protocol.warm = warm;
    Stopwatch stopwatch(protocol, *device, 0);
    EXPECT_EQ(stopwatch.flushedBytes() >= 2 * device->l2Bytes, !warm);
    std::vector<int> seen;
    Work work = [&](int call, void *stream) {
      seen.push_back(call);
      LaunchOptions options;
      options.stream = stream;
      launch(arrays.call(call), options);
    };
    double estimate = 0;
    int calls = stopwatch.callsFor(work, estimate);
    EXPECT_EQ(calls, 4);
    EXPECT_NEAR(estimate, 10 * kernels, 1e-3);
    EXPECT_EQ(seen, (std::vector<int>{0, 0}));
    seen.clear();
    arrays.makeSets(calls);
    int launches = count("launch");
    Timing timing = stopwatch.measure(work, calls, estimate);
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(count("launch") - launches, 4 * kernels + (warm ? 0 : 6));
    EXPECT_NEAR(timing.median, 10 * kernels, 1e-3);
    EXPECT_EQ(timing.calls, 4);
    EXPECT_EQ(timing.replays, 6);
    EXPECT_TRUE(arrays.wroteNumbers());
  }
}

TEST(Stopwatch, LongCallsAreRepeatedLess) {
  std::optional<DeviceInfo> device = cudaDevice();
  ASSERT_TRUE(device);
  Protocol protocol = fewCalls();
  protocol.calls = 1000;
  protocol.replays = 1000;
  protocol.seconds = 0.01;
  Stopwatch stopwatch(protocol, *device, 0);
  Flush something(1 << 20, *device, 0);
  Work work = [&](int, void *stream) { something.launch(stream); };
  double estimate = 0;
  EXPECT_EQ(stopwatch.callsFor(work, estimate), 400); // 4 ms of 10 us
  EXPECT_EQ(stopwatch.measure(work, 400, estimate).replays, 5);
  EXPECT_EQ(stopwatch.measure(work, 10, estimate).replays, 40);
}

TEST(Floors, AreMeasuredOnce) {
  std::optional<DeviceInfo> device = cudaDevice();
  ASSERT_TRUE(device);
  Stopwatch stopwatch(fewCalls(), *device, 0);
  Floors floors(stopwatch, *device, 0);
  Pools pools(1 << 20, 0);
  const DevicePool &pool = pools.get({"dsv4", 16, 0, 0, 0}, 100);
  EXPECT_NEAR(floors.gather(pool, 210), 10, 1e-3);
  EXPECT_NEAR(floors.gatherRate(), 210 * 584 / 10e-6, 1e8);
  EXPECT_GT(floors.mmaRate(), 1e12);
  int launches = count("launch");
  floors.gather(pool, 210);
  floors.mmaRate();
  EXPECT_EQ(count("launch"), launches);
  EXPECT_EQ(floors.gather(pool, 0), 0);
}

TEST(Ways, AreEveryKernelAndSplit) {
  Problem problem = smallProblem();
  problem.width = 300;
  problem.target = "sm_90a";
  std::set<std::string> kernels;
  std::set<int64_t> splits;
  std::vector<Problem> ways = waysOf(problem);
  for (size_t i = 1; i < ways.size(); ++i) {
    kernels.insert(ways[i].kernel);
    if (ways[i].kernel == "decode")
      splits.insert(ways[i].numSplits.value_or(0));
  }
  EXPECT_EQ(ways.front().key(), problem.key());
  EXPECT_EQ(kernels, (std::set<std::string>{"decode", "prefill", "swapab"}));
  for (int64_t one : {1, 2, 4})
    EXPECT_TRUE(splits.count(one)) << one;
  EXPECT_FALSE(splits.count(8)); // 8 splits of 300 are less than a tile
}

TEST(Bench, MeasuresAndGoesOnAfterAFailure) {
  BenchOptions options;
  options.poolBytes = 1 << 20;
  options.protocol = fewCalls();
  options.problems = {{"good", smallProblem(), 0},
                      {"bad", smallProblem(), 0},
                      {"last", smallProblem(), 0.5}};
  options.problems[1].problem.compute = "nonsense";
  Progress progress(stderr, false);
  int begun = 0, measured = 0;
  Results results = measure(
      options, progress, [&](const Results &) { ++begun; },
      [&](const Result &) { ++measured; });
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(measured, 3);
  const Result &good = results.rows[0];
  EXPECT_EQ(good.error, "");
  EXPECT_EQ(good.bytes, 3 * 70 * 584);
  EXPECT_EQ(good.flops, 2.0 * 3 * 2 * 70 * (512 + 512));
  EXPECT_GT(good.time.median, 9);
  EXPECT_NEAR(*good.gather, 10, 1e-3);
  EXPECT_NEAR(*good.mma, good.flops / *results.mmaRate * 1e6, 1e-9);
  EXPECT_NE(results.rows[1].error.find("nonsense"), std::string::npos);
  EXPECT_EQ(results.rows[2].error, "");
}

TEST(Bench, KnowsCardsByName) {
  auto card = [](const char *name) {
    DeviceInfo device;
    device.name = name;
    return cardOf(device);
  };
  EXPECT_EQ(card("NVIDIA H200"), "h200");
  EXPECT_EQ(card("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"),
            "rtx_pro_6000");
  EXPECT_EQ(card("NVIDIA GeForce RTX 5090"), "rtx_5090");
  EXPECT_EQ(card("NVIDIA A100"), "");
}
} // namespace
