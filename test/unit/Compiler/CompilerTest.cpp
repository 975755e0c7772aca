// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Compiler/KernelFiles.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <thread>

using namespace mlatile;

namespace {

constexpr const char *kKernel = R"mlir(
llvm.func @fill(%p: !llvm.ptr<1>, %v: i32) attributes {
    nvvm.kernel, nvvm.reqntid = array<i32: 64>, tilegpu.shared_bytes = 4096 : i64,
    tilegpu.args = [{name = "out", kind = "view", rank = 1 : i64, element = "i32"},
                    {name = "value", kind = "scalar", element = "i32"}]} {
  %t = nvvm.read.ptx.sreg.tid.x : i32
  %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %a : i32, !llvm.ptr<1>
  llvm.return
}
)mlir";

KernelRequest request(std::string source) {
  KernelRequest request;
  request.source = std::move(source);
  request.sourceName = "test.mlir";
  return request;
}

/// The kind and text of the error that a request must give.
std::pair<CompilerError::Kind, std::string> errorOf(const KernelRequest &r) {
  auto kernel = compile(r);
  if (kernel) {
    ADD_FAILURE() << "compiled";
    return {CompilerError::Kind::Request, ""};
  }
  std::pair<CompilerError::Kind, std::string> result;
  llvm::handleAllErrors(kernel.takeError(), [&](const CompilerError &e) {
    result = {e.getKind(), e.message()};
  });
  return result;
}

TEST(Compile, MetadataOfAKernelWrittenAsLLVM) {
  auto kernel = compile(request(kKernel));
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  EXPECT_EQ(kernel->name, "fill");
  EXPECT_EQ(kernel->threads, 64u);
  EXPECT_EQ(kernel->sharedBytes, 4096u);
  ASSERT_EQ(kernel->args.size(), 2u);
  EXPECT_EQ(kernel->args[0].name, "out");
  EXPECT_EQ(kernel->args[0].kind, "view");
  EXPECT_EQ(kernel->args[0].rank, 1);
  EXPECT_EQ(kernel->args[1].element, "i32");
  EXPECT_NE(kernel->ptx.find(".visible .entry fill("), std::string::npos);
  EXPECT_EQ(kernel->bitcode.substr(0, 2), "BC");
  EXPECT_TRUE(kernel->cubin.empty());
  EXPECT_FALSE(kernel->ptxas);
  llvm::json::Object meta = kernel->meta();
  EXPECT_EQ(meta.getInteger("threads"), 64);
  EXPECT_TRUE(meta.getNull("ptxas"));
}

TEST(Compile, EveryErrorHasItsKind) {
  KernelRequest unknown = request(kKernel);
  unknown.target = "sm_999";
  auto [kind, text] = errorOf(unknown);
  EXPECT_EQ(kind, CompilerError::Kind::Request);
  EXPECT_EQ(text, "unknown target 'sm_999'; expected one of sm_120a, sm_121a, "
                  "sm_90a");

  KernelRequest file;
  file.kernelFile = "none";
  EXPECT_EQ(errorOf(file).first, CompilerError::Kind::Request);

  auto parse = errorOf(request("llvm.func @k() {\n  llvm.mystery\n}"));
  EXPECT_EQ(parse.first, CompilerError::Kind::Compile);
  EXPECT_EQ(parse.second.find("test.mlir:2:3: error: "), 0u) << parse.second;

  KernelRequest assembler = request(kKernel);
  assembler.stage = Stage::Cubin;
  assembler.ptxas = "/no/such/ptxas";
  EXPECT_EQ(errorOf(assembler).first, CompilerError::Kind::Ptxas);
}

TEST(Compile, SurvivesAFatalErrorOfTheBackEnd) {
  // No rule of ours refuses it, and NVPTX ends the process over it.
  const char *bad = R"mlir(
llvm.func @k(%p: !llvm.ptr<1>, %x: f128) attributes {nvvm.kernel} {
  %y = llvm.fmul %x, %x : f128
  llvm.store %y, %p : f128, !llvm.ptr<1>
  llvm.return
})mlir";
  for (int i = 0; i < 3; ++i) {
    auto [kind, text] = errorOf(request(bad));
    EXPECT_EQ(kind, CompilerError::Kind::Compile);
    EXPECT_EQ(text.find("code generation for sm_120a failed: "), 0u) << text;
    auto good = compile(request(kKernel));
    EXPECT_TRUE(bool(good)) << llvm::toString(good.takeError());
  }
}

TEST(Compile, ThreadsGetTheSamePTX) {
  auto first = compile(request(kKernel));
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (std::string &result : results)
    threads.emplace_back([&] {
      auto kernel = compile(request(kKernel));
      if (kernel)
        result = kernel->ptx;
      else
        llvm::consumeError(kernel.takeError());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, first->ptx);
}

TEST(Compile, OwnStepsComeFirst) {
  KernelRequest steps = request(R"mlir(
func.func private @finish() -> index
tile.kernel @k params(N : index = 3) warps(1) (%v: !tile.view<[T], f32>) {
  %n = tile.call @finish() bind(M = N) : () -> index
  %f = arith.constant 7.0 : f32
  tile.store %f, %v[%n] : f32, !tile.view<[T], f32>
  tile.return
})mlir");
  steps.stage = Stage::Tile;
  // The built-in step has another type.
  auto [kind, text] = errorOf(steps);
  EXPECT_EQ(kind, CompilerError::Kind::Compile);
  EXPECT_EQ(text.find("test.mlir:2:1: error: expected step @finish to have the "
                      "same type everywhere"),
            0u)
      << text;
  EXPECT_NE(text.find("kernels/steps/finish.mlir:"), std::string::npos) << text;

  const std::string mine = "func.func private @finish() -> index {\n"
                           "  %m = tile.param M : index\n"
                           "  return %m : index\n}";
  steps.steps = {{"mine/finish.mlir", mine}};
  auto kernel = compile(steps);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  EXPECT_NE(kernel->mlir.find("arith.constant 3 : index"), std::string::npos)
      << kernel->mlir;
  EXPECT_EQ(kernel->mlir.find("func.func"), std::string::npos) << kernel->mlir;

  steps.steps = {{"mine/finish.mlir", mine + " @finish"}};
  EXPECT_EQ(errorOf(steps).second.find("mine/finish.mlir:4:2: error: "), 0u)
      << errorOf(steps).second;
}

TEST(KernelFiles, TheEmbeddedOnesAreThere) {
  auto names = kernelFileNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "decode"), names.end());
  auto file = findKernelFile("decode");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->path, "kernels/decode.mlir");
  EXPECT_NE(file->text.find("tile.kernel @decode"), std::string::npos);
}

TEST(KernelFiles, TheEmbeddedStepsAreThere) {
  auto folders = knownSteps();
  ASSERT_TRUE(bool(folders)) << llvm::toString(folders.takeError());
  ASSERT_FALSE(folders->empty());
  const std::vector<StepFile> &files = folders->back().files;
  auto finish = llvm::find_if(files, [](const StepFile &file) {
    return file.path == "kernels/steps/finish.mlir";
  });
  ASSERT_NE(finish, files.end());
  EXPECT_NE(finish->text.find("@finish("), std::string::npos);
}

} // namespace
