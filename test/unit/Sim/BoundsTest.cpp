// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode: what is never written, bounds, alignment, counts that do not
// add up, run-ahead.
#include "CheckedTest.h"

using namespace mlatile::sim;
using namespace mlatile::sim::test;
using Lines = std::vector<std::string>;

namespace {

TEST(Checked, SharedMemoryNobodyHasWritten) {
  expectFound({load("x", "mine")},
              {"load at k.mlir:1:1 by warp",
               "reads shared memory that nobody has written, offset"});
  // One byte of four.
  expectFound({"store i8 1, ptr addrspace(3) %mine", load("x", "mine")},
              {"load at k.mlir:2:1", "nobody has written, offset"});
  expectClean({kStoreMine, load("x", "mine")});
}

TEST(Checked, SharedBounds) {
  auto at = [](const std::string &offset) {
    return "%p = getelementptr i8, ptr addrspace(3) @smem, i32 " + offset;
  };
  expectFound({at("4096"), "%x = load i32, ptr addrspace(3) %p"},
              {"load of 4 bytes at shared offset 4096 is outside the 4096 "
               "bytes of shared memory",
               "at load at k.mlir:2:1"});
  expectFound({at("-4"), "store i32 1, ptr addrspace(3) %p"},
              {"store of 4 bytes at shared offset -4 is outside"});
  expectFound({at("4088"), "%x = load <4 x i32>, ptr addrspace(3) %p, align 8"},
              {"load of 16 bytes at shared offset 4088 is outside"});
}

TEST(Checked, Alignment) {
  expectFound({"%p = getelementptr i8, ptr addrspace(3) @smem, i32 8",
               "%x = load <4 x i32>, ptr addrspace(3) %p, align 16"},
              {"misaligned load of 16 bytes: shared offset 8 is not a multiple "
               "of 16",
               "k.mlir:2:1"});
  expectFound({"%p = getelementptr i8, ptr addrspace(1) %p1, i32 2",
               "store i32 1, ptr addrspace(1) %p"},
              {"misaligned store of 4 bytes: address", "k.mlir:2:1"});
}

TEST(Checked, GlobalBounds) {
  auto at = [](const std::string &pointer, const std::string &offset) {
    return "%p = getelementptr i8, ptr addrspace(1) %" + pointer + ", i32 " +
           offset;
  };
  expectFound({at("p0", "1024"), "%x = load i32, ptr addrspace(1) %p"},
              {"load of 4 bytes outside every buffer: at byte 1024 of 'in', "
               "which has 1024",
               "k.mlir:2:1"});
  expectFound({at("p1", "-16"), "store <4 x i32> zeroinitializer, ptr "
                                "addrspace(1) %p"},
              {"store of 16 bytes outside every buffer: at byte -16 of 'out'"});
  expectFound(
      {"store i32 %tid, ptr addrspace(1) %in"},
      {"store of 4 bytes into the read-only buffer 'in'", "k.mlir:1:1"});
  expectClean({"%x = load <4 x i32>, ptr addrspace(1) %in",
               "store <4 x i32> %x, ptr addrspace(1) %out"});
}

TEST(Checked, SourcesOfCopies) {
  std::string far = "%p = getelementptr i8, ptr addrspace(1) %p0, i32 4096";
  auto copy = [](const std::string &bytes) {
    return "call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr "
           "addrspace(3) %rows, ptr addrspace(1) %p, i32 " +
           bytes + ")";
  };
  expectFound({far, copy("16")},
              {"cp.async of 16 bytes outside every buffer: at byte 4096 of "
               "'in'",
               "k.mlir:2:1"});
  expectClean({far, copy("0")}); // reads nothing
}

TEST(Checked, NoRegionsNoBounds) {
  static uint32_t memory[256];
  Options options;
  options.checked = true;
  EXPECT_EQ(run(linesKernel({"store i32 %tid, ptr addrspace(1) %in"}), 64,
                {memory, memory}, {}, options),
            "");
}

TEST(Checked, ArrivalsThatDoNotAddUp) {
  std::string end = "br label %end";
  // 33 arrivals wanted, 32 made; then a second phase of 31 of 32.
  expectFound(initBar("33", {"a:", arrive("t"), end, "b:", end, "end:"}),
              {"the kernel ends within phase 0 of the mbarrier at shared "
               "offset 2048 (mbarrier.init.shared at k.mlir:3:1): 1 of 33 "
               "arrivals pending"});
  expectClean(initBar("32", {"a:", arrive("t"), end, "b:", end, "end:"}));
  // More bytes expected than copied.
  expectFound(
      initBar("32", {"a:",
                     "%t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope."
                     "cta.space.cta(ptr addrspace(3) %bar, i32 16)",
                     end, "b:", end, "end:"}),
      {"the kernel ends within phase 0", "512 bytes of transactions expected"});
  expectFound(
      {"br i1 %first, label %a, label %end", "a:", kArrive1, end, "end:"},
      {"the kernel ends while barrier 1 has 32 of 64 threads, among "
       "them warp 0, barrier.cta.arrive.aligned.count at k.mlir:3:1"});
}

TEST(Checked, NamedBarrierRunAhead) {
  std::string end = "br label %end";
  // The second arrival needs a way back from the consumer.
  Lines lines = {"br i1 %first, label %a, label %b",
                 "a:",
                 kSync1,
                 kSync1,
                 end,
                 "b:",
                 kArrive1,
                 kArrive1,
                 end,
                 "end:"};
  bool byOrder = false;
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(lines, seed);
    bool ordered = contains(error, "warp 1 arrives again, but nothing orders "
                                   "that after the end of the round in which "
                                   "it arrived before, barrier.cta.arrive."
                                   "aligned.count at k.mlir:7:1: more than one "
                                   "phase of run-ahead") &&
                   contains(error, "at k.mlir:8:1");
    byOrder |= ordered;
    EXPECT_TRUE(ordered || contains(error, "arrives a second time before it "
                                           "completes"))
        << error;
  }
  EXPECT_TRUE(byOrder);
  lines.insert(lines.begin() + 7, kSyncCta);
  lines.insert(lines.begin() + 3, kSyncCta);
  expectClean(lines);
}

TEST(Checked, MbarrierRunAhead) {
  // Warp 1 goes round on its own; warp 0 may still wait for phase 0.
  auto kernel = [](bool waysBack) {
    Lines lines = initBar("1", {"a:", wait("v", "0")});
    if (waysBack)
      lines.push_back(kSyncCta);
    Lines rest = {wait("w", "1"), "br label %end",
                  "b:",           "br i1 %leader, label %l, label %m",
                  "l:",           arrive("t"),
                  "br label %m",  "m:",
                  wait("x", "0")};
    if (waysBack)
      rest.push_back(kSyncCta);
    rest.insert(rest.end(), {"br i1 %leader, label %n, label %end",
                             "n:", arrive("u"), "br label %end", "end:"});
    lines.insert(lines.end(), rest.begin(), rest.end());
    return lines;
  };
  expectClean(kernel(true));
  bool found = false;
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(kernel(false), seed);
    bool runAhead = contains(error, "mbarrier at shared offset 2048 "
                                    "(mbarrier.init.shared at k.mlir:3:1)") &&
                    contains(error, "more than one phase of run-ahead");
    found |= runAhead;
    // A thread that comes too late for its first wait just hangs.
    EXPECT_TRUE(runAhead || contains(error, "deadlock")) << error;
  }
  EXPECT_TRUE(found);
}

TEST(Checked, OrderOfSeedsDoesNotChangeResults) {
  static uint32_t in[256], out[256];
  Options options;
  options.checked = true;
  for (uint64_t seed : kSeeds) {
    options.seed = seed;
    std::fill(std::begin(out), std::end(out), 0u);
    ASSERT_EQ(run(linesKernel({kStoreMine, kSyncCta, load("x", "warps"),
                               "store i32 %x, ptr addrspace(1) %out"}),
                  64, {in, out}, {}, options),
              "");
    for (unsigned tid = 0; tid < 64; ++tid)
      EXPECT_EQ(out[4 * tid], tid ^ 32);
  }
}

} // namespace
