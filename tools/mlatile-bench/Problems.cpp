// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Problems.h"

#include "FloorKernels.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelFolder.h"

#include <nlohmann/json.hpp>
#include <regex>

namespace mlatile::bench {

std::vector<NamedProblem> readProblems(const std::string &text) {
  std::vector<Problem> problems = parseProblems(text);
  using Json = nlohmann::ordered_json;
  // It is an array of objects.
  Json json = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  std::vector<NamedProblem> named;
  for (size_t i = 0; i < problems.size(); ++i) {
    NamedProblem one{std::to_string(i), std::move(problems[i]), 0};
    try {
      one.name = json[i].value("name", one.name);
      if (json[i].contains("run"))
        one.skip = json[i]["run"].value("skip", 0.0);
    } catch (const Json::exception &error) {
      throw ArgumentError("problems", "expected a string as \"name\", an "
                                      "object as \"run\" and a number as its "
                                      "\"skip\", got " +
                                          json[i].dump());
    }
    named.push_back(std::move(one));
  }
  return named;
}

std::vector<NamedProblem> only(std::vector<NamedProblem> problems,
                               const std::string &expression) {
  std::regex pattern;
  try {
    pattern = std::regex(expression);
  } catch (const std::regex_error &error) {
    throw ArgumentError("only", "expected a regular expression, got '" +
                                    expression + "': " + error.what());
  }
  std::erase_if(problems, [&](const NamedProblem &problem) {
    return !std::regex_search(problem.name, pattern);
  });
  if (problems.empty())
    throw ArgumentError("only", "expected an expression that finds a name, "
                                "got '" +
                                    expression + "'");
  return problems;
}

std::vector<NamedProblem> inAllWays(const std::vector<NamedProblem> &problems) {
  std::vector<NamedProblem> all;
  for (const NamedProblem &named : problems) {
    bool planned = true;
    auto whole = std::make_shared<const Problem>(named.problem);
    for (Problem &way : waysOf(named.problem)) {
      std::string name = named.name;
      if (!planned) {
        name += " " + way.kernel;
        for (const char *shape : {"BH", "ROLES"})
          if (way.params.count(shape))
            name += " " + way.params.at(shape);
        if (way.compute != named.problem.compute && way.compute != "bf16")
          name += " " + way.compute;
        if (way.numSplits)
          name += " x" + std::to_string(*way.numSplits);
      }
      planned = false;
      all.push_back({std::move(name), std::move(way), named.skip, whole});
    }
  }
  return all;
}

} // namespace mlatile::bench
