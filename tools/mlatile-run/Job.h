// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run: inputs, plan, kernels, launch, comparison.
#ifndef MLATILE_TOOLS_RUN_JOB_H
#define MLATILE_TOOLS_RUN_JOB_H

#include "Inputs.h"
#include "Reference.h"
#include "mlatile/mlatile.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlatile::run {

struct JobOptions {
  InputOptions input;
  std::string compute = "auto", kernel = "auto", target;
  std::optional<int64_t> splits;
  std::string merge = "auto";
  bool cooperative = true; ///< LaunchOptions
  std::optional<int64_t> numSMs;
  std::map<std::string, std::string> params; ///< in the place of planned ones
  bool cuda = false;
  int ordinal = 0;
  std::string lse = "2"; ///< base, or "none"
  int repeat = 0;        ///< CUDA: launches to time after the first
  int replays = 0;       ///< CUDA: of a graph of the call, candidates rewritten
  int64_t rows = 0;      ///< compared with the reference; 0: all
};

struct KernelTime {
  std::shared_ptr<const Kernel> kernel;
  double seconds = 0; ///< until it was there
};

struct JobResult {
  std::shared_ptr<const Plan> plan;
  std::string device; ///< "executor" or the card
  std::vector<KernelTime> kernels;
  double inputSeconds = 0, runSeconds = 0, referenceSeconds = 0;
  std::optional<double> launchMicroseconds; ///< mean of the repeats
  std::optional<int> replays; ///< that gave the bits of uncaptured calls
  Bounds bounds{};
  Comparison comparison;
};

/// Runs a job. `progress` is told each part when it is known.
struct JobObserver {
  std::function<void(const JobResult &)> planned, compiled, ran;
};
JobResult runJob(const JobOptions &options, const JobObserver &observer);

} // namespace mlatile::run
#endif
