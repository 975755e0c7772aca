// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that a planner may choose from.
#ifndef MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H
#define MLATILE_LIB_RUNTIME_IMPLEMENTATIONS_H

#include "mlatile/Runtime/Plan.h"

#include <optional>
#include <span>
#include <string>

namespace mlatile {

struct Implementation {
  const char *name;
  /// Why it does not take the problem; nothing where it does.
  std::optional<std::string> (*decline)(const Problem &problem);
  /// Fills in the plan of a problem that it does not decline.
  void (*build)(const Problem &problem, Plan &plan);
};

/// In order of preference.
std::span<const Implementation> implementations();

// decode, and the merge of its splits (DecodePlan.cpp)
std::optional<std::string> declineDecode(const Problem &problem);
void buildDecode(const Problem &problem, Plan &plan);

} // namespace mlatile
#endif
