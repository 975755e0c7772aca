// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs that share all rows and head tiles.
#include "Fixtures.h"
#include "KernelParameters.h"

using namespace mlatile;

namespace {
Problem prefillOf(const char *target, int64_t width) {
  Problem p = smallProblem();
  p.numTokens = 2048;
  p.numHeads = 64;
  p.width = width;
  p.target = target;
  return p;
}

TEST(PrefillPlan, PersistentWhereRolesConvert) {
  std::shared_ptr<const Plan> made = plan(prefillOf("sm_90a", 512));
  EXPECT_EQ(made->kernel, "prefill");
  EXPECT_EQ(made->roles, "4c:40+4:152+8:160");
  ASSERT_EQ(made->launches.size(), 1u);
  const LaunchStep &step = made->launches[0];
  EXPECT_EQ(step.kernel.params.at("PERSISTENT"), "true");
  EXPECT_EQ(step.grid, 132u); // one CTA of 512 threads an SM
  EXPECT_HAS(made->explain(),
             "as many as run at once, for 2048 rows x head tiles");

  EXPECT_EQ(
      plan(prefillOf("sm_90a", 64))->launches[0].kernel.params.at("PERSISTENT"),
      "true");

  for (const Problem &p : {prefillOf("sm_90a", 2048), prefillOf("sm_120a", 512),
                           prefillOf("sm_120a", 64)}) {
    std::shared_ptr<const Plan> other = plan(p);
    for (const LaunchStep &launch : other->launches)
      EXPECT_FALSE(launch.kernel.params.count("PERSISTENT")) << p.target;
    EXPECT_EQ(other->launches[0].grid % 2048, 0u);
  }
}

/// Converted rows, four items or more for each SM, at most 32 tiles of 32
/// candidates.
TEST(PrefillPlan, PersistentIf) {
  const Tiles converting = {64, 32, 16, "4c:40+4:152+8:160"},
              roles = {32, 32, 12, "4+4+4"}, equal = {64, 16, 8, ""};
  Problem p = prefillOf("sm_90a", 1024);
  EXPECT_TRUE(isPersistent(p, converting, 132));
  EXPECT_FALSE(isPersistent(p, roles, 132));
  EXPECT_FALSE(isPersistent(p, equal, 132));
  p.width = 1025;
  EXPECT_FALSE(isPersistent(p, converting, 132));
  p.width = 992;
  p.extraWidth = 33; // two tiles of the second list
  EXPECT_FALSE(isPersistent(p, converting, 132));
  p.extraWidth = 32;
  EXPECT_TRUE(isPersistent(p, converting, 132));
  p.numTokens = 4 * 132;
  EXPECT_TRUE(isPersistent(p, converting, 132));
  p.numTokens = 4 * 132 - 1;
  EXPECT_FALSE(isPersistent(p, converting, 132));
  p.numHeads = 65; // two head tiles
  EXPECT_TRUE(isPersistent(p, converting, 132));
}

TEST(PrefillPlan, PersistentAsBound) {
  const Tiles converting = {64, 32, 16, "4c:40+4:152+8:160"},
              equal = {64, 16, 8, ""};
  Problem p = prefillOf("sm_90a", 512);
  p.params = {{"PERSISTENT", "false"}};
  EXPECT_FALSE(isPersistent(p, converting, 132));
  p.params = {{"PERSISTENT", "true"}};
  p.width = 1;
  p.numTokens = 1;
  EXPECT_TRUE(isPersistent(p, equal, 132));
}
} // namespace
