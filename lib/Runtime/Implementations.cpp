// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among the kernels. Each one declines with a reason or takes the
// problem; among those that take it their rules decide, in order.
#include "Implementations.h"

#include "mlatile/Runtime/Error.h"

#include <algorithm>

namespace mlatile {
namespace {
constexpr const Implementation *kImplementations[] = {&kDecode, &kPrefill,
                                                      &kSwapAB};

/// A kernel that can take the problem.
struct Eligible {
  const Implementation *kernel;
  Preference preference;
};

/// The one to take, of at least one: the last whose rule holds, since decode's
/// always does. Where times are predicted, comparing them belongs here.
const Eligible &best(const std::vector<Eligible> &eligible) {
  auto preferred =
      std::find_if(eligible.rbegin(), eligible.rend(),
                   [](const Eligible &e) { return e.preference.yes; });
  return preferred != eligible.rend() ? *preferred : eligible.front();
}
} // namespace

std::span<const Implementation *const> implementations() {
  return kImplementations;
}

std::vector<Candidate> chooseKernel(const Problem &problem, int64_t numSMs) {
  std::vector<Eligible> eligible;
  std::vector<Candidate> others;
  std::string declined;
  for (const Implementation *kernel : implementations()) {
    if (problem.kernel != "auto" && problem.kernel != kernel->name) {
      others.push_back({kernel->name, false,
                        "passed over, `" + problem.kernel + "` is asked for"});
      continue;
    }
    if (std::optional<std::string> reason = kernel->decline(problem)) {
      declined += (declined.empty() ? "" : "; ") + std::string(kernel->name) +
                  ": " + *reason;
      others.push_back({kernel->name, false, "unable, " + *reason});
      continue;
    }
    eligible.push_back({kernel, kernel->prefer(problem, numSMs)});
  }
  if (eligible.empty())
    throw UnsupportedError("no kernel takes the problem: " + declined);

  const Eligible &taken = best(eligible);
  for (const Eligible &e : eligible)
    if (&e != &taken)
      others.push_back(
          {e.kernel->name, false,
           "passed over, " +
               (e.preference.yes
                    ? "the rule of " + std::string(taken.kernel->name) +
                          " comes first"
                    : e.preference.why)});
  std::string why = problem.kernel != "auto" ? "as asked for"
                    : eligible.size() == 1   ? "the only one that is able to"
                                             : taken.preference.why;
  others.insert(others.begin(), {taken.kernel->name, true, "taken, " + why});
  return others;
}

} // namespace mlatile
