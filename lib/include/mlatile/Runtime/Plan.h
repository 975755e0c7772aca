// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning: which kernels, which parameters, how many splits, how much scratch,
// and why. Pure and host-only.
#ifndef MLATILE_RUNTIME_PLAN_H
#define MLATILE_RUNTIME_PLAN_H

#include "mlatile/Runtime/KernelSpec.h"
#include "mlatile/Runtime/Problem.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlatile {

/// One launch of a plan; launches run in order on one stream.
struct LaunchStep {
  KernelSpec kernel;
  uint32_t grid = 0; ///< CTAs, all on grid x
  std::string why;   ///< one line for people
  /// May begin before the launch before it has ended; its kernel waits
  /// (programmatic dependent launch).
  bool dependent = false;
  /// CTAs that are known to run at the same time, where they wait for each
  /// other: at least the grid. 0: they do not wait.
  uint32_t resident = 0;
};

/// What became of one way to run the problem, or of a kernel that takes no part
/// (then without a tile).
struct Candidate {
  std::string kernel;
  std::string compute = "bf16";
  int64_t headTile = 0, candidateTile = 0, warps = 0;
  std::string roles; ///< of the warps; empty: all are equal
  int64_t numSplits = 1;
  std::string merge = "none";
  std::optional<double> microseconds; ///< predicted
  std::optional<double> measured;     ///< microseconds, by a refinement
  bool taken = false;
  std::string why; ///< of being taken, passed over, or unable
};

/// Where the partial results of the splits stand in the workspace, bytes.
struct PartialLayout {
  int64_t outputs = 0; ///< f16 [rows, splits, heads, d_v]
  int64_t units = 0;   ///< f32 [rows, splits, heads], times outputs
  int64_t maxima = 0;  ///< f32 [rows, splits, heads]
  int64_t sums = 0;    ///< f32 [rows, splits, heads]
  int64_t end = 0;
};

struct Plan {
  Problem problem; ///< as given, target filled in
  std::string kernel;
  std::string compute;
  std::string target;
  int64_t numSMs = 0;
  int64_t numSplits = 1;
  std::string roles;          ///< as the candidate's
  std::string merge = "none"; ///< "launch", "dependent", "slices", "cluster"
  std::optional<double> predictedMicroseconds; ///< by estimated counts
  std::optional<double> measuredMicroseconds;  ///< by a refinement
  int64_t workspaceBytes = 0;                  ///< exact; 256-aligned base
  int64_t counterBytes = 0; ///< leading bytes that must be zero at first use
  PartialLayout partials;   ///< empty unless numSplits > 1
  std::vector<LaunchStep> launches; ///< empty where there are no rows
  /// By rising predicted time, the taken one first; kernels that take no part
  /// last.
  std::vector<Candidate> candidates;
  std::vector<std::string> reasons; ///< decisions, one line each

  /// The whole plan for people, several lines.
  std::string explain() const;
};

/// The problem that leaves a plan no other way than a candidate of the
/// problem's own plan: kernel, compute mode, tile, splits and merge asked for.
Problem asking(const Problem &problem, const Candidate &candidate);

/// Answer of `supported`.
struct Support {
  bool ok = false;
  std::string reason; ///< empty where ok; else the text of the error
};

/// The plan of a problem, memoised. Throws ArgumentError or UnsupportedError;
/// the latter lists why each kernel declined.
std::shared_ptr<const Plan> plan(const Problem &problem);

/// Whether plan() would succeed, and its text if not. Does not throw.
Support supported(const Problem &problem) noexcept;

} // namespace mlatile
#endif
