// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/Ptxas.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <optional>

using namespace mlatile;

namespace {

/// Sets an environment variable for one test.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value) : name(name) {
    if (const char *old = getenv(name))
      before = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }

private:
  const char *name;
  std::optional<std::string> before;
};

TEST(PtxasLog, ReadsEveryFieldAndKeepsTheWorstKernel) {
  PtxasReport report = parsePtxasLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_120a'\n"
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 3 barriers, 16 bytes "
      "cumulative "
      "stack size, 73728 bytes smem\n"
      "ptxas info    : Function properties for b\n"
      "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers\n");
  EXPECT_EQ(report.registers, 168u);
  EXPECT_EQ(report.stack, 16u);
  EXPECT_EQ(report.spillStores, 12u);
  EXPECT_EQ(report.spillLoads, 24u);
  EXPECT_EQ(report.barriers, 3u);
  EXPECT_EQ(report.staticShared, 73728u);
}

TEST(PtxasLog, NothingIsZero) {
  PtxasReport report = parsePtxasLog("\nptxas info : registers\n bytes smem");
  EXPECT_EQ(report.registers, 0u);
  EXPECT_EQ(report.staticShared, 0u);
}

TEST(PtxasCandidates, ExplicitAndEnvironmentStandAlone) {
  ScopedVariable forced("MLATILE_PTXAS", "/elsewhere/ptxas");
  auto byEnvironment = ptxasCandidates("");
  ASSERT_EQ(byEnvironment.size(), 1u);
  EXPECT_EQ(byEnvironment[0].first, "/elsewhere/ptxas");
  EXPECT_EQ(byEnvironment[0].second, "$MLATILE_PTXAS");
  auto byOption = ptxasCandidates("/mine/ptxas");
  ASSERT_EQ(byOption.size(), 1u);
  EXPECT_EQ(byOption[0].first, "/mine/ptxas");
}

TEST(PtxasCandidates, PathBeforeToolkitBeforeEnvironmentOfPython) {
  ScopedVariable none("MLATILE_PTXAS", "");
  ScopedVariable path("PATH", "/first:/second");
  ScopedVariable home("CUDA_HOME", "/home-of-cuda");
  ScopedVariable other("CUDA_PATH", "/path-of-cuda");
  ScopedVariable python("VIRTUAL_ENV", "/venv");
  const char *expected[] = {"/first/ptxas",
                            "/second/ptxas",
                            "/home-of-cuda/bin/ptxas",
                            "/path-of-cuda/bin/ptxas",
                            "/usr/local/cuda/bin/ptxas",
                            "/venv/bin/ptxas"};
  auto candidates = ptxasCandidates("");
  ASSERT_GE(candidates.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(candidates[i].first, expected[i]);
}

TEST(FindPtxas, SaysWhereItLookedAndWhatItNeeds) {
  auto tool = findPtxas("/no/such/ptxas", findTarget("sm_121a"));
  ASSERT_FALSE(bool(tool));
  std::string message = llvm::toString(tool.takeError());
  EXPECT_NE(message.find("ptxas 12.9 or later for target sm_121a"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("'/no/such/ptxas'"), std::string::npos) << message;
}

TEST(RunPtxas, RefusesALevelThatIsNone) {
  PtxasTool tool;
  tool.path = "/bin/true";
  auto result = runPtxas(tool, "", *findTarget("sm_120a"), 4);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "expected a ptxas optimisation level of 0 to 3, got 4");
}

TEST(RunPtxas, AnEmptyCubinIsAnError) {
  PtxasTool tool;
  tool.path = "/bin/true";
  tool.version = "1.0";
  auto result = runPtxas(tool, "", *findTarget("sm_120a"));
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError()).find("empty cubin"),
            std::string::npos);
}

} // namespace
