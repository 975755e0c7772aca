// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode: order between accesses. Every mistake stands beside a form of
// the same kernel that is right.
#include "CheckedTest.h"

using namespace mlatile::sim::test;
using Lines = std::vector<std::string>;

namespace {

TEST(Race, BetweenWarps) {
  Lines lines = {kStoreMine, kSyncCta, kStoreMine, load("x", "warps")};
  expectFound(lines, {"race on shared memory, 4 bytes at offset",
                      "store at k.mlir:3:1 by warp",
                      "load at k.mlir:4:1 by warp", "nothing orders them"});
  lines.insert(lines.begin() + 3, kSyncCta);
  expectClean(lines);
}

TEST(Race, ReadersMustBeDoneBeforeAWrite) {
  Lines lines = {kStoreMine, kSyncCta, load("x", "warps"), kStoreMine};
  expectFound(lines, {"load at k.mlir:3:1", "store at k.mlir:4:1"});
  lines.insert(lines.begin() + 3, kSyncCta);
  expectClean(lines);
}

TEST(Race, LanesOfAWarpNeedSyncwarp) {
  std::string shuffle = "%s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, "
                        "i32 %tid, i32 1, i32 31)";
  // A shuffle makes lanes meet, but orders no memory.
  Lines lines = {kStoreMine, kSyncWarp, load("x", "lanes"), shuffle,
                 kStoreMine};
  expectFound(lines, {"load at k.mlir:3:1 by warp", "store at k.mlir:5:1",
                      "nothing orders them"});
  lines[3] = kSyncWarp;
  expectClean(lines);
}

TEST(Race, PartialSyncwarpOrdersItsLanesOnly) {
  // Pairs of lanes, by masks of eight.
  Lines lines = {kStoreMine, "%g = and i32 %lane, 24", "%m = shl i32 255, %g",
                 "call void @llvm.nvvm.bar.warp.sync(i32 %m)",
                 load("x", "lanes")};
  expectClean(lines);
  lines.push_back("%o = xor i32 %t4, 64");
  lines.push_back("%far = getelementptr i8, ptr addrspace(3) @smem, i32 %o");
  lines.push_back(kSyncWarp);
  lines.push_back(kStoreMine);
  lines.push_back("call void @llvm.nvvm.bar.warp.sync(i32 %m)");
  lines.push_back(load("y", "far"));
  expectFound(lines, {"store at k.mlir:9:1", "load at k.mlir:11:1"});
}

TEST(Race, TwoWritesOfOneWord) {
  expectFound({"store i32 %lane, ptr addrspace(3) @smem"},
              {"store at k.mlir:1:1 by warp", "and store at k.mlir:1:1"});
  // One value by lanes of one warp is well defined.
  expectClean({"br i1 %first, label %a, label %b", "a:",
               "store i32 7, ptr addrspace(3) @smem", "br label %b", "b:"});
}

TEST(Race, BytesOfAWordAreApart) {
  Lines lines = {"%p = getelementptr i8, ptr addrspace(3) @smem, i32 %tid",
                 "%v = trunc i32 %tid to i8",
                 "store i8 %v, ptr addrspace(3) %p", kSyncCta,
                 "%x = load i32, ptr addrspace(3) %q"};
  lines.insert(lines.begin(), "%q0 = and i32 %tid, 60");
  lines.insert(lines.begin() + 1,
               "%q = getelementptr i8, ptr addrspace(3) @smem, i32 %q0");
  expectClean(lines);
  lines.erase(lines.begin() + 5);
  for (uint64_t seed : kSeeds) // nobody has written yet, or no order
    EXPECT_NE(runLines(lines, seed), "");
}

TEST(Race, NamedBarriers) {
  auto kernel = [](const std::string &writer, const std::string &reader) {
    return Lines{"br i1 %first, label %a, label %b",
                 "a:",
                 kStoreMine,
                 writer,
                 "br label %end",
                 "b:",
                 reader,
                 load("x", "warps"),
                 "br label %end",
                 "end:"};
  };
  expectClean(kernel(kArrive1, kSync1));
  expectClean(kernel(kSync1, kSync1));
  // The wrong way round: the reader does not wait.
  for (uint64_t seed : kSeeds)
    EXPECT_NE(runLines(kernel(kSync1, kArrive1), seed), "");
}

TEST(Race, MbarrierCoversThoseWhoArrive) {
  auto kernel = [](const std::string &between) {
    Lines lines = initBar("1", {"a:", kStoreMine});
    if (!between.empty())
      lines.push_back(between);
    for (const std::string &line :
         {std::string("br i1 %leader, label %l, label %end"), std::string("l:"),
          arrive("t"), std::string("br label %end"), std::string("b:"),
          wait("w", "0"), load("x", "warps"), std::string("br label %end"),
          std::string("end:")})
      lines.push_back(line);
    return lines;
  };
  expectClean(kernel(kSyncWarp));
  // Without it only lane 0's store is released.
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(kernel(""), seed);
    bool race = contains(error, "store at k.mlir:9:1 by warp 0 lane") &&
                contains(error, "load at k.mlir:16:1 by warp 1 lane");
    EXPECT_TRUE(race || contains(error, "nobody has written")) << error;
    EXPECT_FALSE(contains(error, "by warp 0 lane 0 writes")) << error;
  }
}

TEST(Race, WarpThatDidNotWaitItself) {
  // Warp 0 waits for what warp 1 wrote, warp 1's neighbour does not.
  Lines lines = initBar(
      "64", {"a:", kStoreMine, arrive("t"), wait("w", "0"), load("x", "warps"),
             "br label %end", "b:", kStoreMine, arrive("u"), load("y", "warps"),
             wait("v", "0"), "br label %end", "end:"});
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(lines, seed);
    EXPECT_TRUE(contains(error, "k.mlir:17:1")) << error;
  }
  std::swap(lines[16], lines[17]);
  expectClean(lines);
}

TEST(Race, InitIsBeforeUse) {
  Lines lines = initBar("64", {"a:", arrive("t"), "br label %end",
                               "b:", arrive("u"), "br label %end", "end:"});
  expectClean(lines);
  lines[5] = kSyncWarp;
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(lines, seed);
    EXPECT_TRUE(contains(error, "race on the mbarrier at shared offset 2048: "
                                "mbarrier.init.shared at k.mlir:3:1") ||
                contains(error, "used before its init"))
        << error;
  }
}

TEST(Race, MatricesAreReadAndWrittenByLane) {
  std::string zero = "store <4 x i32> zeroinitializer, ptr addrspace(3) %rows";
  std::string read = "%m = call {i32, i32, i32, i32} "
                     "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr "
                     "addrspace(3) %rows)";
  std::string transposed =
      "%m = call {i32, i32, i32, i32} "
      "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr "
      "addrspace(3) %rows)";
  std::string write = "call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16."
                      "p3(ptr addrspace(3) %rows, i32 1, i32 2, i32 3, i32 4)";
  for (const std::string &form : {read, transposed}) {
    expectFound({zero, form},
                {"store at k.mlir:1:1 by warp", "ldmatrix.sync.aligned.m8n8.x4",
                 "at k.mlir:2:1 by warp"});
    expectClean({zero, kSyncWarp, form});
    expectFound({zero, kSyncWarp, form, zero},
                {"at k.mlir:3:1 by warp", "store at k.mlir:4:1 by warp"});
    expectClean({zero, kSyncWarp, form, kSyncWarp, zero});
  }
  expectFound({write, transposed}, {"at k.mlir:1:1", "at k.mlir:2:1"});
  // Not transposed each lane reads back the words it wrote.
  expectClean({write, read});
  expectFound({write, kSyncWarp, load("x", "rows"), write},
              {"load at k.mlir:3:1", "at k.mlir:4:1"});
}

TEST(Race, AtomicsDoNotRaceWithEachOther) {
  Lines add = {"%o = atomicrmw add ptr addrspace(3) @smem, i32 1 syncscope("
               "\"block\") acq_rel"};
  Lines lines = {"br i1 %thread0, label %init, label %ready",
                 "init:",
                 "store i32 0, ptr addrspace(3) @smem",
                 "br label %ready",
                 "ready:",
                 kSyncCta,
                 add[0]};
  expectClean(lines);
  lines.push_back("%x = load i32, ptr addrspace(3) @smem");
  expectFound(lines, {"atomic access at k.mlir:7:1", "load at k.mlir:8:1"});
}

TEST(CopyRace, IssuerWaits) {
  std::string own = "%x = load i32, ptr addrspace(3) %rows";
  expectFound({kCopy, own},
              {"cp.async.cg.shared.global.16 at k.mlir:1:1 issued by warp",
               "load at k.mlir:2:1 by warp",
               "neither waited for the copy nor synchronised"});
  expectClean({kCopy, kWaitCopies, own});
}

TEST(CopyRace, OthersSynchroniseWithTheIssuer) {
  Lines lines = {kCopy, kWaitCopies, kSyncCta, load("x", "warps")};
  expectClean(lines);
  std::swap(lines[1], lines[2]); // the wait comes after the barrier
  expectFound(lines, {"at k.mlir:1:1 issued by warp", "load at k.mlir:4:1",
                      "neither waited for the copy nor synchronised"});
}

TEST(CopyRace, OverwritesWhatIsStillRead) {
  Lines lines = {kStoreMine, kSyncCta, load("x", "warps"), kSyncCta, kCopy};
  expectClean(lines);
  lines.erase(lines.begin() + 3);
  expectFound(lines, {"load at k.mlir:3:1 by warp",
                      "cp.async.cg.shared.global.16 at k.mlir:4:1"});
}

TEST(CopyRace, ArrivalOnAnMbarrier) {
  auto kernel = [](bool waits) {
    std::string arriveCopies =
        "call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr "
        "addrspace(3) %bar)";
    Lines lines = initBar("32", {"a:", kCopy, arriveCopies, wait("v", "0"),
                                 load("z", "rows"), "br label %end", "b:"});
    if (waits)
      lines.push_back(wait("w", "0"));
    for (const std::string &line :
         {load("x", "warps"), std::string("br label %end"),
          std::string("end:")})
      lines.push_back(line);
    return lines;
  };
  expectClean(kernel(true));
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(kernel(false), seed);
    EXPECT_TRUE(contains(error, "nobody has written") ||
                (contains(error, "at k.mlir:9:1") &&
                 contains(error, "load at k.mlir:15:1")))
        << error;
  }
}

TEST(CopyRace, BulkCopyNeedsOnesOwnWait) {
  auto kernel = [](const Lines &reader) {
    Lines lines = initBar(
        "1",
        {"a:", "br i1 %leader, label %l, label %m", "l:",
         "%t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta."
         "space.cta(ptr addrspace(3) %bar, i32 512)",
         "call void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr "
         "addrspace(3) @smem, ptr addrspace(3) %bar, ptr addrspace(1) %p0, i32 "
         "512, i64 0, i1 false)",
         "br label %m", "m:", wait("w", "0"), kSync1, "br label %end", "b:"});
    lines.insert(lines.end(), reader.begin(), reader.end());
    lines.push_back("br label %end");
    lines.push_back("end:");
    return lines;
  };
  expectClean(kernel({wait("v", "0"), load("x", "mine"), kSync1}));
  expectClean(kernel({kSync1, load("x", "mine")}));
  // Warp 0 has waited, and the value may well be there.
  expectClean(kernel({kSync1}));
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(kernel({load("x", "mine"), kSync1}), seed);
    EXPECT_TRUE(contains(error, "nobody has written") ||
                (contains(error, "at k.mlir:12:1 issued by warp 0 lane 0") &&
                 contains(error, "load at k.mlir:19:1 by warp 1")))
        << error;
  }
}

} // namespace
