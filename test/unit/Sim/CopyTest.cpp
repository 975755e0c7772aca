// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async, bulk copies, mbarriers: what is visible when.
#include "SimTest.h"
#include <algorithm>
#include <numeric>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

const char *const kDeclarations =
    "declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), "
    "ptr addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr "
    "addrspace(1))\n"
    "declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), "
    "ptr addrspace(1), i32)\n"
    "declare void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3), "
    "ptr addrspace(1), i32)\n"
    "declare void @llvm.nvvm.cp.async.commit.group()\n"
    "declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)\n"
    "declare void @llvm.nvvm.cp.async.wait.all()\n"
    "declare void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr "
    "addrspace(3))\n"
    "declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr "
    "addrspace(3))\n"
    "declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)\n"
    "declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))\n"
    "declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))\n"
    "declare i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr "
    "addrspace(3), i32)\n"
    "declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr "
    "addrspace(3), i32)\n"
    "declare void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr "
    "addrspace(3), i32)\n"
    "declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr "
    "addrspace(3), i32)\n"
    "declare i1 @llvm.nvvm.mbarrier.try.wait.scope.cta.space.cta(ptr "
    "addrspace(3), i64)\n"
    "declare i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr "
    "addrspace(3), i32)\n"
    "declare i32 @llvm.nvvm.mbarrier.pending.count(i64)\n"
    "declare void @llvm.nvvm.fence.proxy.async.shared_cta()\n"
    "declare void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n"
    "declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr "
    "addrspace(3), ptr addrspace(3), ptr addrspace(1), i32, i64, i1 immarg)\n";

std::string copyKernel(const std::string &body, unsigned pointers) {
  return kernel("  %a16 = mul i32 %lane, 16\n"
                "  %src = getelementptr i8, ptr addrspace(1) %p0, i32 %a16\n"
                "  %dst = getelementptr i8, ptr addrspace(3) @smem, i32 %a16\n"
                "  %out = getelementptr i8, ptr addrspace(1) %p1, i32 %a16\n" +
                    body,
                pointers, kDeclarations);
}

const char *const kIssue =
    "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) "
    "%dst, ptr addrspace(1) %src)\n"
    "  call void @llvm.nvvm.cp.async.commit.group()\n";
const char *const kReadBack = "  %v = load <4 x i32>, ptr addrspace(3) %dst\n"
                              "  store <4 x i32> %v, ptr addrspace(1) %out\n";

std::vector<uint32_t> numbers(unsigned count) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), 1u);
  return all;
}

TEST(CpAsync, VisibleOnlyAfterItsWait) {
  std::vector<uint32_t> in = numbers(128), out(128);
  Stats stats;
  ASSERT_EQ(run(copyKernel(std::string(kIssue) + kReadBack, 2), 32,
                {in.data(), out.data()}, {}, {}, &stats),
            "");
  EXPECT_EQ(out, std::vector<uint32_t>(128, 0xffffffff));
  EXPECT_EQ(stats.asyncCopies, 32u);
  EXPECT_EQ(stats.asyncBytes, 512u);
  EXPECT_EQ(stats.copiesInFlightAtExit, 32u);

  ASSERT_EQ(run(copyKernel(std::string(kIssue) +
                               "  call void @llvm.nvvm.cp.async.wait.group(i32 "
                               "0)\n" +
                               kReadBack,
                           2),
                32, {in.data(), out.data()}, {}, {}, &stats),
            "");
  EXPECT_EQ(out, in);
  EXPECT_EQ(stats.copiesInFlightAtExit, 0u);
}

TEST(CpAsync, WaitGroupLeavesTheNewestGroups) {
  std::vector<uint32_t> in = numbers(256), out(256);
  std::string body =
      std::string(kIssue) +
      "  %src2 = getelementptr i8, ptr addrspace(1) %src, i32 512\n"
      "  %dst2 = getelementptr i8, ptr addrspace(3) %dst, i32 512\n"
      "  %out2 = getelementptr i8, ptr addrspace(1) %out, i32 512\n"
      "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) "
      "%dst2, ptr addrspace(1) %src2)\n"
      "  call void @llvm.nvvm.cp.async.commit.group()\n"
      "  call void @llvm.nvvm.cp.async.wait.group(i32 1)\n" +
      kReadBack +
      "  %v2 = load <4 x i32>, ptr addrspace(3) %dst2\n"
      "  store <4 x i32> %v2, ptr addrspace(1) %out2\n";
  ASSERT_EQ(run(copyKernel(body, 2), 32, {in.data(), out.data()}), "");
  for (unsigned i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], i < 128 ? in[i] : 0xffffffffu);
}

TEST(CpAsync, WaitAllTakesUncommittedCopies) {
  std::vector<uint32_t> in = numbers(128), out(128);
  std::string body =
      "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) "
      "%dst, ptr addrspace(1) %src)\n"
      "  call void @llvm.nvvm.cp.async.wait.all()\n" +
      std::string(kReadBack);
  ASSERT_EQ(run(copyKernel(body, 2), 32, {in.data(), out.data()}), "");
  EXPECT_EQ(out, in);
}

TEST(CpAsync, SourceSizeFillsWithZero) {
  std::vector<uint32_t> in = numbers(128), out(128, 7);
  // Lane l reads min(l, 16) bytes.
  std::string body =
      "  %big = icmp ugt i32 %lane, 16\n"
      "  %n = select i1 %big, i32 16, i32 %lane\n"
      "  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) "
      "%dst, ptr addrspace(1) %src, i32 %n)\n"
      "  call void @llvm.nvvm.cp.async.wait.all()\n" +
      std::string(kReadBack);
  ASSERT_EQ(run(copyKernel(body, 2), 32, {in.data(), out.data()}), "");
  auto *a = reinterpret_cast<uint8_t *>(in.data());
  auto *b = reinterpret_cast<uint8_t *>(out.data());
  for (int i = 0; i < 512; ++i)
    EXPECT_EQ(b[i], i % 16 < std::min(i / 16, 16) ? a[i] : 0);
}

TEST(CpAsync, MistakesAreErrors) {
  std::vector<uint32_t> in = numbers(128), out(128);
  auto attempt = [&](const std::string &body) {
    return run(copyKernel(body, 2), 32, {in.data(), out.data()});
  };
  EXPECT_TRUE(contains(
      attempt("  %odd = getelementptr i8, ptr addrspace(3) %dst, i32 8\n"
              "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr "
              "addrspace(3) %odd, ptr addrspace(1) %src)\n"),
      "not 16-byte aligned"));
  EXPECT_TRUE(contains(
      attempt("  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr "
              "addrspace(3) %dst, ptr addrspace(1) %src, i32 17)\n"),
      "source size of at most 16, got 17"));
  EXPECT_TRUE(contains(
      attempt("  %far = getelementptr i8, ptr addrspace(3) %dst, i32 4096\n"
              "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr "
              "addrspace(3) %far, ptr addrspace(1) %src)\n"),
      "outside the 4096 bytes"));
}

// Two warps: warp 0 initialises and issues, all wait, all read.
const char *const kInit =
    "  %bar = getelementptr i8, ptr addrspace(3) @smem, i32 2048\n"
    "  %first = icmp eq i32 %tid, 0\n"
    "  br i1 %first, label %init, label %ready\n"
    "init:\n"
    "  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %bar, i32 "
    "COUNT)\n"
    "  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()\n"
    "  br label %ready\n"
    "ready:\n"
    "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

std::string initWith(const std::string &count) {
  std::string text = kInit;
  text.replace(text.find("COUNT"), 5, count);
  return text;
}

const char *const kWait0 =
    "  br label %wait\n"
    "wait:\n"
    "  %done = call i1 "
    "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) "
    "%bar, i32 0)\n"
    "  br i1 %done, label %go, label %wait\n"
    "go:\n";

std::string bulkIssue(const std::string &expect, const std::string &bytes) {
  return "  br i1 %first, label %issue, label %issued\n"
         "issue:\n"
         "  %t0 = call i64 "
         "@llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr "
         "addrspace(3) %bar, i32 " +
         expect +
         ")\n"
         "  call void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr "
         "addrspace(3) @smem, ptr addrspace(3) %bar, ptr addrspace(1) %p0, "
         "i32 " +
         bytes +
         ", i64 0, i1 false)\n"
         "  br label %issued\n"
         "issued:\n";
}

TEST(BulkCopy, ArrivesThroughItsMbarrier) {
  std::vector<uint32_t> in = numbers(128), out(128);
  Stats stats;
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::fill(out.begin(), out.end(), 0);
    ASSERT_EQ(run(copyKernel(initWith("1") + bulkIssue("512", "512") + kWait0 +
                                 kReadBack,
                             2),
                  64, {in.data(), out.data()}, {}, {seed}, &stats),
              "");
    EXPECT_EQ(out, in);
  }
  EXPECT_EQ(stats.bulkCopies, 1u);
  EXPECT_EQ(stats.mbarrierPhases, 1u);
}

TEST(BulkCopy, DroppedWaitReadsPoison) {
  std::vector<uint32_t> in = numbers(128), out(128);
  ASSERT_EQ(run(copyKernel(initWith("1") + bulkIssue("512", "512") +
                               "  call void @llvm.nvvm.barrier.cta.sync.aligned"
                               ".all(i32 0)\n" +
                               kReadBack,
                           2),
                64, {in.data(), out.data()}),
            "");
  EXPECT_EQ(out, std::vector<uint32_t>(128, 0xffffffff));
}

TEST(BulkCopy, TooLargeExpectIsADeadlock) {
  std::vector<uint32_t> in = numbers(128), out(128);
  std::string error =
      run(copyKernel(
              initWith("1") + bulkIssue("528", "512") + kWait0 + kReadBack, 2),
          64, {in.data(), out.data()});
  EXPECT_TRUE(contains(error, "deadlock")) << error;
  EXPECT_TRUE(contains(error, "warp 0 lanes 0-31: wait for parity 0 of the "
                              "mbarrier at shared offset 2048 (phase 0 runs, 0 "
                              "of 1 arrivals pending, 16 bytes expected)"))
      << error;
  EXPECT_TRUE(contains(error, "warp 1 lanes 0-31")) << error;
}

TEST(BulkCopy, MistakesAreErrors) {
  std::vector<uint32_t> in = numbers(128), out(128);
  auto attempt = [&](const std::string &text) {
    return run(copyKernel(text, 2), 64, {in.data(), out.data()});
  };
  EXPECT_TRUE(contains(attempt(initWith("1") + bulkIssue("8", "8") + kWait0),
                       "multiple of 16, got 8"));
  EXPECT_TRUE(contains(attempt(initWith("1") + bulkIssue("8192", "8192")),
                       "outside the 4096 bytes"));
  auto moved = [&](const std::string &pointer, const std::string &name) {
    std::string text = initWith("1") + bulkIssue("496", "496") + kWait0;
    text.replace(text.rfind(pointer), pointer.size(), name);
    return attempt(
        "  %to8 = getelementptr i8, ptr addrspace(3) @smem, i32 8\n"
        "  %from8 = getelementptr i8, ptr addrspace(1) %p0, i32 8\n" +
        text);
  };
  EXPECT_TRUE(
      contains(moved("@smem", "%to8"), "bulk copy destination address"));
  EXPECT_TRUE(contains(moved("%p0", "%from8"), "bulk copy source address"));
}

TEST(BulkCopy, TooSmallExpectEndsThePhaseEarly) {
  // Two copies of 256 bytes, one of which is expected.
  std::vector<uint32_t> in = numbers(128), out(128);
  std::string issue = bulkIssue("256", "256");
  std::string copy = issue.substr(issue.find("  call void"));
  copy = copy.substr(0, copy.find("\n") + 1);
  issue.insert(issue.find("  br label %issued"), copy);
  std::string error =
      run(copyKernel(initWith("1") + issue + kWait0 + kReadBack, 2), 64,
          {in.data(), out.data()});
  EXPECT_TRUE(contains(error,
                       "phase 0 completes while 1 bulk copies towards it "
                       "are in flight: expect_tx is too small"))
      << error;
}

TEST(BulkCopy, MayCompleteBeforeItIsExpected) {
  // Thread 0 copies; a lane of the other warp expects and arrives later.
  std::vector<uint32_t> in = numbers(128), out(128);
  std::string issue = bulkIssue("512", "512");
  size_t expect = issue.find("  %t0"), copy = issue.find("  call void");
  std::string arrival = issue.substr(expect, copy - expect);
  issue.erase(expect, copy - expect);
  issue += "  %other = icmp eq i32 %tid, 32\n"
           "  br i1 %other, label %expect, label %expected\n"
           "expect:\n" +
           arrival +
           "  br label %expected\n"
           "expected:\n";
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::fill(out.begin(), out.end(), 0);
    ASSERT_EQ(run(copyKernel(initWith("1") + issue + kWait0 + kReadBack, 2), 64,
                  {in.data(), out.data()}, {}, {seed}),
              "");
    EXPECT_EQ(out, in);
  }
}

TEST(Mbarrier, PhasesAlternate) {
  // 64 threads, three rounds; thread 0 writes the round, all read it.
  std::vector<uint32_t> out(64 * 3);
  std::string body =
      initWith("64") +
      "  br label %loop\n"
      "loop:\n"
      "  %i = phi i32 [ 0, %ready ], [ %n, %go ]\n"
      "  br i1 %first, label %write, label %arrive\n"
      "write:\n"
      "  store i32 %i, ptr addrspace(3) @smem\n"
      "  br label %arrive\n"
      "arrive:\n"
      "  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) "
      "%bar)\n"
      "  %parity = and i32 %i, 1\n"
      "  br label %wait\n"
      "wait:\n"
      "  %done = call i1 "
      "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr "
      "addrspace(3) %bar, i32 %parity)\n"
      "  br i1 %done, label %go, label %wait\n"
      "go:\n"
      "  %v = load i32, ptr addrspace(3) @smem\n"
      "  %at0 = mul i32 %i, 64\n"
      "  %at = add i32 %at0, %tid\n"
      "  %to = getelementptr i32, ptr addrspace(1) %p1, i32 %at\n"
      "  store i32 %v, ptr addrspace(1) %to\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
      "  %n = add i32 %i, 1\n"
      "  %more = icmp ult i32 %n, 3\n"
      "  br i1 %more, label %loop, label %end\n"
      "end:\n";
  for (uint64_t seed : {0, 1, 2, 7}) {
    Stats stats;
    ASSERT_EQ(run(copyKernel(body, 2), 64, {out.data(), out.data()}, {}, {seed},
                  &stats),
              "");
    for (unsigned i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], i / 64);
    EXPECT_EQ(stats.mbarrierPhases, 3u);
  }
}

TEST(Mbarrier, TokenWaitAndPendingCount) {
  std::vector<uint32_t> out(64);
  std::string body =
      initWith("64") +
      "  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) "
      "%bar)\n"
      "  %pending = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %t)\n"
      "  br label %wait\n"
      "wait:\n"
      "  %done = call i1 @llvm.nvvm.mbarrier.try.wait.scope.cta.space.cta(ptr "
      "addrspace(3) %bar, i64 %t)\n"
      "  br i1 %done, label %go, label %wait\n"
      "go:\n"
      "  %to = getelementptr i32, ptr addrspace(1) %p1, i32 %tid\n"
      "  store i32 %pending, ptr addrspace(1) %to\n";
  ASSERT_EQ(run(copyKernel(body, 2), 64, {out.data(), out.data()}), "");
  std::sort(out.begin(), out.end());
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i + 1);
}

TEST(Mbarrier, FreshBarrierPassesParityOne) {
  uint32_t out = 0;
  std::string body =
      initWith("1") +
      "  %ok = call i1 "
      "@llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr "
      "addrspace(3) %bar, i32 1)\n"
      "  %no = call i1 "
      "@llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr "
      "addrspace(3) %bar, i32 0)\n"
      "  %a = zext i1 %ok to i32\n"
      "  %b = select i1 %no, i32 2, i32 0\n"
      "  %c = or i32 %a, %b\n"
      "  store i32 %c, ptr addrspace(1) %p1\n";
  ASSERT_EQ(run(copyKernel(body, 2), 32, {&out, &out}), "");
  EXPECT_EQ(out, 1u);
}

TEST(Mbarrier, PollingForeverIsADeadlock) {
  uint32_t out = 0;
  std::string body =
      initWith("2") +
      "  br label %wait\n"
      "wait:\n"
      "  %done = call i1 "
      "@llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr "
      "addrspace(3) %bar, i32 0)\n"
      "  br i1 %done, label %go, label %wait\n"
      "go:\n";
  std::string error = run(copyKernel(body, 2), 32, {&out, &out});
  EXPECT_TRUE(contains(error, "deadlock")) << error;
  EXPECT_TRUE(contains(error, "2 of 2 arrivals pending")) << error;
}

TEST(Mbarrier, CpAsyncArrivals) {
  // Both forms; the wait must cover the copies of all 64 threads.
  for (bool noinc : {false, true}) {
    std::vector<uint32_t> in = numbers(256), out(256);
    std::string body =
        initWith(noinc ? "128" : "64") +
        "  %o = mul i32 %tid, 16\n"
        "  %s = getelementptr i8, ptr addrspace(1) %p0, i32 %o\n"
        "  %d = getelementptr i8, ptr addrspace(3) @smem, i32 %o\n"
        "  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) "
        "%d, ptr addrspace(1) %s)\n"
        "  call void @llvm.nvvm.cp.async.mbarrier.arrive." +
        std::string(noinc ? "noinc." : "") +
        "shared(ptr addrspace(3) %bar)\n"
        "  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) "
        "%bar)\n" +
        kWait0 +
        // Read what the other warp copied.
        "  %x = xor i32 %o, 512\n"
        "  %from = getelementptr i8, ptr addrspace(3) @smem, i32 %x\n"
        "  %v = load <4 x i32>, ptr addrspace(3) %from\n"
        "  %to = getelementptr i8, ptr addrspace(1) %p1, i32 %x\n"
        "  store <4 x i32> %v, ptr addrspace(1) %to\n";
    for (uint64_t seed : {0, 1, 5}) {
      std::fill(out.begin(), out.end(), 0);
      ASSERT_EQ(
          run(copyKernel(body, 2), 64, {in.data(), out.data()}, {}, {seed}),
          "");
      EXPECT_EQ(out, in);
    }
  }
}

TEST(Mbarrier, MistakesAreErrors) {
  uint32_t out[128];
  auto attempt = [&](const std::string &text) {
    return run(copyKernel(text, 2), 32, {out, out});
  };
  std::string arrive = "  %z = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr "
                       "addrspace(3) %bar)\n";
  std::string bar =
      "  %bar = getelementptr i8, ptr addrspace(3) @smem, i32 2048\n";
  EXPECT_TRUE(contains(attempt(bar + arrive), "used before its init"));
  EXPECT_TRUE(contains(attempt(initWith("31") + arrive),
                       "nobody has waited for phase 0"));
  EXPECT_TRUE(
      contains(attempt(initWith("4") +
                       "  %z = call i64 "
                       "@llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr "
                       "addrspace(3) %bar, i32 5)\n"),
               "5 arrivals on a phase that has 4 of 4 pending"));
  EXPECT_TRUE(contains(attempt(initWith("0")), "count from 1"));
  EXPECT_TRUE(
      contains(attempt(initWith("32") +
                       "  store i32 0, ptr addrspace(3) %bar\n" + arrive),
               "were overwritten"));
  EXPECT_TRUE(contains(attempt(initWith("32") +
                               "  call void @llvm.nvvm.mbarrier.inval.shared("
                               "ptr addrspace(3) %bar)\n"),
                       "used before its init"));
}

} // namespace
