// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports of kernels with a meta written by hand.
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/Problem.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlatile;
using Json = nlohmann::ordered_json;

namespace {

Json loop(int candidates) {
  return {{"candidates", candidates}, {"stages", 2},
          {"formats", {"dsv4"}},      {"mma", {{"m16n8k16.bf16", 100}}},
          {"conversions", 10},        {"ldmatrix", 6},
          {"async_copies", 3},        {"bulk_copies", 0},
          {"cta_barriers", 8},        {"named_barriers", 0},
          {"instructions", 1000},     {"shared_traffic", 1024},
          {"unknown_loops", 0}};
}

Kernel kernel(Json loops, std::map<std::string, std::string> params) {
  Kernel kernel;
  kernel.spec = {"decode", "decode", std::move(params), "sm_120a", nullptr};
  Json meta = {{"name", "decode"},        {"threads", 128},
               {"shared_bytes", 40000},   {"args", Json::array()},
               {"instructions", 2000},    {"loops", std::move(loops)},
               {"params", Json::object()}};
  kernel.meta = parseMeta(meta.dump());
  return kernel;
}

std::map<std::string, std::string> decodeParams() {
  return {{"FMT", "dsv4"}, {"BH", "16"}, {"BN", "32"}, {"WARPS", "4"}};
}

Json reportOf(const Kernel &kernel, const Problem *problem = nullptr) {
  return Json::parse(kernel.report(problem));
}

TEST(Report, CountsOf64Candidates) {
  Json tile =
      reportOf(kernel(Json::array({loop(32)}), decodeParams()))["per_tile"];
  EXPECT_EQ(tile["mma"]["m16n8k16.bf16"], 200);
  EXPECT_EQ(tile["cta_barriers"], 16);
  EXPECT_FALSE(tile.contains("unknown_loops"));
  // Also where 64 is not a multiple.
  tile = reportOf(kernel(Json::array({loop(48)}), decodeParams()))["per_tile"];
  EXPECT_NEAR(tile["mma"]["m16n8k16.bf16"].get<double>(), 133.33, 0.01);
  EXPECT_EQ(tile["ldmatrix"], 8);
}

TEST(Report, InnerLoopsThatWereCountedOnce) {
  Json one = loop(64);
  one["unknown_loops"] = 2;
  EXPECT_EQ(reportOf(kernel(Json::array({one}),
                            decodeParams()))["per_tile"]["unknown_loops"],
            2);
}

/// What the roles of a loop do counts beside their sums: the slowest decides.
TEST(Report, RolesOfALoop) {
  auto role = [](int warps, int instructions, int barriers) {
    Json part = loop(32);
    part["warps"] = warps;
    part["instructions"] = instructions;
    part["named_barriers"] = barriers;
    return part;
  };
  auto params = decodeParams();
  params["BH"] = "32";
  params["ROLES"] = "4+4+4";
  auto us = [&](const Json &roles) {
    Json one = loop(32);
    one["instructions"] = 1000; // so that the SM is not what is busy
    one["roles"] = roles;
    Json report = reportOf(kernel(Json::array({one}), params));
    return report["predicted"]["h200"]["us"].get<double>();
  };
  double even = us({role(4, 6000, 0), role(4, 6000, 0), role(4, 6000, 0)});
  EXPECT_GT(us({role(4, 500, 0), role(4, 15000, 0), role(4, 500, 0)}),
            1.5 * even);
  EXPECT_GT(us({role(4, 6000, 80), role(4, 6000, 0), role(4, 6000, 0)}), even);
  EXPECT_LT(us({role(8, 6000, 0), role(8, 6000, 0), role(8, 6000, 0)}), even);
}

TEST(Report, ASecondLoopStandsBeside) {
  auto params = decodeParams();
  params["HAS_EXTRA"] = "true";
  params["EXTRA"] = "dsv4";
  Json report = reportOf(kernel(Json::array({loop(32), loop(64)}), params));
  ASSERT_EQ(report["per_tile_of_other_loops"].size(), 1u);
  EXPECT_EQ(report["per_tile_of_other_loops"][0]["ldmatrix"], 6);
  EXPECT_EQ(report["predicted_for"]["extra_width"], 2048);
  EXPECT_GT(report["predicted"]["h200"]["us"], 0);
}

TEST(Report, PredictsForTheProblem) {
  Kernel one = kernel(Json::array({loop(32)}), decodeParams());
  Problem problem = reportProblem();
  problem.kvFormat = "dsv4";
  double once = reportOf(one, &problem)["predicted"]["rtx_pro_6000"]["us"];
  problem.width *= 10;
  double more = reportOf(one, &problem)["predicted"]["rtx_pro_6000"]["us"];
  EXPECT_GT(more, 5 * once);
  EXPECT_LT(more, 10 * once);
}

TEST(Report, NoPredictionForAnotherKernel) {
  EXPECT_TRUE(
      reportOf(kernel(Json::array({loop(32)}), {}))["predicted"].is_null());
  EXPECT_TRUE(
      reportOf(kernel(Json::array(), decodeParams()))["predicted"].is_null());
  EXPECT_TRUE(
      reportOf(kernel(Json::array(), decodeParams()))["per_tile"].is_null());
}

TEST(Report, AMetaThatIsNone) {
  for (const Json &loops :
       {Json(5), Json::array({1}), Json::array({Json::object()}),
        Json::array({Json{{"candidates", 32}, {"mma", 7}}})}) {
    Kernel broken = kernel(loops, decodeParams());
    EXPECT_THROW(broken.report(), Error) << loops;
  }
  Json zero = loop(0);
  EXPECT_TRUE(reportOf(kernel(Json::array({zero}), decodeParams()))["per_tile"]
                  .is_null());
}

} // namespace
