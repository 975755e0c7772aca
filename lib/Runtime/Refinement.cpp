// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the ways of a problem, and those of a call on its device.
#include "mlatile/Runtime/Refinement.h"

#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/CudaStream.h"
#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

namespace mlatile {
namespace {
constexpr double kGraphMicroseconds = 2000; ///< that a graph is to take
constexpr int kMostCalls = 20;
constexpr int kReplays = 11;

/// Measured times first, then predicted ones; then what makes it one order.
auto order(const Candidate &way) {
  return std::tuple(way.measured.value_or(1e300),
                    way.microseconds.value_or(1e300), way.numSplits,
                    std::string_view(way.kernel), way.headTile,
                    way.candidateTile, std::string_view(way.roles),
                    std::string_view(way.merge), std::string_view(way.compute));
}

/// Device memory as an argument of a call.
Tensor tensorOn(const DeviceBuffer &buffer, DType type,
                const std::vector<int64_t> &shape, int ordinal) {
  Tensor tensor = hostTensor(buffer.data(), type, shape);
  tensor.place = {true, ordinal};
  return tensor;
}

size_t elements(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

/// The call in one way, with outputs and scratch of its own.
class TimedCall {
public:
  TimedCall(Arguments arguments, const Plan &plan, int ordinal)
      : ordinal(ordinal), stream(ordinal) {
    const Problem &asked = plan.problem;
    arguments.kernel = asked.kernel;
    arguments.compute = asked.compute;
    arguments.numSplits = asked.numSplits;
    arguments.merge = asked.merge;
    arguments.params = asked.params;
    arguments.out.reset();
    arguments.lse.reset();
    arguments.workspace.reset();
    arguments.returnLse = asked.lse != LseKind::None;
    call = prepare(arguments);
    out = DeviceBuffer(2 * elements(call.outShape()), ordinal);
    call.setOut(tensorOn(out, DType::BF16, call.outShape(), ordinal));
    if (call.needsLse()) {
      lse = DeviceBuffer(4 * elements(call.lseShape()), ordinal);
      call.setLse(tensorOn(lse, DType::F32, call.lseShape(), ordinal));
    }
    if (call.needsWorkspace()) {
      int64_t bytes = call.plan->workspaceBytes;
      workspace = DeviceBuffer(static_cast<size_t>(bytes), ordinal);
      workspace.fill(0); // the counters
      call.setWorkspace(tensorOn(workspace, DType::U8, {bytes}, ordinal));
    }
    preload(*call.plan, ordinal);
  }

  /// Median of several replays of a graph of several calls.
  double microseconds() {
    run(); // the first one is slower
    stream.synchronize();
    double once = timed([&] { run(); });
    int calls =
        std::clamp(static_cast<int>(kGraphMicroseconds / once), 1, kMostCalls);
    DeviceGraph graph(stream, [&] {
      for (int i = 0; i < calls; ++i)
        run();
    });
    graph.replay(stream); // uploads it
    stream.synchronize();
    std::vector<double> times;
    for (int i = 0; i < kReplays; ++i) {
      graph.replay(stream); // the host is ahead when the time begins
      times.push_back(timed([&] { graph.replay(stream); }) / calls);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

private:
  void run() {
    LaunchOptions options;
    options.stream = stream.handle();
    launch(call, options);
  }
  template <typename F>
  double timed(F &&work) {
    DeviceEvent start(stream.handle(), ordinal, /*timed=*/true);
    work();
    DeviceEvent end(stream.handle(), ordinal, /*timed=*/true);
    stream.synchronize();
    return std::max(end.microsecondsSince(start), 0.001);
  }

  int ordinal;
  DeviceStream stream;
  Call call;
  DeviceBuffer out, lse, workspace;
};
} // namespace

std::vector<Candidate> waysToMeasure(const Problem &problem,
                                     const RefineOptions &options) {
  if (!(options.within >= 1) || !std::isfinite(options.within))
    throw ArgumentError("within", "expected a factor of at least 1, got " +
                                      std::to_string(options.within));
  if (options.most < 1)
    throw ArgumentError("most", "expected at least one way, got " +
                                    std::to_string(options.most));
  std::shared_ptr<const Plan> planned = plan(problem);
  double least = 0;
  std::vector<Candidate> ways;
  for (const Candidate &candidate : planned->candidates)
    if (candidate.headTile && candidate.microseconds) {
      if (ways.empty() || *candidate.microseconds < least)
        least = *candidate.microseconds;
      ways.push_back(candidate);
      ways.back().measured.reset(); // an older time
    }
  std::erase_if(ways, [&](const Candidate &way) {
    return *way.microseconds > options.within * least;
  });
  std::sort(ways.begin(), ways.end(),
            [](const Candidate &a, const Candidate &b) {
              return order(a) < order(b);
            });
  if (static_cast<int64_t>(ways.size()) > options.most)
    ways.resize(static_cast<size_t>(options.most));
  return ways;
}

std::vector<MeasuredWay> measureWays(const Problem &problem,
                                     const RefineOptions &options,
                                     const MeasurePlan &measure) {
  std::vector<MeasuredWay> ways;
  for (Candidate &candidate : waysToMeasure(problem, options)) {
    MeasuredWay way{std::move(candidate), ""};
    try {
      double us = measure(*plan(asking(problem, way.candidate)));
      if (std::isfinite(us) && us > 0)
        way.candidate.measured = us;
      else
        way.error = "expected microseconds, got " + std::to_string(us);
    } catch (const Error &error) {
      way.error = error.what();
    }
    ways.push_back(std::move(way));
  }
  std::sort(ways.begin(), ways.end(),
            [](const MeasuredWay &a, const MeasuredWay &b) {
              return order(a.candidate) < order(b.candidate);
            });
  return ways;
}

std::vector<MeasuredWay> refine(const Arguments &arguments,
                                const std::string &path,
                                const RefineOptions &options, void *stream) {
  const Place &place = arguments.q.place;
  if (!place.cuda)
    throw UnsupportedError("nothing is measured on the executor, whose times "
                           "say nothing of a card: expected device arrays");
  if (isCapturing(stream))
    throw ArgumentError("stream", "expected one that is not being captured, "
                                  "since nothing may be measured in a capture");
  Call call = prepare(arguments);
  const Problem &problem = call.plan->problem;
  if (call.plan->launches.empty())
    throw ArgumentError("q", "expected at least one row to measure, got none");
  // The arrays are ready when what is in the caller's stream is done.
  synchronizeDevice(place.ordinal);
  std::vector<MeasuredWay> ways =
      measureWays(problem, options, [&](const Plan &way) {
        return TimedCall(arguments, way, place.ordinal).microseconds();
      });
  keepTimes(path, {problem.card, problem.target, call.plan->numSMs}, problem,
            ways);
  return ways;
}

} // namespace mlatile
