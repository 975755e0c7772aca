// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode: stores and bulk copies go by different proxies. Every mistake
// stands beside a form of the same kernel that is right.
#include "CheckedTest.h"

using namespace mlatile::sim::test;
using Lines = std::vector<std::string>;

namespace {

const std::string kFence =
    "call void @llvm.nvvm.fence.proxy.async.shared_cta()";

/// All threads run `before`, which may write shared memory; thread 0 fills its
/// first 256 bytes by a bulk copy, and everybody waits and reads a word.
Lines bulkAfter(const Lines &before) {
  Lines lines = initBar("1", {"b:", "br label %a", "a:"});
  lines.insert(lines.end(), before.begin(), before.end());
  for (const std::string &line :
       {std::string("br i1 %thread0, label %issue, label %issued"),
        std::string("issue:"),
        std::string(
            "%t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta."
            "space.cta(ptr addrspace(3) %bar, i32 256)"),
        std::string("call void @llvm.nvvm.cp.async.bulk.global.to.shared.cta("
                    "ptr addrspace(3) @smem, ptr addrspace(3) %bar, ptr "
                    "addrspace(1) %p0, i32 256, i64 0, i1 false)"),
        std::string("br label %issued"), std::string("issued:"), wait("w", "0"),
        load("x", "warps")})
    lines.push_back(line);
  return lines;
}

TEST(Proxy, BulkCopyOverStoresNeedsAFence) {
  expectFound(bulkAfter({kStoreMine, kSyncCta}),
              {"missing proxy fence, 4 bytes of shared memory at offset 0: "
               "store at k.mlir:11:1 by warp 0 lane 0 writes, and "
               "cp.async.bulk.global.to.shared.cta at k.mlir:16:1 by warp 0 "
               "lane 0 writes by the async proxy",
               "expected a fence.proxy.async"});
  expectClean(bulkAfter({kStoreMine, kFence, kSyncCta}));
}

TEST(Proxy, TheFenceStandsBetweenStoreAndBarrier) {
  expectFound(bulkAfter({kFence, kStoreMine, kSyncCta}),
              {"missing proxy fence", "offset 0"});
  // Too late for the stores of others: they do not come after it.
  expectFound(bulkAfter({kStoreMine, kSyncCta, kFence}),
              {"missing proxy fence, 4 bytes of shared memory at offset 4: "
               "store at k.mlir:11:1 by warp 0 lane 1"});
  // Stores that a later fence covers, behind one that does not.
  expectClean(bulkAfter({kFence, kStoreMine, kFence, kSyncCta}));
}

TEST(Proxy, TheFenceOfOneWarpIsNotThatOfAnother) {
  Lines lines = {"br i1 %first, label %f, label %g",
                 "f:",
                 kFence,
                 "br label %g",
                 "g:",
                 kSyncCta};
  lines.insert(lines.begin(), kStoreMine);
  expectFound(bulkAfter(lines),
              {"missing proxy fence, 4 bytes of shared memory at offset 128: "
               "store at k.mlir:11:1 by warp 1 lane 0"});
}

TEST(Proxy, ReadsNeedNoFence) {
  expectClean(
      bulkAfter({kStoreMine, kFence, kSyncCta, load("r", "warps"), kSyncCta}));
}

TEST(Proxy, StoresOverALandedCopyNeedNoFence) {
  Lines lines = bulkAfter({});
  for (const std::string &line : {kSyncCta, kStoreMine})
    lines.push_back(line);
  expectClean(lines);
}

TEST(Proxy, ARaceIsReportedAsOne) {
  // Thread 0 does not come after the stores of the others.
  expectFound(bulkAfter({kStoreMine, kFence}), {"race on shared memory"});
}

TEST(Proxy, BulkStoreReadsByTheAsyncProxy) {
  auto kernel = [](const std::string &between) {
    Lines lines = {kStoreMine};
    if (!between.empty())
      lines.push_back(between);
    for (const std::string &line :
         {kSyncCta, std::string("br i1 %thread0, label %issue, label %end"),
          std::string("issue:"),
          std::string("call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global("
                      "ptr addrspace(1) %p1, ptr addrspace(3) @smem, i32 256, "
                      "i64 0, i1 false)"),
          std::string("call void @llvm.nvvm.cp.async.bulk.commit.group()"),
          std::string("call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)"),
          std::string("br label %end"), std::string("end:")})
      lines.push_back(line);
    return lines;
  };
  expectClean(kernel(kFence));
  expectFound(kernel(""), {"missing proxy fence", "reads by the async proxy"});
}

} // namespace
