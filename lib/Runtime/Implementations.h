// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that a planner may choose from, one file each: what it takes,
// when it is the better one, its parameters, grids and scratch.
#ifndef MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H
#define MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H

#include "mlatile/Runtime/Plan.h"

#include <optional>
#include <span>
#include <string>

namespace mlatile {

/// Whether a kernel is the better one for a problem that it takes.
struct Preference {
  bool yes = false;
  std::string why; ///< goes on after "taken, " and "passed over, "
};

struct Implementation {
  const char *name;
  /// Why it does not take the problem; nothing where it does.
  std::optional<std::string> (*decline)(const Problem &problem);
  /// The rule of docs/HostApi.md, section "Choice".
  Preference (*prefer)(const Problem &problem, int64_t numSMs);
  /// Fills in the plan of a problem that it does not decline.
  void (*build)(const Problem &problem, Plan &plan);
};

/// All kernels: decode, whose rule always holds, then those that come before it
/// where their rules hold.
std::span<const Implementation *const> implementations();

extern const Implementation kDecode;  // DecodePlan.cpp
extern const Implementation kPrefill; // PrefillPlan.cpp
extern const Implementation kSwapAB;  // SwapABPlan.cpp

/// The choice among the kernels for a validated problem: every kernel with its
/// reason, the taken one first. UnsupportedError where none takes it.
std::vector<Candidate> chooseKernel(const Problem &problem, int64_t numSMs);

} // namespace mlatile
#endif
