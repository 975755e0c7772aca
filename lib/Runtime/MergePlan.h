// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the splits of decode become one: docs/HostApi.md, "Splits".
#ifndef MLATILE_LIB_RUNTIME_MERGEPLAN_H
#define MLATILE_LIB_RUNTIME_MERGEPLAN_H

#include "KernelParameters.h"

namespace mlatile {

/// Leading bytes of every workspace for splits, the same in all plans, so that
/// calls of several plans that share one keep the counters as they must be.
inline constexpr int64_t kCounterBytes = 16384;

/// CTAs of the launch that joins the splits of the problem.
int64_t mergeCtas(const Problem &problem);

/// Chooses `plan.merge`, or takes what the problem asks for, with its reason.
/// `decode` is the launch that computes the splits, all parameters bound but
/// those of the merge; they are added, and the launch of the merge after it
/// where the form has one. UnsupportedError where what is asked for cannot be.
void planMerge(const Problem &problem, Plan &plan, LaunchStep decode,
               const Tiles &tiles);

} // namespace mlatile
#endif
