// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs that wait for each other, and launches that wait for the one before.
#include "SimTest.h"

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {
/// Thread 0 of each CTA counts in %p0 and waits until all %n have; then every
/// thread writes the count that it sees to its place of %p1.
std::string meeting(unsigned ctas) {
  std::string n = std::to_string(ctas);
  return kernel("  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
                "  %first = icmp eq i32 %tid, 0\n"
                "  br i1 %first, label %count, label %met\n"
                "count:\n"
                "  fence syncscope(\"device\") acq_rel\n"
                "  atomicrmw uinc_wrap ptr addrspace(1) %p0, i32 1000 "
                "syncscope(\"device\") monotonic\n"
                "  br label %spin\n"
                "spin:\n"
                "  %seen = load atomic i32, ptr addrspace(1) %p0 "
                "syncscope(\"device\") acquire, align 4\n"
                "  %all = icmp uge i32 %seen, " +
                    n +
                    "\n"
                    "  br i1 %all, label %met, label %spin\n"
                    "met:\n"
                    "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 "
                    "0)\n"
                    "  %last = load i32, ptr addrspace(1) %p0\n"
                    "  %base = mul i32 %cta, 64\n"
                    "  %at = add i32 %base, %tid\n"
                    "  %to = getelementptr i32, ptr addrspace(1) %p1, i32 %at\n"
                    "  store i32 %last, ptr addrspace(1) %to\n",
                2);
}

std::string meet(unsigned ctas, Options options, LaunchDims dims = {}) {
  uint32_t count = 0;
  std::vector<uint32_t> seen(ctas * 64, 0);
  dims.gridX = ctas;
  std::string error =
      run(meeting(ctas), 64, {&count, seen.data()}, dims, options);
  if (error.empty())
    for (uint32_t value : seen)
      EXPECT_EQ(value, ctas);
  return error;
}

TEST(Grid, CtasThatWaitMakeWayOnOneHostThread) {
  for (unsigned threads : {1, 2, 5})
    for (uint64_t seed : {0, 1, 2, 7}) {
      Options options;
      options.hostThreads = threads;
      options.seed = seed;
      EXPECT_EQ(meet(150, options), "") << threads << " " << seed;
    }
}

TEST(Grid, ChecksWhileOthersWait) {
  Options options;
  options.checked = true;
  options.hostThreads = 1;
  EXPECT_EQ(meet(9, options), "");
}

TEST(Grid, MoreCtasThanRunAtOnceAreADeadlock) {
  for (unsigned threads : {1, 3}) {
    Options options;
    options.hostThreads = threads;
    options.residentCtas = 6;
    EXPECT_EQ(meet(6, options), "");
    std::string error = meet(8, options);
    EXPECT_TRUE(contains(error, "deadlock: no thread can go on")) << error;
    EXPECT_TRUE(contains(error, "poll memory")) << error;
    EXPECT_TRUE(contains(error, "6 of the grid's 8 CTAs wait, 2 have not "
                                "started: 6 at most run at the same time"))
        << error;
  }
}

TEST(Grid, WhatNobodyWritesIsADeadlock) {
  uint32_t count = 0;
  std::vector<uint32_t> seen(64);
  LaunchDims dims;
  std::string error = run(meeting(2), 64, {&count, seen.data()}, dims);
  EXPECT_TRUE(
      contains(error, "1 of the grid's 1 CTAs wait, 0 have not started"))
      << error;
}

/// A load and a store of %p0, one before and one behind the wait.
std::string dependent(bool loadsFirst) {
  std::string load = "  %v = load i32, ptr addrspace(1) %p0\n",
              store = "  store i32 1, ptr addrspace(1) %p0\n",
              wait = "  call void @llvm.nvvm.griddepcontrol.wait()\n";
  return kernel(loadsFirst ? load + wait + store : wait + load + store, 1,
                "declare void @llvm.nvvm.griddepcontrol.wait()\n");
}

TEST(Grid, PendingMemoryIsTouchedBehindTheWait) {
  uint32_t word = 0;
  Options options;
  options.checked = true;
  options.regions = {{&word, 4, true, "part"}};
  EXPECT_EQ(run(dependent(true), 1, {&word}, {}, options), "");
  options.regions[0].pending = true;
  EXPECT_EQ(run(dependent(false), 1, {&word}, {}, options), "");
  std::string error = run(dependent(true), 1, {&word}, {}, options);
  EXPECT_TRUE(contains(error, "load of 4 bytes of 'part' before "
                              "griddepcontrol.wait: the launch before writes "
                              "it"))
      << error;
}
} // namespace
