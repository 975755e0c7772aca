// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the splits of decode become one: docs/HostApi.md, "Splits".
#ifndef MLATILE_LIB_RUNTIME_MERGEPLAN_H
#define MLATILE_LIB_RUNTIME_MERGEPLAN_H

#include "KernelParameters.h"
#include "mlatile/Runtime/CostModel.h"

#include <map>
#include <optional>
#include <span>
#include <string>

namespace mlatile {

/// Leading bytes of every workspace for splits, the same in all plans, so that
/// calls of several plans that share one keep the counters as they must be.
inline constexpr int64_t kCounterBytes = 16384;

struct MergeForm {
  const char *name;      ///< as in Problem::merge
  bool joins = false;    ///< in the launch that computes the splits
  bool depends = false;  ///< in a launch that begins while that one ends
  bool clusters = false; ///< where the splits of a row are a cluster
};
std::span<const MergeForm> mergeForms();

/// Why a form cannot be, or nothing. `plan` has target and SMs.
std::optional<std::string> declineMerge(const MergeForm &form,
                                        const Problem &problem,
                                        const Plan &plan, const Tiles &tiles,
                                        int64_t splits);

/// Blocks of a cluster at most, on every target.
inline constexpr int64_t kMostClustered = 8;

/// Parameters by which the launch that computes the splits joins them.
std::map<std::string, std::string> joinParams(const MergeForm &form,
                                              const Problem &problem,
                                              const Tiles &tiles,
                                              int64_t splits);

/// CTAs of the launch that joins the splits of the problem.
int64_t mergeCtas(const Problem &problem, int64_t numSMs, int64_t splits);
/// That launch for the cost model.
std::optional<LaunchWork> mergeWork(const Problem &problem, int64_t numSMs,
                                    int64_t splits);

/// Appends `decode`, the launch that computes the splits, all parameters bound
/// but those of `plan.merge`, which are added, and the launch of the merge
/// after it where the form has one; with reasons.
void addMerge(const Problem &problem, Plan &plan, LaunchStep decode,
              const Tiles &tiles);

} // namespace mlatile
#endif
