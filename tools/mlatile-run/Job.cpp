// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Job.h"

#include "Graph.h"
#include "PlacedCall.h"

#include <chrono>
#include <cmath>
#include <numbers>

namespace mlatile::run {
namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Mean time of a launch in a full stream.
double timeLaunches(const Call &call, const LaunchOptions &launchOptions,
                    int repeat, int ordinal) {
  synchronizeDevice(ordinal);
  Clock::time_point start = Clock::now();
  for (int i = 0; i < repeat; ++i)
    launch(call, launchOptions);
  synchronizeDevice(ordinal);
  return secondsSince(start) / repeat * 1e6;
}

Comparison compare(const JobOptions &options, const PlacedCall &placed,
                   Results &results, const Bounds &bounds) {
  if (options.lse == "e")
    for (float &value : results.lse)
      if (!std::isnan(value)) // what was not written keeps its bits
        value *= std::numbers::log2e_v<float>;
  return compareWith(placed.inputs,
                     computeReference(placed.inputs, options.rows), results.out,
                     results.lse, bounds);
}

/// Replays of a graph that gave the bits of uncaptured calls; the last one is
/// compared with the reference too.
int countReplays(const JobOptions &options, PlacedCall &placed,
                 JobResult &result) {
  ReplayCheck check = checkReplays(placed, options.replays, options.ordinal);
  if (result.comparison.ok && check.right == options.replays)
    result.comparison = compare(options, placed, check.last, result.bounds);
  return check.right;
}
} // namespace

JobResult runJob(const JobOptions &options, const JobObserver &observer) {
  JobResult result;
  result.device = "executor";
  if (options.cuda) {
    std::optional<DeviceInfo> device = cudaDevice(options.ordinal);
    if (!device)
      throw UnsupportedError(whyNoCudaDevice(options.ordinal));
    result.device = device->name;
  }
  // The results, two of them for a comparison bit by bit.
  checkSizes(options.input, options.replays ? 4 : 2);
  Clock::time_point start = Clock::now();
  JobOptions withSets = options;
  withSets.input.candidateSets += options.replays;
  PlacedCall placed(withSets);
  Call &call = placed.call;
  result.inputSeconds = secondsSince(start);
  result.plan = call.plan;
  result.bounds = boundsOf(call.plan->compute);
  observer.planned(result);

  for (const LaunchStep &step : call.plan->launches) {
    start = Clock::now();
    // With machine code where ptxas is there: its registers are worth seeing.
    std::shared_ptr<const Kernel> kernel = getKernel(step.kernel, Need::Device);
    result.kernels.push_back({kernel, secondsSince(start)});
  }
  observer.compiled(result);

  placed.placeResults();
  LaunchOptions launchOptions;
  launchOptions.seed = static_cast<unsigned>(options.input.seed);
  launchOptions.cooperative = options.cooperative;
  start = Clock::now();
  launch(call, launchOptions);
  if (options.cuda)
    synchronizeDevice(options.ordinal);
  result.runSeconds = secondsSince(start);
  Results results = placed.fetch();
  if (options.cuda && options.repeat > 0)
    result.launchMicroseconds =
        timeLaunches(call, launchOptions, options.repeat, options.ordinal);
  observer.ran(result);

  start = Clock::now();
  result.comparison = compare(options, placed, results, result.bounds);
  result.referenceSeconds = secondsSince(start);
  if (options.replays)
    result.replays = countReplays(options, placed, result);
  return result;
}

} // namespace mlatile::run
