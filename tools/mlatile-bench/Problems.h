// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which problems are measured, under which names.
#ifndef MLATILE_TOOLS_BENCH_PROBLEMS_H
#define MLATILE_TOOLS_BENCH_PROBLEMS_H

#include "mlatile/Runtime/Problem.h"

#include <memory>
#include <string>
#include <vector>

namespace mlatile::bench {

struct NamedProblem {
  std::string name;
  Problem problem;
  double skip = 0; ///< fraction of the entries
  /// The problem of which this is one way; null: it is none's.
  std::shared_ptr<const Problem> whole = nullptr;
};

/// Problems of a JSON file (parseProblems). "name" names one, else its place
/// does; of "run", which is for mlatile-run, "skip" counts. ArgumentError.
std::vector<NamedProblem> readProblems(const std::string &json);

/// Those whose name the regular expression finds; ArgumentError where it is
/// none, or finds none.
std::vector<NamedProblem> only(std::vector<NamedProblem> problems,
                               const std::string &expression);

/// Each problem in all ways (waysOf), named by kernel and splits too.
std::vector<NamedProblem> inAllWays(const std::vector<NamedProblem> &problems);

} // namespace mlatile::bench
#endif
