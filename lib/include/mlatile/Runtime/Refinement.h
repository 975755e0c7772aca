// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Refinement by measurement: the ways of a problem that are predicted to be
// near the fastest are timed on a card, and a small file keeps the times for
// later plans (docs/HostApi.md, "Refinement").
#ifndef MLATILE_RUNTIME_REFINEMENT_H
#define MLATILE_RUNTIME_REFINEMENT_H

#include "mlatile/Runtime/Call.h"
#include "mlatile/Runtime/Plan.h"

#include <functional>
#include <string>
#include <vector>

namespace mlatile {

/// Which ways are measured.
struct RefineOptions {
  double within = 1.5; ///< of the least predicted time
  int64_t most = 16;   ///< of these, by rising predicted time
};

/// A way and its time, or why it has none.
struct MeasuredWay {
  Candidate candidate; ///< with `measured`, unless it failed
  std::string error;
};

/// Times one call of a plan, in microseconds. What it throws stands in for the
/// time.
using MeasurePlan = std::function<double(const Plan &)>;

/// The candidates of the problem that options name, by rising predicted time.
/// ArgumentError where these are none; errors as of plan().
std::vector<Candidate> waysToMeasure(const Problem &problem,
                                     const RefineOptions &options = {});

/// Measures them, each alone: fastest first, those that failed last.
std::vector<MeasuredWay> measureWays(const Problem &problem,
                                     const RefineOptions &options,
                                     const MeasurePlan &measure);

/// The card that was measured.
struct MeasuredCard {
  std::string name; ///< as the driver says
  std::string target;
  int64_t sms = 0;
};

/// Keeps the times of a problem in a file, in the place of older ones of the
/// same problem on the same card; times of another build of the library go.
/// Plans that use the file see them at once. ArgumentError where something else
/// stands in the file, which is left alone; Error where it cannot be written.
void keepTimes(const std::string &path, const MeasuredCard &card,
               const Problem &problem, const std::vector<MeasuredWay> &ways);

/// Measures the ways of a call on its CUDA device and keeps the times in the
/// file. Outputs of the call are not written. Nothing may be measured while
/// `stream` is captured (ArgumentError), nor on the executor
/// (UnsupportedError).
std::vector<MeasuredWay> refine(const Arguments &arguments,
                                const std::string &path,
                                const RefineOptions &options = {},
                                void *stream = nullptr);

/// Plans of this process use this file's times from now on; empty: none. At
/// first `$MLATILE_REFINEMENT` is used. A file that cannot be used never fails
/// a plan: its reasons say why it is ignored.
void useRefinement(const std::string &path);

} // namespace mlatile
#endif
