// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What plans predict with before a kernel exists, against the PTX of the
// kernel.
#include "KernelWork.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Target/Format.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <array>
#include <cctype>

using namespace mlatile;

namespace {

struct Case {
  const char *kernel, *format;
  int heads;
  const char *compute = "bf16";
  const char *roles = ""; ///< with the tile below
  int candidates = 32;
  const char *target = "sm_120a";
};

/// Within so many percent, or as much as does not count.
void expectNear(const char *what, double counted, double estimated,
                double percent = 15, double few = 0) {
  EXPECT_LE(std::abs(counted - estimated),
            std::max(percent / 100 * counted, few))
      << what << ": " << counted << " counted, " << estimated << " estimated";
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = std::string(info.param.format) +
                     std::to_string(info.param.heads) + info.param.compute;
  for (char letter : std::string(info.param.roles))
    name += std::isalnum(letter) ? letter : '_';
  return name;
}

Problem problemOf(const Case &given) {
  Problem problem;
  problem.numTokens = 1;
  problem.numHeads = given.heads;
  problem.width = 512;
  problem.pageSize = 64;
  problem.kvFormat = given.format;
  if (problem.kvFormat == "dsv4_1_fp4") { // never alone
    problem.kvFormat = "dsv4_1";
    problem.extraKvFormat = "dsv4_1_fp4";
    problem.extraWidth = 512;
    problem.extraPageSize = 64;
  }
  problem.kernel = given.kernel;
  problem.compute = given.compute;
  problem.target = given.target;
  problem.numSplits = 1;
  if (*given.roles)
    problem.params = {{"ROLES", given.roles},
                      {"BH", std::to_string(given.heads)},
                      {"BN", std::to_string(given.candidates)}};
  return problem;
}

double sum(const std::map<std::string, uint64_t> &mma) {
  double result = 0;
  for (const auto &[kind, count] : mma)
    result += count;
  return result;
}

/// FLOP by rate, as a report counts them.
std::array<double, kNumMmaRates>
flopsOf(const std::map<std::string, uint64_t> &mma) {
  std::array<double, kNumMmaRates> flops{};
  for (const auto &[name, count] : mma) {
    std::optional<MmaKind> kind = parseMmaKind(name);
    if (kind)
      flops[size_t(kind->rate)] += double(count * kind->flops);
  }
  return flops;
}

/// The counts of equal warps, or of one role. Conversions are little beside all
/// instructions, and 4 KiB of shared memory take 32 clocks.
void expectCounts(const ptx::LoopCounts &counted, const TileCounts &estimated,
                  double percent) {
  EXPECT_EQ(counted.unknownLoops, 0u);
  EXPECT_EQ(sum(counted.mma), estimated.mma);
  EXPECT_EQ(flopsOf(counted.mma), estimated.mmaFlops);
  expectNear("conversions", counted.conversions, estimated.conversions, percent,
             0.05 * counted.instructions);
  expectNear("instructions", counted.instructions, estimated.instructions,
             percent);
  expectNear("shared traffic", counted.sharedBytes, estimated.sharedBytes,
             percent, 4096);
}

// Forms that plans know.
constexpr const char *kConverting32 = "4c:64+4:200+4:216",
                     *kConverting64 = "4c:40+4:152+8:160";

class Estimate : public testing::TestWithParam<Case> {};

TEST_P(Estimate, IsNearTheCounts) {
  Problem problem = problemOf(GetParam());
  std::shared_ptr<const Plan> planned = plan(problem);
  const LaunchStep &step = planned->launches.front();

  KernelRequest request;
  request.kernelFile = step.kernel.file;
  request.kernel = step.kernel.symbol;
  request.params = step.kernel.params;
  request.target = step.kernel.target;
  auto kernel = compile(request);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  ASSERT_TRUE(kernel->counts);
  auto work = estimateWork(step.kernel.symbol, step.kernel.params, problem, 1);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->grid, step.grid);
  ASSERT_EQ(kernel->candidateLoops.size(), work->loops.size());
  std::vector<ptx::LoopCounts> counted; // but not the waits inside
  for (const ptx::LoopCounts &loop : kernel->counts->loops)
    if (loop.copiesOrMultiplies())
      counted.push_back(loop);
  bool roles = *GetParam().roles;
  // No plan takes it unasked.
  double percent = problem.compute == "fp8_fast" ? 20 : 15;
  ASSERT_EQ(counted.size(), work->loops.size() * (roles ? 3 : 1));
  double warps = kernel->threads / 32.0;
  EXPECT_EQ(work->threads, int(kernel->threads));
  for (auto [i, loop] : llvm::enumerate(work->loops)) {
    EXPECT_EQ(std::to_string(kernel->candidateLoops[i].candidates),
              step.kernel.params.at("BN"));
    EXPECT_EQ(kernel->candidateLoops[i].stages, 2);
    if (!roles) {
      expectCounts(counted[i], loop, percent);
      EXPECT_EQ(counted[i].ctaBarriers / warps, loop.barriers);
      continue;
    }
    ASSERT_EQ(loop.roles.size(), 3u);
    // A role has its loops over both lists in a row. The order of the roles in
    // the text is the compiler's: they are who they are most like.
    size_t each = work->loops.size();
    std::array<size_t, 3> order = {0, 1, 2}, nearest = order;
    double least = 1e300;
    do {
      double apart = 0;
      for (size_t part = 0; part < 3; ++part) {
        const ptx::LoopCounts &other = counted[order[part] * each + i];
        const RoleWork &role = loop.roles[part];
        apart += std::abs(double(other.sharedBytes) - role.sharedBytes) +
                 1e6 * std::abs(sum(other.mma) - role.mma);
      }
      if (apart < least) {
        least = apart;
        nearest = order;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<ptx::LoopCounts> parts;
    for (size_t part : nearest)
      parts.push_back(counted[part * each + i]);
    for (const ptx::LoopCounts &part : parts)
      EXPECT_EQ(part.ctaBarriers, 0u);
    for (size_t part = 0; part < 3; ++part) {
      SCOPED_TRACE(part == 0 ? "gather" : part == 1 ? "scores" : "values");
      EXPECT_EQ(parts[part].warps, loop.roles[part].warps);
      expectCounts(parts[part], loop.roles[part], percent);
    }
  }
  expectNear("instructions of the PTX", kernel->counts->instructions,
             work->instructions);
  expectNear("shared memory", kernel->sharedBytes, work->sharedBytes);
}

/// With roles shared memory decides which tiles are offered.
TEST(EstimatedMemory, OfferedRolesFitAndOthersDoNot) {
  int fit = 0, tooLarge = 0;
  for (const char *target : {"sm_120a", "sm_90a"})
    for (const CacheFormat &main : cacheFormats())
      for (const CacheFormat *extra = nullptr;;) {
        Problem problem = problemOf({"auto", main.name.data(), 128});
        problem.kvFormat = main.name;
        problem.target = target;
        if (extra) {
          problem.extraKvFormat = extra->name;
          problem.extraWidth = problem.extraPageSize = 64;
        }
        for (const char *kernel : {"decode", "prefill"}) {
          problem.kernel = kernel;
          if (!supported(problem).ok)
            continue;
          struct Row {
            const char *heads, *candidates, *roles;
          };
          for (const Row &row :
               {Row{"32", "32", "4+4+4"}, Row{"32", "32", kConverting32},
                Row{"64", "32", kConverting64}}) {
            if (main.dimQK() > 576)
              continue; // another row of the table
            Problem bound = problem;
            bound.kernel = kernel;
            bound.params = {{"BH", row.heads},
                            {"BN", row.candidates},
                            {"ROLES", row.roles}};
            KernelRequest request;
            const KernelSpec spec = plan(bound)->launches[0].kernel;
            request.kernelFile = spec.file;
            request.kernel = spec.symbol;
            request.params = spec.params;
            request.target = target;
            request.stage = Stage::TileGPU;
            auto made = compile(request);
            bool compiles = bool(made);
            if (!made)
              llvm::consumeError(made.takeError());
            problem.kernel = "auto";
            bool offered = false;
            for (const Candidate &c : plan(problem)->candidates)
              offered |= c.kernel == kernel && c.roles == row.roles;
            problem.kernel = kernel;
            EXPECT_EQ(offered, compiles)
                << kernel << " " << row.roles << " " << target << " "
                << main.name << " " << (extra ? extra->name : "alone");
            ++(compiles ? fit : tooLarge);
          }
        }
        extra = extra ? extra + 1 : cacheFormats().data();
        if (extra == cacheFormats().data() + cacheFormats().size())
          break;
      }
  EXPECT_GT(fit, 40);
  EXPECT_GT(tooLarge, 40);
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

const char *const kEightBits[] = {"dsv3_2", "glm53_nope", "dsv4", "dsv4_1",
                                  "dots3_swa"};
std::vector<Case> casesInFP8() {
  std::vector<Case> cases;
  for (const char *compute : {"fp8", "fp8_fast"})
    for (const char *format : kEightBits) {
      cases.push_back({"decode", format, 16, compute});
      cases.push_back({"prefill", format, 64, compute});
      cases.push_back({"swapab", format, 8, compute});
      cases.push_back({"swapab", format, 32, compute});
    }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(FP8, Estimate, testing::ValuesIn(casesInFP8()),
                         [](const auto &info) {
                           return std::string(info.param.kernel) + nameOf(info);
                         });

std::vector<Case> casesWithRoles() {
  std::vector<Case> cases;
  for (const char *format :
       {"dsv3_2", "glm", "glm53_nope", "dsv4", "dsv4_1", "dsv4_nvfp4"}) {
    cases.push_back({"decode", format, 32, "bf16", "4+4+4"});
    cases.push_back(
        {"decode", format, 32, "bf16", kConverting32, 32, "sm_90a"});
    cases.push_back(
        {"prefill", format, 64, "bf16", kConverting64, 32, "sm_90a"});
  }
  for (const char *compute : {"fp8", "fp8_fast"})
    for (const char *format : {"dsv3_2", "glm53_nope", "dsv4", "dsv4_1"})
      cases.push_back({"prefill", format, 32, compute, "4+4+4"});
  for (const char *compute : {"bf16", "fp8", "fp8_fast"})
    cases.push_back({"decode", "dots3_swa", 16, compute, "4+4+4", 16});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Roles, Estimate, testing::ValuesIn(casesWithRoles()),
                         nameOf);

} // namespace
