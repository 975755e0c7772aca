// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bench.h"

#include "Floors.h"
#include "ProblemArrays.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Card.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace mlatile::bench {
namespace {

/// The cost model's time of a plan, from its compiled kernels.
std::optional<double> predictedTime(const Plan &plan, const std::string &card) {
  if (card.empty())
    return std::nullopt;
  Problem problem = plan.problem;
  problem.numSplits = plan.numSplits;
  double total = 0;
  for (const LaunchStep &step : plan.launches) {
    auto report = nlohmann::json::parse(
        getKernel(step.kernel, Need::Device)->report(&problem));
    nlohmann::json predicted = report.value("predicted", nlohmann::json());
    if (!predicted.is_object() || !predicted.contains(card) ||
        !predicted[card]["us"].is_number())
      return std::nullopt;
    total += predicted[card]["us"].get<double>();
  }
  return total;
}

double flopsOf(const Problem &p) {
  const run::Layout &layout = run::layoutNamed(p.kvFormat);
  return 2.0 * static_cast<double>(p.numTokens * p.numHeads) *
         static_cast<double>(p.width + p.extraWidth.value_or(0)) *
         (layout.dimQK() + layout.dimV());
}

class Bench {
public:
  Bench(const BenchOptions &options, Progress &progress, Results &results)
      : options(options), progress(progress), results(results),
        stopwatch(options.protocol, results.device, options.ordinal),
        floors(stopwatch, results.device, options.ordinal),
        pools(results.poolBytes, options.ordinal) {
    results.flushedBytes = stopwatch.flushedBytes();
  }

  void measure(Result &result) {
    const Problem &problem = result.named.problem;
    progress.detail("inputs");
    ProblemArrays arrays(problem, result.named.skip, pools, options.ordinal);
    result.plan =
        arrays.plan().launches.empty() ? nullptr : arrays.call(0).plan;
    if (!result.plan)
      throw ArgumentError("num_tokens", "expected at least one row, got 0");
    progress.detail("kernels");
    preload(*result.plan, options.ordinal);

    Work work = [&](int set, void *stream) {
      LaunchOptions launchOptions;
      launchOptions.stream = stream;
      launchOptions.cooperative = options.cooperative;
      launch(arrays.call(options.protocol.warm ? 0 : set), launchOptions);
    };
    progress.detail("first calls");
    double estimate = 0;
    int calls = std::min(stopwatch.callsFor(work, estimate), arrays.mostSets());
    arrays.makeSets(options.protocol.warm ? 1 : calls);
    progress.detail("time");
    result.time = stopwatch.measure(work, calls, estimate);
    if (!arrays.wroteNumbers())
      throw LaunchError("the kernels left NaN in the output");
    result.bytes = static_cast<double>(arrays.gatheredBytes());
    result.flops = flopsOf(problem);
    result.predicted = predictedTime(*result.plan, results.card);
    if (!options.floors)
      return;
    progress.detail("floors");
    // Other modes have other rates.
    if (result.plan->compute == "bf16")
      result.mma = result.flops / floors.mmaRate() * 1e6;
    result.gather = floors.gather(arrays.pool(), arrays.gatheredRows());
    results.mmaRate = floors.mmaRate();
    results.gatherRate = floors.gatherRate();
  }

private:
  const BenchOptions &options;
  Progress &progress;
  Results &results;
  Stopwatch stopwatch;
  Floors floors;
  Pools pools;
};
} // namespace

std::string cardOf(const DeviceInfo &device) {
  std::string name;
  for (unsigned char letter : device.name)
    name +=
        std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : '_';
  for (const Card &card : cards())
    if (name.find(card.name) != std::string::npos)
      return std::string(card.name);
  return "";
}

Results measure(const BenchOptions &options, Progress &progress,
                const std::function<void(const Results &)> &begun,
                const std::function<void(const Result &)> &measured) {
  std::optional<DeviceInfo> device = cudaDevice(options.ordinal);
  if (!device)
    throw UnsupportedError(whyNoCudaDevice(options.ordinal));
  if (device->target.empty())
    throw UnsupportedError("no target fits " + device->name);
  Results results;
  results.device = *device;
  results.card = cardOf(*device);
  results.protocol = options.protocol;
  results.poolBytes = options.poolBytes;
  Bench bench(options, progress, results);
  begun(results);
  for (size_t i = 0; i < options.problems.size(); ++i) {
    Result result;
    result.named = options.problems[i];
    progress.step(i + 1, options.problems.size(), result.named.name);
    try {
      bench.measure(result);
    } catch (const std::exception &error) {
      result.error = error.what();
    }
    progress.clear();
    results.rows.push_back(std::move(result));
    measured(results.rows.back());
  }
  return results;
}

} // namespace mlatile::bench
