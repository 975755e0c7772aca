// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among all ways to run a problem, by predicted time: every kernel
// that takes it, in every tile, with every number of splits and every form of
// merge that can be (docs/HostApi.md, "Choice").
#ifndef MLATILE_LIB_RUNTIME_CHOICE_H
#define MLATILE_LIB_RUNTIME_CHOICE_H

#include "Implementations.h"
#include "mlatile/Target/Card.h"

#include <optional>
#include <string>
#include <vector>

namespace mlatile {

/// One way to run a problem.
struct Way {
  const Implementation *kernel = nullptr;
  std::string compute;
  Tiles tiles;
  int64_t splits = 1;
  const char *merge = "none";
  std::optional<double> microseconds; ///< nothing: no estimate for the card
  std::optional<double> measured;     ///< by a refinement
};

/// The card that times are predicted for: of the cards of the target the one
/// with so many SMs, else the one that stands for it, with its SMs changed.
Card cardFor(const Problem &problem, const Plan &plan);

/// The way to take. `plan` has target and SMs; gets `candidates`, all ways by
/// rising time with what became of them, the taken one first, and after them
/// kernels that take no part. UnsupportedError or ArgumentError where there is
/// no way.
Way choose(const Problem &problem, Plan &plan);

} // namespace mlatile
#endif
