// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What plans predict with before a kernel exists, against the PTX of the
// kernel.
#include "KernelWork.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Format.h"

#include "gtest/gtest.h"

using namespace mlatile;

namespace {

struct Case {
  const char *kernel, *format;
  int heads;
};

/// Within 15 percent.
void expectNear(const char *what, double counted, double estimated) {
  EXPECT_LE(std::abs(counted - estimated), 0.15 * counted)
      << what << ": " << counted << " counted, " << estimated << " estimated";
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.format) + std::to_string(info.param.heads);
}

class Estimate : public testing::TestWithParam<Case> {};

TEST_P(Estimate, IsNearTheCounts) {
  Problem problem;
  problem.numTokens = 1;
  problem.numHeads = GetParam().heads;
  problem.width = 512;
  problem.pageSize = 64;
  problem.kvFormat = GetParam().format;
  if (problem.kvFormat == "dsv4_1_fp4") { // never alone
    problem.kvFormat = "dsv4_1";
    problem.extraKvFormat = "dsv4_1_fp4";
    problem.extraWidth = 512;
    problem.extraPageSize = 64;
  }
  problem.kernel = GetParam().kernel;
  problem.numSplits = 1;
  std::shared_ptr<const Plan> planned = plan(problem);
  const LaunchStep &step = planned->launches.front();

  KernelRequest request;
  request.kernelFile = step.kernel.file;
  request.kernel = step.kernel.symbol;
  request.params = step.kernel.params;
  auto kernel = compile(request);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  ASSERT_TRUE(kernel->counts);
  auto work = estimateWork(step.kernel.symbol, step.kernel.params, problem, 1);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->grid, step.grid);
  ASSERT_EQ(kernel->candidateLoops.size(), work->loops.size());
  std::vector<ptx::LoopCounts> counted; // but not the waits inside
  for (const ptx::LoopCounts &loop : kernel->counts->loops)
    if (!loop.mma.empty())
      counted.push_back(loop);
  ASSERT_EQ(counted.size(), work->loops.size());
  double warps = kernel->threads / 32.0;
  for (auto [i, loop] : llvm::enumerate(work->loops)) {
    EXPECT_EQ(std::to_string(kernel->candidateLoops[i].candidates),
              step.kernel.params.at("BN"));
    EXPECT_EQ(kernel->candidateLoops[i].stages, 2);
    const ptx::LoopCounts &counts = counted[i];
    EXPECT_EQ(counts.unknownLoops, 0u);
    double mma = 0;
    for (const auto &[kind, count] : counts.mma)
      mma += count;
    EXPECT_EQ(mma, loop.mma);
    expectNear("conversions", counts.conversions, loop.conversions);
    expectNear("instructions", counts.instructions, loop.instructions);
    expectNear("shared traffic", counts.sharedBytes, loop.sharedBytes);
    EXPECT_EQ(counts.ctaBarriers / warps, loop.barriers);
  }
  expectNear("instructions of the PTX", kernel->counts->instructions,
             work->instructions);
  expectNear("shared memory", kernel->sharedBytes, work->sharedBytes);
}

INSTANTIATE_TEST_SUITE_P(Decode, Estimate,
                         testing::Values(Case{"decode", "dsv3_2", 16},
                                         Case{"decode", "glm", 16},
                                         Case{"decode", "glm53_nope", 16},
                                         Case{"decode", "dsv4", 16},
                                         Case{"decode", "dsv4_1", 16},
                                         Case{"decode", "dots3_swa", 16},
                                         Case{"decode", "dsv4_nvfp4", 16},
                                         Case{"decode", "dsv4_1_fp4", 16}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Prefill, Estimate,
                         testing::Values(Case{"prefill", "glm", 32},
                                         Case{"prefill", "glm53_nope", 64},
                                         Case{"prefill", "dsv4", 32},
                                         Case{"prefill", "dsv4", 64},
                                         Case{"prefill", "dsv4_1", 64},
                                         Case{"prefill", "dots3_swa", 64},
                                         Case{"prefill", "dsv4_nvfp4", 64},
                                         Case{"prefill", "dsv4_1_fp4", 64}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(SwapAB, Estimate,
                         testing::Values(Case{"swapab", "glm", 32},
                                         Case{"swapab", "dsv4", 8},
                                         Case{"swapab", "dsv4_1", 16},
                                         Case{"swapab", "dots3_swa", 16},
                                         Case{"swapab", "dsv4_nvfp4", 32},
                                         Case{"swapab", "dsv4_1_fp4", 32}),
                         nameOf);

} // namespace
