// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that a planner may choose from, one file each: what it takes, its
// parameters, grids and scratch. Choice.h has the choice among them.
#ifndef MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H
#define MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H

#include "KernelParameters.h"
#include "mlatile/Runtime/Plan.h"

#include <optional>
#include <string>

namespace mlatile {

struct Implementation {
  const char *name;
  /// Whether it has splits; else one CTA walks all candidates of a row.
  bool hasSplits;
  /// Why it does not take the problem; nothing where it does.
  std::optional<std::string> (*decline)(const Problem &problem);
  /// Appends the launches of a plan whose splits and merge are chosen, for a
  /// problem that it does not decline.
  void (*build)(const Problem &problem, Plan &plan, const Tiles &tiles);
};

extern const Implementation kDecode;  // DecodePlan.cpp
extern const Implementation kPrefill; // PrefillPlan.cpp
extern const Implementation kSwapAB;  // SwapABPlan.cpp

} // namespace mlatile
#endif
