// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole programs: what is refused, grids on several host threads, atomics.
#include "SimTest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <thread>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

TEST(Program, RefusesWhatItCannotRun) {
  auto create = [](const std::string &text, const char *name = "k") {
    auto program = Program::createFromIR(text, name);
    return program ? std::string() : llvm::toString(program.takeError());
  };
  EXPECT_TRUE(contains(
      create(kernel("  %f = call float @llvm.nvvm.redux.sync.fmax(float 0.0, "
                    "i32 -1)",
                    0, "declare float @llvm.nvvm.redux.sync.fmax(float, i32)")),
      "does not support 'llvm.nvvm.redux.sync.fmax'"));
  EXPECT_TRUE(contains(create(kernel("  call void asm \"brkpt;\", \"\"()", 0)),
                       "inline assembly 'brkpt;'"));
  EXPECT_TRUE(contains(
      create(kernel("  call void @outside()", 0, "declare void @outside()")),
      "external function 'outside'"));
  EXPECT_TRUE(contains(create(kernel("", 0), "other"), "no kernel 'other'"));
  EXPECT_TRUE(contains(create("target triple = \"x86_64\"\ndefine void @k() { "
                              "ret void }"),
                       "expected a module for nvptx64"));
  EXPECT_TRUE(contains(create("target triple = \"nvptx64-nvidia-cuda\"\n"
                              "define void @k() { ret void }"),
                       "'k' is not a kernel"));
  EXPECT_TRUE(contains(create("not LLVM IR"), "expected top-level entity"));
  EXPECT_TRUE(contains(
      create(kernel("  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32("
                    "i32 25)",
                    0,
                    "declare void "
                    "@llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 immarg)")),
      "must be in multiples of 8"));
  std::string recursive =
      kernel("  call void @f()", 0,
             "define void @f() {\n call void @f()\n ret void\n}");
  EXPECT_TRUE(contains(create(recursive), "recursion"));
}

TEST(Program, ChecksTheLaunch) {
  std::string text = kernel("", 1, "", "\"nvvm.reqntid\"=\"64\"");
  auto program = llvm::cantFail(Program::createFromIR(text, "k"));
  auto launch = [&](LaunchDims dims, unsigned args) {
    void *p = nullptr;
    std::vector<const void *> pointers(args, &p);
    llvm::Error error = program->launch(dims, pointers);
    return error ? llvm::toString(std::move(error)) : std::string();
  };
  LaunchDims good;
  good.blockX = 64;
  EXPECT_EQ(launch(good, 1), "");
  EXPECT_TRUE(contains(launch(good, 2), "expected 1 arguments, got 2"));
  LaunchDims threads = good;
  threads.blockX = 32;
  EXPECT_TRUE(contains(launch(threads, 1), "expected 64 threads a block"));
  LaunchDims empty = good;
  empty.gridY = 0;
  EXPECT_TRUE(contains(launch(empty, 1), "grid is empty"));
}

TEST(Program, SharedStoreOutOfRangeIsAnError) {
  std::string error =
      run(kernel("  %a = getelementptr i8, ptr addrspace(3) @smem, i32 4100\n"
                 "  store i8 1, ptr addrspace(3) %a",
                 0),
          1, {});
  EXPECT_TRUE(contains(error, "past the end of shared memory: byte 4100"))
      << error;
}

TEST(Program, TrapIsAnError) {
  EXPECT_TRUE(contains(
      run(kernel("  call void @llvm.trap()", 0, "declare void @llvm.trap()"), 1,
          {}),
      "trap"));
}

TEST(Program, SharedMemorySurvives32Bits) {
  // Static and dynamic shared memory, addresses through i32.
  std::string body =
      "  %s = ptrtoint ptr addrspace(3) @static to i32\n"
      "  %o = shl i32 %tid, 2\n"
      "  %n = add i32 %s, %o\n"
      "  %p = inttoptr i32 %n to ptr addrspace(3)\n"
      "  store i32 %tid, ptr addrspace(3) %p\n"
      "  %g = getelementptr i32, ptr addrspace(3) @static, i32 %tid\n"
      "  %gen = addrspacecast ptr addrspace(3) %g to ptr\n"
      "  %v = load i32, ptr %gen\n"
      "  %is = call i1 @llvm.nvvm.isspacep.shared(ptr %gen)\n"
      "  %p0g = addrspacecast ptr addrspace(1) %p0 to ptr\n"
      "  %not = call i1 @llvm.nvvm.isspacep.shared(ptr %p0g)\n"
      "  %x = zext i1 %is to i32\n"
      "  %y = zext i1 %not to i32\n"
      "  %w = mul i32 %v, 4\n"
      "  %w1 = add i32 %w, %x\n"
      "  %w2 = shl i32 %y, 1\n"
      "  %w3 = add i32 %w1, %w2\n"
      "  %d = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
      "  store i32 %w3, ptr addrspace(1) %d\n"
      "  store i32 -2, ptr addrspace(3) @smem\n";
  std::vector<uint32_t> out(64);
  ASSERT_EQ(run(kernel(body, 1,
                       "@static = internal addrspace(3) global [64 x i32] "
                       "undef, align 16\n"
                       "declare i1 @llvm.nvvm.isspacep.shared(ptr)"),
                64, {out.data()}),
            "");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 4 * i + 1);
}

/// Partial sums with every CTA adding to a counter; the last one stores it.
const char *const kAtomics =
    "  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "  %a = atomicrmw add ptr addrspace(1) %p0, i32 %c syncscope(\"device\") "
    "acq_rel\n"
    "  %p1f = getelementptr float, ptr addrspace(1) %p1, i32 %tid\n"
    "  %f = atomicrmw fadd ptr addrspace(1) %p1f, float 1.0 "
    "syncscope(\"device\") monotonic\n"
    "  %m = atomicrmw umax ptr addrspace(1) %p2, i32 %c syncscope(\"block\") "
    "monotonic\n"
    "  fence syncscope(\"device\") acq_rel\n";

TEST(Program, AtomicsAcrossHostThreads) {
  uint32_t sum = 0, most = 0;
  std::vector<float> each(32);
  LaunchDims dims;
  dims.gridX = 200;
  Options options;
  options.hostThreads = 4;
  ASSERT_EQ(
      run(kernel(kAtomics, 3), 32, {&sum, each.data(), &most}, dims, options),
      "");
  EXPECT_EQ(sum, 32u * (199 * 200 / 2));
  EXPECT_EQ(most, 199u);
  EXPECT_EQ(each, std::vector<float>(32, 200.0f));
}

TEST(Program, GridsRunAlikeOnAnyHostThreadsAndSeed) {
  std::string text = kernel(
      "  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
      "  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()\n"
      "  %m = shl i32 %tid, 2\n"
      "  %a = getelementptr i8, ptr addrspace(3) @smem, i32 %m\n"
      "  %f0 = sitofp i32 %tid to float\n"
      "  %f1 = sitofp i32 %c to float\n"
      "  %f2 = fmul float %f0, 0x3FB99999A0000000\n"
      "  %f3 = fadd float %f2, %f1\n"
      "  store float %f3, ptr addrspace(3) %a\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
      "  %n = xor i32 %m, 252\n"
      "  %b = getelementptr i8, ptr addrspace(3) @smem, i32 %n\n"
      "  %v = load float, ptr addrspace(3) %b\n"
      "  %e = call float @llvm.exp2.f32(float %v)\n"
      "  %s = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %e, i32 "
      "16, i32 31)\n"
      "  %i0 = mul i32 %y, 16\n"
      "  %i1 = add i32 %i0, %c\n"
      "  %i2 = mul i32 %i1, 64\n"
      "  %i3 = add i32 %i2, %tid\n"
      "  %d = getelementptr float, ptr addrspace(1) %p0, i32 %i3\n"
      "  store float %s, ptr addrspace(1) %d\n",
      1,
      "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()\n"
      "declare float @llvm.exp2.f32(float)\n"
      "declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)");
  LaunchDims dims;
  dims.gridX = 16;
  dims.gridY = 3;
  std::vector<uint32_t> first(16 * 3 * 64), other(first.size());
  Options one;
  one.hostThreads = 1;
  ASSERT_EQ(run(text, 64, {first.data()}, dims, one), "");
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::fill(other.begin(), other.end(), 0);
    Options options;
    options.seed = seed;
    options.hostThreads = 3;
    options.optLevel = seed % 4;
    ASSERT_EQ(run(text, 64, {other.data()}, dims, options), "");
    EXPECT_EQ(first, other);
  }
}

TEST(Program, LaunchesAtTheSameTime) {
  std::string text =
      kernel("  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %tid\n"
             "  %r = call i32 @llvm.nvvm.redux.sync.add(i32 %tid, i32 -1)\n"
             "  store i32 %r, ptr addrspace(1) %a\n",
             1, "declare i32 @llvm.nvvm.redux.sync.add(i32, i32)");
  auto program = llvm::cantFail(Program::createFromIR(text, "k"));
  std::vector<std::thread> threads;
  std::vector<std::vector<uint32_t>> out(4, std::vector<uint32_t>(64));
  for (auto &one : out)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        void *p = one.data();
        const void *args[] = {&p};
        LaunchDims dims;
        dims.blockX = 64;
        llvm::cantFail(program->launch(dims, args));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &one : out)
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(one[i], i < 32 ? 496u : 1520u);
}

TEST(Program, ModuleAndTextGiveTheSame) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::string text = kernel("  store i32 5, ptr addrspace(1) %p0", 1);
  auto buffer = llvm::MemoryBuffer::getMemBuffer(text);
  auto module = llvm::parseIR(*buffer, diagnostic, context);
  ASSERT_TRUE(module);
  auto program = llvm::cantFail(Program::create(*module, "k"));
  uint32_t out = 0;
  void *p = &out;
  const void *args[] = {&p};
  llvm::cantFail(program->launch({}, args));
  EXPECT_EQ(out, 5u);
  EXPECT_EQ(program->kernelName(), "k");
}

TEST(Program, ScalarArgumentsAndDeviceFunctions) {
  std::string text =
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "define internal float @twice(float %x) {\n"
      "  %y = fadd float %x, %x\n  ret float %y\n}\n"
      "define ptx_kernel void @k(i64 %a, float %b, i1 %c, ptr byval({i32, "
      "i32}) %d, ptr %out) {\n"
      "  %q = getelementptr i32, ptr %d, i32 1\n"
      "  %e = load i32, ptr %q\n"
      "  %t = call float @twice(float %b)\n"
      "  %f = fptosi float %t to i64\n"
      "  %g = add i64 %a, %f\n"
      "  %h = zext i32 %e to i64\n"
      "  %i = add i64 %g, %h\n"
      "  %j = select i1 %c, i64 %i, i64 0\n"
      "  store i64 %j, ptr %out\n"
      "  ret void\n}\n";
  auto program = llvm::cantFail(Program::createFromIR(text, "k"));
  int64_t a = 1000, result = 0;
  float b = 21;
  bool c = true;
  int32_t d[2] = {1, 7};
  void *out = &result;
  const void *args[] = {&a, &b, &c, d, &out};
  llvm::cantFail(program->launch({}, args));
  EXPECT_EQ(result, 1049);
}

TEST(Program, LoopsThatPollMemory) {
  // Warp 0 waits for a flag in shared memory that warp 1 sets, then sets the
  // flag that CTA 1 waits for, on another host thread.
  std::string text = kernel(
      "  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
      "  %second = icmp eq i32 %c, 1\n"
      "  br i1 %second, label %other, label %first\n"
      "first:\n"
      "  store i32 0, ptr addrspace(3) @smem\n"
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
      "  %w0 = icmp eq i32 %warp, 0\n"
      "  br i1 %w0, label %spin, label %set\n"
      "set:\n"
      "  store atomic i32 1, ptr addrspace(3) @smem syncscope(\"block\") "
      "release, align 4\n"
      "  br label %end\n"
      "spin:\n"
      "  %v = load atomic i32, ptr addrspace(3) @smem syncscope(\"block\") "
      "acquire, align 4\n"
      "  %go = icmp eq i32 %v, 1\n"
      "  br i1 %go, label %publish, label %spin\n"
      "publish:\n"
      "  store atomic i32 5, ptr addrspace(1) %p0 syncscope(\"device\") "
      "release, align 4\n"
      "  br label %end\n"
      "other:\n"
      "  %u = load atomic i32, ptr addrspace(1) %p0 syncscope(\"device\") "
      "acquire, align 4\n"
      "  %ok = icmp eq i32 %u, 5\n"
      "  br i1 %ok, label %done, label %other\n"
      "done:\n"
      "  store i32 6, ptr addrspace(1) %p1\n"
      "  br label %end\n"
      "end:\n",
      2);
  LaunchDims dims;
  dims.gridX = 2;
  for (uint64_t seed : {0, 1, 2, 3}) {
    uint32_t flag = 0, out = 0;
    Options options;
    options.seed = seed;
    options.hostThreads = 2;
    ASSERT_EQ(run(text, 64, {&flag, &out}, dims, options), "");
    EXPECT_EQ(out, 6u);
  }
}

} // namespace
