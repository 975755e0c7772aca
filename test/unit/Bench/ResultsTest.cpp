// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems of a file, and what is written of results.
#include "Roofline.h"
#include "mlatile/Runtime/Error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

using namespace mlatile;
using namespace mlatile::bench;

namespace {
const char *const kFile = R"([
  {"name": "first", "num_tokens": 1, "num_heads": 8, "width": 64,
   "kv_format": "dsv4", "page_size": 64, "run": {"skip": 0.25, "pages": 3}},
  // not named
  {"num_tokens": 2, "num_heads": 8, "width": 64, "kv_format": "dsv4",
   "page_size": 64},
  {"name": "first-too", "num_tokens": 3, "num_heads": 8, "width": 64,
   "kv_format": "dsv4", "page_size": 64}])";

template <typename F>
std::string errorOf(F &&f) {
  try {
    f();
  } catch (const ArgumentError &error) {
    return error.what();
  }
  return "none";
}

TEST(Problems, HaveNames) {
  std::vector<NamedProblem> problems = readProblems(kFile);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].name, "first");
  EXPECT_EQ(problems[0].skip, 0.25);
  EXPECT_EQ(problems[1].name, "1");
  EXPECT_EQ(problems[1].skip, 0);
  EXPECT_EQ(problems[2].problem.numTokens, 3);
}

TEST(Problems, AreChosenByName) {
  EXPECT_EQ(only(readProblems(kFile), "^first").size(), 2u);
  EXPECT_EQ(only(readProblems(kFile), "too$")[0].name, "first-too");
  EXPECT_NE(errorOf([] { only(readProblems(kFile), "nothing"); })
                .find("expected an expression that finds a name, got "
                      "'nothing'"),
            std::string::npos);
  EXPECT_NE(errorOf([] {
              only(readProblems(kFile), "(");
            }).find("expected a regular expression, got '('"),
            std::string::npos);
}

TEST(Problems, WithWrongNamesAreRefused) {
  std::string text = kFile;
  text.replace(text.find("\"first\""), 7, "7");
  EXPECT_NE(errorOf([&] { readProblems(text); }).find("a string as \"name\""),
            std::string::npos);
}

/// `count` problems in a few columns of intensity, close to each other.
Results manyResults(int count) {
  Results results;
  results.device.name = "a <card>";
  results.device.target = "sm_90a";
  results.card = "h200";
  results.gatherRate = 3.5e12;
  results.mmaRate = 640e12;
  for (int i = 0; i < count; ++i) {
    Result row;
    row.named.name = "problem-" + std::to_string(i);
    Problem &problem = row.named.problem;
    problem.numTokens = 1 + i;
    problem.numHeads = i % 2 ? 64 : 128;
    problem.width = 2048;
    problem.kvFormat = "dsv4";
    problem.pageSize = 64;
    problem.target = "sm_90a";
    row.plan = plan(problem);
    double entries = static_cast<double>(problem.numTokens * problem.width);
    row.bytes = 584 * entries;
    row.flops = 2.0 * 1024 * entries * static_cast<double>(problem.numHeads);
    row.time.median = 10 + i;
    row.gather = 2 + i;
    row.mma = row.flops / *results.mmaRate * 1e6;
    row.predicted = 9 + i;
    results.rows.push_back(std::move(row));
  }
  return results;
}

TEST(Table, ColumnsAreAligned) {
  Results results = manyResults(12);
  results.rows[3].error = "no kernel";
  std::vector<NamedProblem> problems;
  for (const Result &row : results.rows)
    problems.push_back(row.named);
  Table table(problems);
  size_t plan = table.head().find("plan");
  for (const Result &row : results.rows) {
    std::string line = table.line(row);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    if (row.error.empty())
      EXPECT_EQ(line.find(shortPlan(*row.plan)), plan) << table.head() << line;
    else
      EXPECT_NE(line.find("failed: no kernel"), std::string::npos);
  }
  EXPECT_NE(belowTable(results).find("11 of 12 problems measured"),
            std::string::npos);
}

TEST(Table, FractionsAreOfTheNearerFloor) {
  Results results = manyResults(2);
  Result &row = results.rows[0];
  row.time.median = 20;
  row.gather = 5;
  row.mma = 10;
  EXPECT_EQ(*row.ofFloor(), 0.5);
  row.gather = 15;
  EXPECT_EQ(*row.ofFloor(), 0.75);
  row.gather.reset();
  row.mma.reset();
  EXPECT_FALSE(row.ofFloor());
}

TEST(ResultsJson, HoldsRows) {
  Results results = manyResults(2);
  results.rows[1].error = "no kernel";
  auto json = nlohmann::json::parse(resultsJson(results));
  EXPECT_EQ(json["rows"][0]["name"], "problem-0");
  EXPECT_EQ(json["rows"][0]["us"], 10);
  EXPECT_EQ(json["rows"][0]["gather_floor_us"], 2);
  EXPECT_EQ(json["rows"][0]["of_prediction"], 10.0 / 9);
  EXPECT_EQ(json["rows"][0]["plan"]["kernel"], "decode");
  EXPECT_EQ(json["rows"][1]["error"], "no kernel");
  EXPECT_FALSE(json["rows"][1].contains("us"));
  EXPECT_EQ(json["floors"]["mma_flop_per_s"], 640e12);
}

/// Texts at the points of a picture; none may cover another.
std::vector<std::string> pointLabels(const std::string &svg) {
  std::regex label("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"[^>]*text-anchor=\""
                   "(start|end)\" class=\"point\">([^<]*)<");
  struct Place {
    double left, right, y;
  };
  std::vector<Place> places;
  std::vector<std::string> texts;
  for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end;
       ++it) {
    double x = std::stod((*it)[1]);
    double width = 5.6 * static_cast<double>((*it)[4].length());
    bool start = (*it)[3] == "start";
    places.push_back(
        {start ? x : x - width, start ? x + width : x, std::stod((*it)[2])});
    texts.push_back((*it)[4]);
  }
  for (size_t i = 0; i < places.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_TRUE(places[i].right <= places[j].left ||
                  places[j].right <= places[i].left ||
                  std::abs(places[i].y - places[j].y) >= 11)
          << texts[i] << " " << texts[j];
  return texts;
}

TEST(Roofline, FewPointsHaveTheirNames) {
  std::string svg = rooflineSvg(manyResults(20));
  EXPECT_NE(svg.find("a &lt;card&gt;"), std::string::npos);
  std::vector<std::string> texts = pointLabels(svg);
  std::set<std::string> names(texts.begin(), texts.end());
  EXPECT_EQ(names.size(), 20u);
  EXPECT_TRUE(names.count("problem-0") && names.count("problem-19"));
}

TEST(Roofline, ManyPointsHaveNumbers) {
  std::string svg = rooflineSvg(manyResults(60));
  std::vector<std::string> texts = pointLabels(svg);
  std::set<std::string> numbers(texts.begin(), texts.end());
  EXPECT_EQ(numbers.size(), 60u);
  EXPECT_TRUE(numbers.count("1") && numbers.count("60"));
  for (int i = 0; i < 60; ++i)
    EXPECT_NE(svg.find(">problem-" + std::to_string(i) + "</text>"),
              std::string::npos);
}

TEST(Roofline, NeedsFloorsAndPoints) {
  Results results = manyResults(1);
  results.rows[0].error = "no kernel";
  EXPECT_NE(errorOf([&] { rooflineSvg(results); }).find("expected floors"),
            std::string::npos);
  results = manyResults(1);
  results.mmaRate.reset();
  EXPECT_NE(errorOf([&] { rooflineSvg(results); }).find("expected floors"),
            std::string::npos);
}
} // namespace
