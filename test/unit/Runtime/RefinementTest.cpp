// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured times in a file, by a clock that is none.
#include "Fixtures.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace mlatile;
using Json = nlohmann::json;

namespace {

Problem problem() {
  Problem p = smallProblem();
  p.numTokens = 64;
  p.numHeads = 64;
  p.width = 2048;
  p.target = "sm_90a";
  p.numSMs = 132;
  return p;
}

const MeasuredCard kCard = {"Some Card", "sm_90a", 132};

/// Where roles and splits are slow, whatever is predicted.
double clockOf(const Plan &plan) {
  return 100 + (plan.roles.empty() ? 0 : 50) +
         10 * static_cast<double>(plan.numSplits) +
         (plan.kernel == "prefill" ? 0 : 1);
}

class Refinement : public testing::Test {
protected:
  Refinement() {
    const auto *test = testing::UnitTest::GetInstance()->current_test_info();
    path = testing::TempDir() + "refinement-" + test->name() + ".json";
    std::filesystem::remove(path);
  }
  ~Refinement() override {
    useRefinement("");
    std::filesystem::remove(path);
  }

  std::vector<MeasuredWay> keep(const MeasuredCard &card = kCard) const {
    std::vector<MeasuredWay> ways = measureWays(problem(), {2, 100}, clockOf);
    keepTimes(path, card, problem(), ways);
    return ways;
  }
  Json read() const {
    std::ifstream file(path);
    return Json::parse(file);
  }
  void write(const std::string &text) const { std::ofstream(path) << text; }

  /// The reason that a plan gives, after the file's name.
  std::string reason(const Problem &of = problem()) const {
    useRefinement(path);
    std::string start = "refinement `" + path + "`: ";
    for (const std::string &line : plan(of)->reasons)
      if (line.starts_with(start))
        return line.substr(start.size());
    return "none";
  }

  std::string path;
};

TEST_F(Refinement, WaysNearTheFastest) {
  std::vector<Candidate> near = waysToMeasure(problem(), {1.2, 100});
  ASSERT_GE(near.size(), 3u);
  double last = 0;
  for (const Candidate &way : near) {
    EXPECT_GE(*way.microseconds, last);
    EXPECT_LE(*way.microseconds, 1.2 * *near.front().microseconds);
    last = *way.microseconds;
  }
  EXPECT_EQ(waysToMeasure(problem(), {1.2, 2}).size(), 2u);
  EXPECT_EQ(waysToMeasure(problem(), {1, 100}).front().microseconds,
            near.front().microseconds);
  EXPECT_HAS(errorOf<ArgumentError>([] { waysToMeasure(problem(), {0.9, 1}); }),
             "`within`: expected a factor of at least 1");
  EXPECT_HAS(errorOf<ArgumentError>([] { waysToMeasure(problem(), {2, 0}); }),
             "`most`: expected at least one way, got 0");
}

TEST_F(Refinement, EachWayIsMeasuredAsItIs) {
  std::vector<Candidate> near = waysToMeasure(problem());
  size_t at = 0;
  std::vector<MeasuredWay> ways =
      measureWays(problem(), {}, [&](const Plan &plan) {
        const Candidate &asked = near.at(at++), &got = plan.candidates.front();
        EXPECT_EQ(got.kernel, asked.kernel);
        EXPECT_EQ(got.headTile, asked.headTile);
        EXPECT_EQ(got.candidateTile, asked.candidateTile);
        EXPECT_EQ(got.roles, asked.roles);
        EXPECT_EQ(got.compute, asked.compute);
        EXPECT_EQ(got.numSplits, asked.numSplits);
        EXPECT_EQ(got.merge, asked.merge);
        if (at == 1)
          throw LaunchError("it was lost");
        return at == 2 ? 0.0 : 1000.0 - static_cast<double>(at);
      });
  ASSERT_EQ(at, near.size());
  for (size_t i = 0; i + 2 < ways.size(); ++i) {
    EXPECT_TRUE(ways[i].candidate.measured && ways[i].error.empty());
    if (i)
      EXPECT_GT(*ways[i].candidate.measured, *ways[i - 1].candidate.measured);
  }
  EXPECT_FALSE(ways.back().candidate.measured);
  EXPECT_EQ(ways[ways.size() - 2].error, "it was lost");
  EXPECT_HAS(ways.back().error, "expected microseconds, got 0");
}

TEST_F(Refinement, PlansTakeTheFastest) {
  std::shared_ptr<const Plan> before = plan(problem());
  EXPECT_FALSE(before->roles.empty());
  EXPECT_FALSE(before->measuredMicroseconds);
  std::vector<MeasuredWay> ways = keep();
  useRefinement(path);
  std::shared_ptr<const Plan> after = plan(problem());
  const Candidate &best = ways.front().candidate, &taken = after->candidates[0];
  EXPECT_EQ(after->measuredMicroseconds, best.measured);
  EXPECT_EQ(taken.kernel, best.kernel);
  EXPECT_EQ(taken.numSplits, best.numSplits);
  EXPECT_EQ(taken.roles, best.roles);
  EXPECT_EQ(taken.measured, best.measured);
  EXPECT_NE(taken.roles, before->roles);
  std::string text = after->explain();
  EXPECT_HAS(text, "refinement `" + path +
                       "`: times of `Some Card` (sm_90a, 132 SMs), of " +
                       std::to_string(ways.size()) + " of ");
  EXPECT_HAS(text, ", measured 1");
  EXPECT_HAS(taken.why, "taken, predicted ");
  EXPECT_HAS(taken.why, " us, measured 1");
  useRefinement("");
  EXPECT_EQ(plan(problem())->roles, before->roles);
}

/// No restart is needed, neither of a process nor of a file.
TEST_F(Refinement, LaterTimesTakeThePlaceOfOlderOnes) {
  useRefinement(path);
  EXPECT_EQ(reason(), "ignored, there is no such file");
  keep();
  EXPECT_TRUE(plan(problem())->measuredMicroseconds);
  std::vector<MeasuredWay> again = measureWays(
      problem(), {}, [](const Plan &plan) { return clockOf(plan) / 2; });
  keepTimes(path, kCard, problem(), again);
  EXPECT_EQ(plan(problem())->measuredMicroseconds,
            again.front().candidate.measured);
  EXPECT_EQ(read()["entries"].size(), 1u);
  Problem other = problem();
  other.numTokens = 65;
  keepTimes(path, kCard, other, measureWays(other, {}, clockOf));
  EXPECT_EQ(read()["entries"].size(), 2u);
  EXPECT_TRUE(plan(problem())->measuredMicroseconds);
  EXPECT_TRUE(plan(other)->measuredMicroseconds);
}

TEST_F(Refinement, OtherProblemsAndCards) {
  keep();
  Problem p = problem();
  p.pageStride = 1 << 20; // the choice does not depend on strides
  EXPECT_HAS(reason(p), "times of `Some Card`");
  p.card = "Some Card";
  EXPECT_HAS(reason(p), "times of `Some Card`");
  p.card = "Another Card";
  EXPECT_EQ(reason(p), "ignored for this problem, measured on `Some Card` "
                       "(sm_90a, 132 SMs)");
  p = problem();
  p.numSMs = 114;
  EXPECT_HAS(reason(p), "ignored for this problem, measured on `Some Card`");
  p = problem();
  p.target = "sm_120a";
  EXPECT_HAS(reason(p), "ignored for this problem, measured on `Some Card`");
  p = problem();
  p.kernel = "decode";
  EXPECT_EQ(reason(p), "no times of this problem");
  p = problem();
  p.hasSink = true;
  EXPECT_EQ(reason(p), "no times of this problem");
  p = problem();
  p.width = 2047;
  EXPECT_EQ(reason(p), "no times of this problem");
}

/// A plan is made all the same, and says why.
TEST_F(Refinement, FilesThatCannotBeUsed) {
  std::shared_ptr<const Plan> without = plan(problem());
  for (const char *text :
       {"", "{", "[]", "7", "{\"entries\": []}", "\xff\xfe"}) {
    write(text);
    EXPECT_EQ(reason(), "ignored, it holds no times of mlatile") << text;
    EXPECT_EQ(plan(problem())->candidates.front().why,
              without->candidates.front().why);
    // What is no such file is left alone.
    EXPECT_HAS(errorOf<ArgumentError>([&] { keep(); }),
               "`path`: expected a file of measured times, or none, got '");
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(reason(), "ignored, it holds no times of mlatile");
  std::filesystem::remove(path);

  keep();
  const Json good = read();
  Json json = good;
  json["build"] = "0.0.1 compiler 0123456789abcdef";
  write(json.dump());
  EXPECT_EQ(reason(), "ignored, its times are of another build");
  json = good;
  json["mlatile_refinement"] = 2;
  write(json.dump());
  EXPECT_EQ(reason(), "ignored, its times are of another build");
  for (const char *path : {"/entries", "/entries/0/card", "/entries/0/card/sms",
                           "/entries/0/problem", "/entries/0/ways/0",
                           "/entries/0/ways/0/us", "/entries/0/ways/0/merge"}) {
    for (const Json &value : {Json(-1), Json("x"), Json(nullptr)}) {
      json = good;
      json[Json::json_pointer(path)] = value;
      write(json.dump());
      std::string why = reason();
      // A problem may be any value, which is then another problem's.
      EXPECT_TRUE(why.starts_with("ignored, it is damaged: ") ||
                  why == "no times of this problem" ||
                  why.starts_with("times of `x`") ||
                  why.starts_with("ignored for this problem") ||
                  why.starts_with("times of `Some Card`"))
          << path << " " << value << ": " << why;
      EXPECT_TRUE(plan(problem()));
    }
  }
  // Times of another build, and what is damaged, make room.
  json["build"] = "another";
  write(json.dump());
  keep();
  EXPECT_EQ(read()["entries"], good["entries"]);
}

/// Ways that are no candidates (any more) do not count.
TEST_F(Refinement, WaysThatAreNoneAnyMore) {
  keep();
  Json json = read();
  json["entries"][0]["ways"] = {json["entries"][0]["ways"][0]};
  json["entries"][0]["ways"][0]["head_tile"] = 48;
  json["entries"][0]["ways"][0]["us"] = 1;
  write(json.dump());
  EXPECT_HAS(reason(), ", of 0 of ");
  EXPECT_FALSE(plan(problem())->measuredMicroseconds);
}

TEST_F(Refinement, NothingIsMeasuredOnTheExecutor) {
  SmallArrays arrays;
  EXPECT_HAS(
      errorOf<UnsupportedError>([&] { refine(arrays.arguments(), path); }),
      "nothing is measured on the executor");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Refinement, FilesThatCannotBeWritten) {
  std::vector<MeasuredWay> ways = measureWays(problem(), {}, clockOf);
  EXPECT_HAS(errorOf<Error>([&] {
               keepTimes("/nowhere/at/all.json", kCard, problem(), ways);
             }),
             "cannot write /nowhere/at/all.json");
  // Nothing was measured: nothing is written.
  for (MeasuredWay &way : ways)
    way.candidate.measured.reset();
  keepTimes(path, kCard, problem(), ways);
  EXPECT_FALSE(std::filesystem::exists(path));
}
} // namespace
