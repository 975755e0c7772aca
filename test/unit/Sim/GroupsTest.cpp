// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives that become one rendezvous, and what may not move across them.
#include "SimTest.h"
#include <cmath>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

/// A register tile travels through a loop as a struct; ldmatrix and mma of an
/// iteration are one rendezvous.
TEST(Groups, StructsAndLongRuns) {
  std::string load = "declare {i32, i32, i32, i32} "
                     "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr "
                     "addrspace(3))\n";
  std::string mma = "declare {float, float, float, float} "
                    "@llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, "
                    "i32, i32, float, float, float, float)\n";
  const char *f4 = "{float, float, float, float}";
  const char *tile = "{{float, float, float, float}, {float, float, float, "
                     "float}}";
  std::string body =
      "  %o = mul i32 %lane, 16\n"
      "  %row = getelementptr i8, ptr addrspace(3) @smem, i32 %o\n"
      "  %src = getelementptr i8, ptr addrspace(1) %p0, i32 %o\n"
      "  %fill = load <4 x i32>, ptr addrspace(1) %src\n"
      "  store <4 x i32> %fill, ptr addrspace(3) %row\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
      "  br label %loop\n"
      "loop:\n"
      "  %i = phi i32 [ 0, %entry ], [ %in, %loop ]\n"
      "  %acc = phi " +
      std::string(tile) +
      " [ zeroinitializer, %entry ], [ %acc2, %loop ]\n"
      "  %l = call {i32, i32, i32, i32} "
      "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) "
      "%row)\n";
  for (int r = 0; r < 4; ++r)
    body += "  %a" + std::to_string(r) +
            " = extractvalue {i32, i32, i32, i32} %l, " + std::to_string(r) +
            "\n";
  std::string accumulate;
  for (int t = 0; t < 2; ++t) {
    std::string id = std::to_string(t);
    std::string args;
    for (int r = 0; r < 4; ++r) {
      std::string reg = std::to_string(r);
      body += "  %c" + id + reg + " = extractvalue " + tile + " %acc, " + id +
              ", " + reg + "\n";
      args += ", float %c" + id + reg;
    }
    body += "  %d" + id + " = call " + f4 +
            " @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, "
            "i32 %a3, i32 %a" +
            id + ", i32 %a" + std::to_string(t + 1) + args + ")\n";
  }
  body += "  %x0 = insertvalue " + std::string(tile) + " poison, " + f4 +
          " %d0, 0\n  %acc2 = insertvalue " + tile + " %x0, " + f4 +
          " %d1, 1\n"
          "  %in = add i32 %i, 1\n"
          "  %more = icmp ult i32 %in, 3\n"
          "  br i1 %more, label %loop, label %end\n"
          "end:\n";
  for (int t = 0; t < 2; ++t)
    for (int r = 0; r < 4; ++r) {
      std::string id = std::to_string(4 * t + r);
      body += "  %e" + id + " = extractvalue " + tile + " %acc2, " +
              std::to_string(t) + ", " + std::to_string(r) + "\n  %i" + id +
              " = add i32 %lane, " + std::to_string(32 * (4 * t + r)) +
              "\n  %g" + id +
              " = getelementptr float, ptr addrspace(1) %p1, i32 %i" + id +
              "\n  store float %e" + id + ", ptr addrspace(1) %g" + id + "\n";
    }
  std::vector<uint16_t> rows(32 * 8);
  Random random(3);
  for (uint16_t &x : rows)
    x = 0x3f00 + random.next() % 256;
  std::vector<float> out(8 * 32);
  Stats stats;
  ASSERT_EQ(run(kernel(body, 2, load + mma), 32, {rows.data(), out.data()}, {},
                {}, &stats),
            "");
  EXPECT_EQ(stats.ldmatrix, 3u);
  EXPECT_EQ(stats.mmaTotal(), 6u);
  EXPECT_EQ(stats.rendezvous, 4u); // one barrier, one group an iteration

  auto bf = [&](int row, int i) {
    return __builtin_bit_cast(float, uint32_t(rows[row * 8 + i]) << 16);
  };
  for (int t = 0; t < 2; ++t)
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) {
        int m = lane / 4 + 8 * (r / 2), n = 2 * (lane % 4) + r % 2;
        float sum = 0;
        for (int round = 0; round < 3; ++round)
          for (int k = 0; k < 16; ++k) {
            float a = bf(8 * (m / 8 + 2 * (k / 8)) + m % 8, k % 8);
            float b = bf(8 * (k < 8 ? t : t + 1) + n, k % 8);
            sum = std::fma(a, b, sum);
          }
        EXPECT_EQ(out[(4 * t + r) * 32 + lane], sum);
      }
}

const char *const kMatrix =
    "declare {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr "
    "addrspace(3))\n"
    "declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
    "addrspace(3))\n"
    "declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
    "addrspace(3), i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
    "declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)\n"
    "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n"
    "declare void @llvm.nvvm.bar.warp.sync(i32)\n";

/// Lane l stores 4 l + 100 as word l of shared memory; %row is lane l's row of
/// an 8 x 16 byte matrix, so ldmatrix.x1 gives lane l its own word back.
const char *const kOwnWord =
    "  %m = shl i32 %lane, 2\n"
    "  %word = getelementptr i8, ptr addrspace(3) @smem, i32 %m\n"
    "  %value = add i32 %m, 100\n"
    "  store i32 %value, ptr addrspace(3) %word\n"
    "  %r0 = and i32 %lane, 7\n"
    "  %r1 = shl i32 %r0, 4\n"
    "  %row = getelementptr i8, ptr addrspace(3) @smem, i32 %r1\n"
    "  %out = getelementptr i32, ptr addrspace(1) %p0, i32 %lane\n";

const char *const kStoreResult = "  store i32 %y, ptr addrspace(1) %out\n";

std::vector<uint32_t> runWords(const std::string &body, Stats *stats = nullptr,
                               uint64_t seed = 0) {
  std::vector<uint32_t> out(32);
  EXPECT_EQ(run(kernel(kOwnWord + body + kStoreResult, 1, kMatrix), 32,
                {out.data()}, {}, {seed}, stats),
            "");
  return out;
}

TEST(Groups, AStoreBehindALoadStaysBehindIt) {
  // The rendezvous must not slip behind the store to shared memory.
  auto out = runWords(
      "  %y = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
      "addrspace(3) %row)\n"
      "  store i32 7, ptr addrspace(3) %word\n");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], 4 * lane + 100);
}

TEST(Groups, ALoadBehindAMatrixStoreSeesIt) {
  auto out = runWords(
      "  %twice = add i32 %value, %value\n"
      "  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
      "addrspace(3) %row, i32 %twice)\n"
      "  %y = load i32, ptr addrspace(3) %word\n");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], 2 * (4 * lane + 100));
}

TEST(Groups, MembersRunInProgramOrder) {
  // Load, store twice that, load again: one rendezvous of four.
  Stats stats;
  auto out = runWords(
      "  %a = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
      "addrspace(3) %row)\n"
      "  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %a, i32 1, "
      "i32 31)\n"
      "  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
      "addrspace(3) %row, i32 %s)\n"
      "  %b = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
      "addrspace(3) %row)\n"
      "  %h = shl i32 %b, 16\n"
      "  %y = or i32 %h, %a\n",
      &stats);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], (4 * (lane ^ 1) + 100) << 16 | (4 * lane + 100));
  EXPECT_EQ(stats.rendezvous, 1u);
}

TEST(Groups, ArithmeticBetweenMembersDoesNotSplitThem) {
  // The shuffles of x and of the independent z meet once; only the one that
  // needs the first's result meets again.
  Stats stats;
  auto out = runWords(
      "  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 "
      "1, i32 31)\n"
      "  %a1 = add i32 %a, 1\n"
      "  store i32 3, ptr addrspace(1) %p0\n"
      "  %z = mul i32 %value, 3\n"
      "  %b = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %z, i32 2, "
      "i32 31)\n"
      "  %c = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %a1, i32 4, "
      "i32 31)\n"
      "  %d = add i32 %b, %c\n"
      "  %y = add i32 %d, %a1\n",
      &stats);
  auto value = [](uint32_t lane) { return 4 * lane + 100; };
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane],
              3 * value(lane ^ 2) + value(lane ^ 5) + 1 + value(lane ^ 1) + 1);
  EXPECT_EQ(stats.rendezvous, 2u);
}

TEST(Groups, ResultsUsedInOtherBlocksAndWhole) {
  // A struct result that is stored whole, one used behind a branch, a phi.
  auto out = runWords(
      "  %place = alloca {i32, i32}\n"
      "  %x = call {i32, i32} @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3("
      "ptr addrspace(3) %row)\n"
      "  store {i32, i32} %x, ptr %place\n"
      "  %odd = and i32 %lane, 1\n"
      "  %isodd = icmp eq i32 %odd, 1\n"
      "  br i1 %isodd, label %a, label %b\n"
      "a:\n"
      "  %first = extractvalue {i32, i32} %x, 0\n"
      "  br label %c\n"
      "b:\n"
      "  %p = load i32, ptr %place\n"
      "  %q = add i32 %p, 1\n"
      "  br label %c\n"
      "c:\n"
      "  %y = phi i32 [ %first, %a ], [ %q, %b ]\n");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], 4 * lane + 100 + (lane + 1) % 2);
}

TEST(Aggregates, EveryWayThroughSsa) {
  // Arrays, nested structs, selects, freezes, phis in a cycle that swap.
  auto out = runWords(
      "  %a0 = insertvalue [2 x {i32, i32}] poison, i32 %value, 0, 0\n"
      "  %a1 = insertvalue [2 x {i32, i32}] %a0, i32 1, 0, 1\n"
      "  %in = insertvalue {i32, i32} zeroinitializer, i32 %lane, 1\n"
      "  %a2 = insertvalue [2 x {i32, i32}] %a1, {i32, i32} %in, 1\n"
      "  %fr = freeze [2 x {i32, i32}] %a2\n"
      "  br label %loop\n"
      "loop:\n"
      "  %i = phi i32 [ 0, %entry ], [ %n, %loop ]\n"
      "  %u = phi [2 x {i32, i32}] [ %fr, %entry ], [ %w, %loop ]\n"
      "  %w = phi [2 x {i32, i32}] [ zeroinitializer, %entry ], [ %s, %loop ]\n"
      "  %half = icmp ult i32 %lane, 16\n"
      "  %s = select i1 %half, [2 x {i32, i32}] %u, [2 x {i32, i32}] %fr\n"
      "  %n = add i32 %i, 1\n"
      "  %more = icmp ult i32 %n, 4\n"
      "  br i1 %more, label %loop, label %end\n"
      "end:\n"
      "  %x = extractvalue [2 x {i32, i32}] %u, 0\n"
      "  %x0 = extractvalue {i32, i32} %x, 0\n"
      "  %y1 = extractvalue [2 x {i32, i32}] %w, 1, 1\n"
      "  %h = shl i32 %y1, 16\n"
      "  %y = or i32 %x0, %h\n");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    // A scalar copy of the same loop.
    uint32_t f[2] = {4 * lane + 100, lane}, u[2] = {f[0], f[1]}, w[2] = {0, 0};
    for (int i = 0; i < 3; ++i) {
      uint32_t s[2] = {lane < 16 ? u[0] : f[0], lane < 16 ? u[1] : f[1]};
      u[0] = w[0], u[1] = w[1], w[0] = s[0], w[1] = s[1];
    }
    EXPECT_EQ(out[lane], u[0] | w[1] << 16);
  }
}

} // namespace
