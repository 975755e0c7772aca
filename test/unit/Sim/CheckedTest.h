// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose instructions have source lines, run in checked mode.
#ifndef MLATILE_TEST_UNIT_SIM_CHECKEDTEST_H
#define MLATILE_TEST_UNIT_SIM_CHECKEDTEST_H

#include "SimTest.h"

namespace mlatile::sim::test {

/// Line i of `lines` stands at k.mlir:i:1 (from 1). They see what kernel()
/// gives, and %mine, %lanes (the neighbour lane's), %warps (the other warp's)
/// word of shared memory, %in and %out (16 bytes a thread of %p0, %p1), %bar.
inline std::string linesKernel(const std::vector<std::string> &lines) {
  std::string body =
      "  %t4 = mul i32 %tid, 4\n  %t16 = mul i32 %tid, 16\n"
      "  %n4 = xor i32 %t4, 4\n  %w4 = xor i32 %t4, 128\n"
      "  %mine = getelementptr i8, ptr addrspace(3) @smem, i32 %t4\n"
      "  %lanes = getelementptr i8, ptr addrspace(3) @smem, i32 %n4\n"
      "  %warps = getelementptr i8, ptr addrspace(3) @smem, i32 %w4\n"
      "  %rows = getelementptr i8, ptr addrspace(3) @smem, i32 %t16\n"
      "  %in = getelementptr i8, ptr addrspace(1) %p0, i32 %t16\n"
      "  %out = getelementptr i8, ptr addrspace(1) %p1, i32 %t16\n"
      "  %bar = getelementptr i8, ptr addrspace(3) @smem, i32 2048\n"
      "  %first = icmp eq i32 %warp, 0\n"
      "  %leader = icmp eq i32 %lane, 0\n"
      "  %thread0 = icmp eq i32 %tid, 0\n";
  std::string locations;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool label = !lines[i].empty() && lines[i].back() == ':';
    std::string id = std::to_string(100 + i);
    body += label ? lines[i] + "\n" : "  " + lines[i] + ", !dbg !" + id + "\n";
    locations += "!" + id + " = !DILocation(line: " + std::to_string(i + 1) +
                 ", column: 1, scope: !4)\n";
  }
  const char *declarations =
      "declare void @llvm.nvvm.bar.warp.sync(i32)\n"
      "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
      "declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)\n"
      "declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)\n"
      "declare {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4."
      "b16.p3(ptr addrspace(3))\n"
      "declare {i32, i32, i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4."
      "trans.b16.p3(ptr addrspace(3))\n"
      "declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr "
      "addrspace(3), i32, i32, i32, i32)\n"
      "declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), "
      "ptr addrspace(1))\n"
      "declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr "
      "addrspace(3), ptr addrspace(1), i32)\n"
      "declare void @llvm.nvvm.cp.async.wait.all()\n"
      "declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr "
      "addrspace(3))\n"
      "declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr "
      "addrspace(3), ptr addrspace(3), ptr addrspace(1), i32, i64, i1 immarg)\n"
      "declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr "
      "addrspace(1), ptr addrspace(3), i32, i64, i1 immarg)\n"
      "declare void @llvm.nvvm.cp.async.bulk.commit.group()\n"
      "declare void @llvm.nvvm.cp.async.bulk.wait.group(i32 immarg)\n"
      "declare void @llvm.nvvm.fence.proxy.async.shared_cta()\n"
      "declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)\n"
      "declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))\n"
      "declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta("
      "ptr addrspace(3), i32)\n"
      "declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr "
      "addrspace(3), i32)\n";
  std::string text = kernel(body, 2, declarations, "!dbg !4");
  // An unnamed scope for what has no line.
  return text +
         "!llvm.module.flags = !{!0}\n!llvm.dbg.cu = !{!1}\n"
         "!0 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
         "!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, "
         "emissionKind: LineTablesOnly)\n"
         "!2 = !DIFile(filename: \"k.mlir\", directory: \"/\")\n"
         "!3 = !DISubroutineType(types: !{})\n"
         "!4 = distinct !DISubprogram(name: \"k\", scope: !2, file: !2, line: "
         "1, type: !3, unit: !1, spFlags: DISPFlagDefinition)\n" +
         locations;
}

/// What checked mode says with 64 threads; the buffers are bounded.
inline std::string runLines(const std::vector<std::string> &lines,
                            uint64_t seed = 0, unsigned threads = 64) {
  static uint32_t in[4096], out[4096];
  Options options;
  options.seed = seed;
  options.checked = true;
  options.regions = {{in, threads * 16, false, "in"},
                     {out, threads * 16, true, "out"}};
  return run(linesKernel(lines), threads, {in, out}, {}, options);
}

// Lines that many kernels share.
inline const std::string kStoreMine = "store i32 %tid, ptr addrspace(3) %mine";
inline const std::string kSyncCta =
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
inline const std::string kSyncWarp =
    "call void @llvm.nvvm.bar.warp.sync(i32 -1)";
inline const std::string kArrive1 =
    "call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)";
inline const std::string kSync1 =
    "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)";
inline const std::string kCopy =
    "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %rows, "
    "ptr addrspace(1) %in)";
inline const std::string kWaitCopies =
    "call void @llvm.nvvm.cp.async.wait.all()";
inline std::string load(const std::string &name, const std::string &from) {
  return "%" + name + " = load i32, ptr addrspace(3) %" + from;
}
inline std::string arrive(const std::string &name) {
  return "%" + name +
         " = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %bar)";
}
inline std::string wait(const std::string &name, const std::string &parity) {
  return "%" + name +
         " = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta("
         "ptr addrspace(3) %bar, i32 " +
         parity + ")";
}
/// Thread 0 initialises %bar, then the CTA synchronises: 7 lines.
inline std::vector<std::string> initBar(const std::string &count,
                                        std::vector<std::string> lines) {
  std::vector<std::string> all = {
      "br i1 %thread0, label %init, label %ready",
      "init:",
      "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %bar, i32 " +
          count + ")",
      "br label %ready",
      "ready:",
      kSyncCta,
      "br i1 %first, label %a, label %b"};
  all.insert(all.end(), lines.begin(), lines.end());
  return all;
}

inline const uint64_t kSeeds[] = {0, 1, 2, 3, 5, 8};

/// No seed reports anything.
inline void expectClean(const std::vector<std::string> &lines) {
  for (uint64_t seed : kSeeds)
    EXPECT_EQ(runLines(lines, seed), "") << "seed " << seed;
}
/// Every seed reports, with all of `parts`.
inline void expectFound(const std::vector<std::string> &lines,
                        const std::vector<std::string> &parts) {
  for (uint64_t seed : kSeeds) {
    std::string error = runLines(lines, seed);
    for (const std::string &part : parts)
      EXPECT_TRUE(contains(error, part))
          << "seed " << seed << ", expected '" << part << "' in: " << error;
  }
}

} // namespace mlatile::sim::test
#endif
