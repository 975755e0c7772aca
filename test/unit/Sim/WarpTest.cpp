// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shfl, vote, match, redux, elect, barriers, divergence.
#include "SimTest.h"
#include <bit>
#include <functional>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

/// Loads i32 %x of this thread from %p0, runs `body`, stores i32 %y to %p1.
std::string lanewise(const std::string &body, const std::string &declarations) {
  return kernel("  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
                "  %x = load i32, ptr addrspace(1) %a\n"
                "  %d = getelementptr i32, ptr addrspace(1) %p1, i32 %tid\n" +
                    body + "  store i32 %y, ptr addrspace(1) %d\n",
                2, declarations);
}

std::vector<uint32_t> inputs(unsigned count = 32) {
  Random random(21);
  std::vector<uint32_t> all(count);
  for (uint32_t &value : all)
    value = random.next();
  return all;
}

void check(const std::string &text,
           std::function<uint32_t(const std::vector<uint32_t> &, int)> expected,
           unsigned threads = 32) {
  std::vector<uint32_t> in = inputs(threads), out(threads);
  for (uint64_t seed : {0, 1, 6}) {
    ASSERT_EQ(run(text, threads, {in.data(), out.data()}, {}, {seed}), "");
    for (unsigned lane = 0; lane < threads; ++lane)
      EXPECT_EQ(out[lane], expected(in, lane)) << "thread " << lane;
  }
}

TEST(Shuffle, AllModes) {
  struct Mode {
    const char *name;
    std::function<int(int lane, int b)> source;
    int clamp;
  };
  const Mode modes[] = {{"up", [](int l, int b) { return l - b; }, 0},
                        {"down", [](int l, int b) { return l + b; }, 31},
                        {"bfly", [](int l, int b) { return l ^ b; }, 31},
                        {"idx", [](int l, int b) { return b; }, 31}};
  for (const Mode &mode : modes)
    for (int b : {0, 1, 4, 17, 31})
      for (int width : {32, 8}) {
        int segments = 32 - width;
        int c = segments << 8 | mode.clamp;
        auto valid = [&](int lane) {
          int from = mode.source(lane, b);
          if (std::string(mode.name) == "idx")
            from = (lane & segments) | (b & ~segments & 31);
          bool ok =
              from >= 0 && from < 32 && (from & segments) == (lane & segments);
          // bfly only checks the upper end: lower segments can be read.
          if (std::string(mode.name) == "bfly")
            ok = from <= ((lane & segments) | (31 & ~segments));
          return std::pair(ok ? from : lane, ok);
        };
        std::string name =
            "@llvm.nvvm.shfl.sync." + std::string(mode.name) + ".i32";
        std::string args = "(i32 -1, i32 %x, i32 " + std::to_string(b) +
                           ", i32 " + std::to_string(c) + ")\n";
        check(lanewise("  %y = call i32 " + name + args,
                       "declare i32 " + name + "(i32, i32, i32, i32)"),
              [&](auto &in, int lane) { return in[valid(lane).first]; });
        check(lanewise("  %s = call {i32, i1} " + name + "p" + args +
                           "  %p = extractvalue {i32, i1} %s, 1\n"
                           "  %y = zext i1 %p to i32\n",
                       "declare {i32, i1} " + name + "p(i32, i32, i32, i32)"),
              [&](auto &, int lane) -> uint32_t { return valid(lane).second; });
      }
}

TEST(Shuffle, FloatAndDynamicOperands) {
  check(lanewise("  %f = bitcast i32 %x to float\n"
                 "  %b = xor i32 %lane, 3\n"
                 "  %s = call float @llvm.nvvm.shfl.sync.idx.f32(i32 -1, float "
                 "%f, i32 %b, i32 31)\n"
                 "  %y = bitcast float %s to i32\n",
                 "declare float @llvm.nvvm.shfl.sync.idx.f32(i32, float, i32, "
                 "i32)"),
        [](auto &in, int lane) { return in[lane ^ 3]; });
}

TEST(Shuffle, PartialMasksMeetSeparately) {
  // Even and odd lanes shuffle at two places, then all at a third.
  check(lanewise(
            "  %odd = and i32 %lane, 1\n"
            "  %isodd = icmp ne i32 %odd, 0\n"
            "  br i1 %isodd, label %o, label %e\n"
            "o:\n"
            "  %u = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1431655766, "
            "i32 %x, i32 2, i32 31)\n"
            "  br label %m\n"
            "e:\n"
            "  %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 1431655765, i32 "
            "%x, i32 4, i32 31)\n"
            "  br label %m\n"
            "m:\n"
            "  %w = phi i32 [ %u, %o ], [ %v, %e ]\n"
            "  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %w, i32 "
            "1, i32 31)\n",
            "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)"),
        [](auto &in, int lane) {
          int other = lane ^ 1;
          return in[other ^ (other & 1 ? 2 : 4)];
        });
}

TEST(Vote, AllModes) {
  auto text = [](const std::string &mode, const std::string &predicate) {
    bool ballot = mode == "ballot";
    std::string type = ballot ? "i32" : "i1";
    return lanewise(
        "  %p = " + predicate + "\n  %r = call " + type + " @llvm.nvvm.vote." +
            mode + ".sync(i32 -1, i1 %p)\n  %y = " +
            (ballot ? "add i32 %r, 0\n" : "zext i1 %r to i32\n"),
        "declare " + type + " @llvm.nvvm.vote." + mode + ".sync(i32, i1)");
  };
  const std::string some = "icmp slt i32 %x, 0",
                    every = "icmp ult i32 %lane, 32",
                    none = "icmp ugt i32 %lane, 31";
  check(text("ballot", some), [](auto &in, int) {
    uint32_t bits = 0;
    for (int i = 0; i < 32; ++i)
      bits |= (in[i] >> 31) << i;
    return bits;
  });
  struct Expected {
    const char *mode;
    uint32_t some, every, none;
  };
  for (Expected e : {Expected{"all", 0, 1, 0}, Expected{"any", 1, 1, 0},
                     Expected{"uni", 0, 1, 1}}) {
    check(text(e.mode, some), [&](auto &, int) { return e.some; });
    check(text(e.mode, every), [&](auto &, int) { return e.every; });
    check(text(e.mode, none), [&](auto &, int) { return e.none; });
  }
}

TEST(Redux, AllOperations) {
  struct Operation {
    const char *name;
    std::function<uint32_t(uint32_t, uint32_t)> f;
  };
  auto s = [](uint32_t x) { return static_cast<int32_t>(x); };
  const Operation operations[] = {
      {"add", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min", [&](uint32_t a, uint32_t b) { return s(a) < s(b) ? a : b; }},
      {"max", [&](uint32_t a, uint32_t b) { return s(a) > s(b) ? a : b; }},
      {"umin", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"umax", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"and", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  for (const Operation &operation : operations) {
    std::string name = "@llvm.nvvm.redux.sync." + std::string(operation.name);
    check(lanewise("  %y = call i32 " + name + "(i32 %x, i32 -1)\n",
                   "declare i32 " + name + "(i32, i32)"),
          [&](auto &in, int) {
            uint32_t r = in[0];
            for (int i = 1; i < 32; ++i)
              r = operation.f(r, in[i]);
            return r;
          });
  }
}

TEST(Match, AnyAndAll) {
  check(lanewise("  %k = and i32 %lane, 5\n"
                 "  %y = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 "
                 "%k)\n",
                 "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)"),
        [](auto &, int lane) {
          uint32_t mask = 0;
          for (int i = 0; i < 32; ++i)
            mask |= static_cast<uint32_t>((i & 5) == (lane & 5)) << i;
          return mask;
        });
  // Lanes differ in the upper half only.
  for (int shift : {5, 4}) {
    check(
        lanewise("  %h = lshr i32 %lane, " + std::to_string(shift) +
                     "\n  %w = zext i32 %h to i64\n  %k = shl i64 %w, 40\n"
                     "  %r = call {i32, i1} "
                     "@llvm.nvvm.match.all.sync.i64p(i32 -1, i64 %k)\n"
                     "  %m = extractvalue {i32, i1} %r, 0\n"
                     "  %p = extractvalue {i32, i1} %r, 1\n"
                     "  %z = zext i1 %p to i32\n"
                     "  %y = xor i32 %m, %z\n",
                 "declare {i32, i1} @llvm.nvvm.match.all.sync.i64p(i32, i64)"),
        [&](auto &, int) { return shift == 5 ? 0xfffffffeu : 0u; });
  }
}

TEST(Elect, OneLaneAgreed) {
  std::string text =
      lanewise("  %r = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)\n"
               "  %l = extractvalue {i32, i1} %r, 0\n"
               "  %p = extractvalue {i32, i1} %r, 1\n"
               "  %s = select i1 %p, i32 256, i32 0\n"
               "  %y = or i32 %l, %s\n",
               "declare {i32, i1} @llvm.nvvm.elect.sync(i32)");
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::vector<uint32_t> in = inputs(), out(32);
    ASSERT_EQ(run(text, 32, {in.data(), out.data()}, {}, {seed}), "");
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[lane], (out[0] & 31) | (lane == (out[0] & 31) ? 256 : 0));
  }
}

TEST(Collective, ExitedLanesAreNotWaitedFor) {
  // Lanes 24 to 31 leave; the ballot of the others completes.
  std::vector<uint32_t> out(32, 77);
  std::string body =
      "  %stay = icmp ult i32 %lane, 24\n"
      "  br i1 %stay, label %go, label %end\n"
      "go:\n"
      "  %r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)\n"
      "  %d = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
      "  store i32 %r, ptr addrspace(1) %d\n"
      "  br label %end\n"
      "end:\n";
  for (uint64_t seed : {0, 1}) {
    ASSERT_EQ(
        run(kernel(body, 1, "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)"),
            32, {out.data()}, {}, {seed}),
        "");
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[lane], lane < 24 ? 0xffffffu : 77u);
  }
}

TEST(Collective, DivergenceNamesBothPlaces) {
  std::string body =
      "  %low = icmp ult i32 %lane, 16\n"
      "  br i1 %low, label %a, label %b\n"
      "a:\n"
      "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n"
      "  br label %end\n"
      "b:\n"
      "  %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)\n"
      "  br label %end\n"
      "end:\n";
  std::string error =
      run(kernel(body, 0,
                 "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n"
                 "declare void @llvm.nvvm.bar.warp.sync(i32)"),
          32, {});
  EXPECT_TRUE(contains(error, "diverged collectives")) << error;
  EXPECT_TRUE(contains(error, "bar.warp.sync")) << error;
  EXPECT_TRUE(contains(error, "vote.ballot.sync")) << error;
  EXPECT_TRUE(contains(error, "kernel 'k', CTA (0, 0, 0)")) << error;
}

TEST(Collective, SourceLinesNameThePlace) {
  std::string text =
      kernel("  %low = icmp ult i32 %lane, 16\n"
             "  br i1 %low, label %a, label %b\n"
             "a:\n"
             "  call void @llvm.nvvm.bar.warp.sync(i32 -1), !dbg !10\n"
             "  br label %end\n"
             "b:\n"
             "  call void @llvm.nvvm.bar.warp.sync(i32 -1), !dbg !11\n"
             "  br label %end\n"
             "end:\n",
             0, "declare void @llvm.nvvm.bar.warp.sync(i32)", "!dbg !4");
  text += "!llvm.module.flags = !{!0}\n!llvm.dbg.cu = !{!1}\n"
          "!0 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
          "!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, "
          "emissionKind: LineTablesOnly)\n"
          "!2 = !DIFile(filename: \"decode.mlir\", directory: \"/\")\n"
          "!3 = !DISubroutineType(types: !{})\n"
          "!4 = distinct !DISubprogram(name: \"k\", scope: !2, file: !2, line: "
          "1, type: !3, unit: !1, spFlags: DISPFlagDefinition)\n"
          "!10 = !DILocation(line: 12, column: 5, scope: !4)\n"
          "!11 = !DILocation(line: 14, column: 7, scope: !4)\n";
  std::string error = run(text, 32, {});
  EXPECT_TRUE(contains(error, "decode.mlir:12:5")) << error;
  EXPECT_TRUE(contains(error, "decode.mlir:14:7")) << error;
}

TEST(Collective, CallerMustBeInItsMask) {
  std::string error =
      run(kernel("  call void @llvm.nvvm.bar.warp.sync(i32 15)", 0,
                 "declare void @llvm.nvvm.bar.warp.sync(i32)"),
          32, {});
  EXPECT_TRUE(contains(error, "is not in the member mask 0x0000000f")) << error;
}

const char *const kBarriers =
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)\n"
    "declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)\n"
    "declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)\n"
    "declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32, i1)\n"
    "declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)\n";

/// Each thread stores to shared memory and reads what another warp stored.
std::string exchange(const std::string &barrier) {
  return kernel("  %m = shl i32 %tid, 2\n"
                "  %a = getelementptr i8, ptr addrspace(3) @smem, i32 %m\n"
                "  store i32 %tid, ptr addrspace(3) %a\n" +
                    barrier +
                    "  %n = xor i32 %m, 384\n"
                    "  %b = getelementptr i8, ptr addrspace(3) @smem, i32 %n\n"
                    "  %v = load i32, ptr addrspace(3) %b\n"
                    "  %d = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
                    "  store i32 %v, ptr addrspace(1) %d\n",
                1, kBarriers);
}

TEST(Barrier, MakesStoresVisible) {
  std::vector<uint32_t> out(128);
  Stats stats;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_EQ(run(exchange("  call void "
                           "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"),
                  128, {out.data()}, {}, {seed}, &stats),
              "");
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(out[i], i ^ 96);
  }
  EXPECT_EQ(stats.ctaBarriers, 1u);
}

TEST(Barrier, MissingOneShowsUnderSomeSeed) {
  std::vector<uint32_t> out(128);
  unsigned wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_EQ(run(exchange(""), 128, {out.data()}, {}, {seed}), "");
    for (uint32_t i = 0; i < 128; ++i)
      wrong += out[i] != (i ^ 96);
  }
  EXPECT_GT(wrong, 0u);
}

TEST(Barrier, NamedProducerConsumer) {
  // Warps 0 and 1 arrive, warps 2 and 3 wait for their stores.
  std::string body =
      "  %m = shl i32 %tid, 2\n"
      "  %a = getelementptr i8, ptr addrspace(3) @smem, i32 %m\n"
      "  %producer = icmp ult i32 %tid, 64\n"
      "  br i1 %producer, label %p, label %c\n"
      "p:\n"
      "  store i32 %tid, ptr addrspace(3) %a\n"
      "  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 3, i32 "
      "128)\n"
      "  br label %end\n"
      "c:\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 128)\n"
      "  %n = sub i32 %m, 256\n"
      "  %b = getelementptr i8, ptr addrspace(3) @smem, i32 %n\n"
      "  %v = load i32, ptr addrspace(3) %b\n"
      "  %d = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
      "  store i32 %v, ptr addrspace(1) %d\n"
      "  br label %end\n"
      "end:\n";
  std::vector<uint32_t> out(128);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    ASSERT_EQ(run(kernel(body, 1, kBarriers), 128, {out.data()}, {}, {seed}),
              "");
    for (uint32_t i = 64; i < 128; ++i)
      EXPECT_EQ(out[i], i - 64);
  }
}

TEST(Barrier, Reductions) {
  std::string body =
      "  %p = icmp ult i32 %tid, 40\n"
      "  %n = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 1, i1 "
      "%p)\n"
      "  %a = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32 1, i1 "
      "%p)\n"
      "  %o = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 1, i1 "
      "%p)\n"
      "  %x = select i1 %a, i32 1000, i32 0\n"
      "  %y = select i1 %o, i32 2000, i32 0\n"
      "  %z = add i32 %x, %y\n"
      "  %r = add i32 %z, %n\n"
      "  %d = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
      "  store i32 %r, ptr addrspace(1) %d\n";
  std::vector<uint32_t> out(96);
  ASSERT_EQ(run(kernel(body, 1, kBarriers), 96, {out.data()}, {}, {3}), "");
  EXPECT_EQ(out, std::vector<uint32_t>(96, 2040));
}

TEST(Barrier, MistakesAreErrors) {
  auto attempt = [](const std::string &body, unsigned threads) {
    return run(kernel(body, 0, kBarriers), threads, {});
  };
  EXPECT_TRUE(contains(
      attempt("  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, "
              "i32 48)\n",
              64),
      "multiple of 32 up to 64, got 48"));
  EXPECT_TRUE(contains(
      attempt("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 16)\n",
              32),
      "barrier id from 0 to 15, got 16"));
  std::string error = attempt(
      "  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 "
      "64)\n"
      "  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 "
      "64)\n",
      64);
  EXPECT_TRUE(contains(error, "arrives a second time")) << error;
  // Warp 0 waits for a warp that never comes.
  error = attempt(
      "  %w = icmp eq i32 %warp, 0\n"
      "  br i1 %w, label %a, label %end\n"
      "a:\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64)\n"
      "  br label %end\n"
      "end:\n",
      64);
  EXPECT_TRUE(contains(error, "deadlock")) << error;
  EXPECT_TRUE(contains(error, "warp 0 lanes 0-31: wait at barrier 2 (32 of 64 "
                              "threads arrived)"))
      << error;
}

} // namespace
