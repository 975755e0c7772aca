// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was measured, and its texts.
#ifndef MLATILE_TOOLS_BENCH_RESULTS_H
#define MLATILE_TOOLS_BENCH_RESULTS_H

#include "Problems.h"
#include "Timing.h"
#include "mlatile/Runtime/Plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlatile::bench {

struct Result {
  NamedProblem named;
  std::string error; ///< why there is no time
  std::shared_ptr<const Plan> plan;
  Timing time;
  double bytes = 0;                  ///< gathered from both caches
  double flops = 0;                  ///< 2 T H width (d_qk + d_v), both caches
  std::optional<double> gather, mma; ///< floors, microseconds
  std::optional<double> predicted;   ///< by the cost model, microseconds

  double gigabytesPerSecond() const { return bytes / time.median * 1e-3; }
  double teraflops() const { return flops / time.median * 1e-6; }
  double intensity() const { return flops / bytes; }
  /// The larger floor as a part of the time.
  std::optional<double> ofFloor() const;
  std::optional<double> ofPrediction() const; ///< measured / predicted
};

struct Results {
  DeviceInfo device;
  std::string card; ///< of the cost model; empty: not known
  Protocol protocol;
  int64_t flushedBytes = 0, poolBytes = 0;
  std::optional<double> gatherRate, mmaRate; ///< bytes, FLOP a second
  std::vector<Result> rows;
};

/// Kernel, the parameters that shape it, CTAs and splits: "decode BH=16 BN=32
/// WARPS=4, 132 CTAs, 8 splits + merge".
std::string shortPlan(const Plan &plan);

/// A table whose lines can be printed one after another.
class Table {
public:
  Table(const std::vector<NamedProblem> &problems);
  std::string head() const;
  std::string line(const Result &result) const;

private:
  int nameWidth = 7;
};
/// What stands above and below the table.
std::string aboveTable(const Results &results);
std::string belowTable(const Results &results);

/// The whole as one JSON object.
std::string resultsJson(const Results &results);

} // namespace mlatile::bench
#endif
