// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where kernels come from; the compiler is FakeCompiler.cpp.
#include "mlatile/Runtime/Kernel.h"

#include "Fixtures.h"

#include <atomic>
#include <dlfcn.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

using namespace mlatile;
namespace fs = std::filesystem;

namespace {
int compileCount() {
  void *library = dlopen(std::getenv("MLATILE_COMPILER_LIBRARY"), RTLD_NOW);
  auto *count =
      reinterpret_cast<int (*)()>(dlsym(library, "fake_compile_count"));
  return count();
}

KernelSpec specNumbered(int number) {
  KernelSpec spec = plan(smallProblem())->launches[0].kernel;
  spec.params["WARPS"] = std::to_string(number);
  return spec;
}

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "mlatile-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

TEST(Kernels, CompiledOnceForAllThreads) {
  int before = compileCount();
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Kernel>> kernels(8);
  for (size_t i = 0; i < 8; ++i)
    threads.emplace_back(
        [&, i] { kernels[i] = getKernel(specNumbered(100), Need::Text); });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &kernel : kernels)
    EXPECT_EQ(kernel, kernels[0]);
  EXPECT_EQ(compileCount(), before + 1);
  EXPECT_TRUE(kernels[0]->cubin.empty());
  EXPECT_FALSE(getKernel(specNumbered(100), Need::Cubin)->cubin.empty());
  EXPECT_EQ(compileCount(), before + 2);
  getKernel(specNumbered(100), Need::Executor);
  EXPECT_EQ(compileCount(), before + 2);
}

TEST(Kernels, Report) {
  auto report = nlohmann::json::parse(
      getKernel(specNumbered(101), Need::Cubin)->report());
  EXPECT_EQ(report["registers"], 128);
  EXPECT_EQ(report["spill_bytes"], 0);
  EXPECT_EQ(report["shared_bytes"], 40960);
  EXPECT_EQ(report["threads"], 128);
  EXPECT_TRUE(getKernel(specNumbered(102), Need::Text)
                  ->report()
                  .find("\"registers\":null") != std::string::npos);
}

TEST(Kernels, SourceErrorsCarryTheLog) {
  KernelSpec spec = specNumbered(103);
  spec.source = std::make_shared<KernelSource>(
      KernelSource{"mine.mlir", "syntax error", {}});
  EXPECT_HAS(errorOf<CompileError>([&] { getKernel(spec, Need::Text); }),
             "mine.mlir:3:7: error");
  KernelSpec good = spec;
  good.source =
      std::make_shared<KernelSource>(KernelSource{"mine.mlir", "fine", {}});
  EXPECT_NE(getKernel(good, Need::Text),
            getKernel(specNumbered(103), Need::Text));
}

TEST(Kernels, StepsArePartOfASource) {
  auto withSteps = [](std::map<std::string, std::string> steps) {
    KernelSpec spec = specNumbered(104);
    spec.source = std::make_shared<KernelSource>(
        KernelSource{"mine.mlir", "fine", {}, std::move(steps)});
    return getKernel(spec, Need::Text);
  };
  EXPECT_EQ(withSteps({{"a", "b"}}), withSteps({{"a", "b"}}));
  EXPECT_NE(withSteps({}), withSteps({{"a", "b"}}));
  EXPECT_NE(withSteps({{"a", "b"}}), withSteps({{"a", "c"}}));
  EXPECT_NE(withSteps({{"a", "b"}, {"c", "d"}}), withSteps({{"a", "b"}}));
}

TEST(Kernels, SourcesAreComparedWithACall) {
  auto check = [](const std::string &text,
                  std::map<std::string, std::string> params = {}) {
    return [=] { checkSource({"mine.mlir", text, params}); };
  };
  EXPECT_NO_THROW(check("decode, merge")());
  EXPECT_NO_THROW(check("decode", {{"BN", "16"}})());
  EXPECT_HAS(errorOf<CompileError>(check("merge")),
             "mine.mlir: expected a kernel `decode`, got `merge`");
  EXPECT_HAS(errorOf<CompileError>(check("decode querys")),
             "mine.mlir: kernel `decode`: nothing to pass for `querys`; there "
             "are `counters`, `extra_indices`, ");
  EXPECT_HAS(errorOf<CompileError>(check("decode flat")),
             "mine.mlir: `q`: the kernel expects rank 3 of bf16, got rank 4");
  EXPECT_HAS(errorOf<ArgumentError>(check("decode", {{"NO", "1"}})),
             "argument `params`: expected parameters of kernel `decode` of "
             "mine.mlir, `BN`, got `NO`");
  EXPECT_HAS(errorOf<ArgumentError>(check("decode refuse")),
             "argument `params`: requirement violated");
}

TEST(Kernels, NeedOfMachineCode) {
  setenv("FAKE_NO_PTXAS", "1", 1);
  EXPECT_HAS(
      errorOf<CompileError>([] { getKernel(specNumbered(104), Need::Cubin); }),
      "no ptxas");
  // A driver can take the PTX.
  EXPECT_FALSE(getKernel(specNumbered(104), Need::Device)->ptx.empty());
  unsetenv("FAKE_NO_PTXAS");
}

TEST(KernelFolder, RoundTripAndDamage) {
  Folder folder;
  KernelSpec spec = specNumbered(105);
  EXPECT_EQ(readKernel(folder.path, spec), nullptr);
  writeKernel(folder.path, *getKernel(spec, Need::Cubin));
  std::shared_ptr<const Kernel> back = readKernel(folder.path, spec);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->cubin, getKernel(spec, Need::Cubin)->cubin);
  EXPECT_EQ(back->meta.arguments.size(),
            getKernel(spec, Need::Cubin)->meta.arguments.size());
  EXPECT_EQ(back->origin, folder.path.string());
  EXPECT_EQ(readKernel(folder.path, specNumbered(106)), nullptr);

  // Another kernel's entry under this name.
  fs::path cubin = folder.path / (spec.name() + ".cubin"),
           json = folder.path / (spec.name() + ".json");
  KernelSpec other = specNumbered(106);
  fs::copy(json, folder.path / (other.name() + ".json"));
  EXPECT_HAS(errorOf<Error>([&] { readKernel(folder.path, other); }),
             "expected kernel " + other.name());

  fs::resize_file(cubin, fs::file_size(cubin) - 1);
  EXPECT_HAS(errorOf<Error>([&] { readKernel(folder.path, spec); }),
             cubin.string());
  fs::resize_file(json, 20);
  EXPECT_HAS(errorOf<Error>([&] { readKernel(folder.path, spec); }),
             json.string());
}

TEST(KernelFolder, ServesDevicesBeforeTheCompiler) {
  Folder folder;
  KernelSpec spec = specNumbered(107);
  Kernel kernel = *getKernel(specNumbered(108), Need::Cubin);
  kernel.spec = spec;
  writeKernel(folder.path, kernel);
  addKernelFolder(folder.path);
  int before = compileCount();
  EXPECT_EQ(getKernel(spec, Need::Device)->origin, folder.path.string());
  EXPECT_EQ(compileCount(), before);

  allowCompiling(false);
  std::string text = errorOf<UnsupportedError>(
      [] { getKernel(specNumbered(109), Need::Device); });
  EXPECT_HAS(text, "is not prebuilt and compiling is off; looked in " +
                       folder.path.string());
  allowCompiling(true);
  EXPECT_HAS(errorOf<ArgumentError>([] { addKernelFolder("/nonexistent"); }),
             "/nonexistent");
}

TEST(KernelMeta, MalformedIsAnError) {
  EXPECT_HAS(errorOf<Error>([] { parseMeta("{"); }), "kernel meta");
  EXPECT_HAS(errorOf<Error>([] { parseMeta("{}"); }), "name");
  EXPECT_HAS(
      errorOf<Error>([] {
        parseMeta(
            R"({"name": "k", "threads": 1, "shared_bytes": 0, "args": [{"name": "x", "kind": "tile"}]})");
      }),
      "got 'tile'");
}
} // namespace
