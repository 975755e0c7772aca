// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Timing.h"

#include "FloorKernels.h"
#include "mlatile/Runtime/KernelLaunch.h"

#include <algorithm>

namespace mlatile::bench {
namespace {
constexpr double kGraphMicroseconds = 4000; ///< that a graph is to take
constexpr double kFlushMicroseconds = 150;  ///< roughly
constexpr int kFewestReplays = 5;
} // namespace

Timing statistics(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  size_t middle = microseconds.size() / 2;
  Timing timing;
  timing.median = microseconds.size() % 2
                      ? microseconds[middle]
                      : (microseconds[middle - 1] + microseconds[middle]) / 2;
  timing.fastest = microseconds.front();
  timing.slowest = microseconds.back();
  timing.replays = static_cast<int>(microseconds.size());
  return timing;
}

Flush::Flush(int64_t bytes, const DeviceInfo &device, int ordinal)
    : ordinal(ordinal) {
  kernel = getKernel(readKernel(device.target), Need::Device);
  constexpr int64_t rowBytes = kReadColumns * 4;
  constexpr int64_t tileBytes = kReadRows * rowBytes;
  programs = std::max<int64_t>(1, 4 * device.sms);
  int64_t tiles = std::max<int64_t>(1, (bytes + programs * tileBytes - 1) /
                                           (programs * tileBytes));
  rowsPerProgram = tiles * kReadRows;
  size = programs * rowsPerProgram * rowBytes;
  data = DeviceBuffer(static_cast<size_t>(size), ordinal);
  data.fill(0);
  sums = DeviceBuffer(static_cast<size_t>(programs * kReadRows * 4), ordinal);
}

void Flush::launch(void *stream) const {
  View rows{data.data(),
            "f32",
            {programs * rowsPerProgram, kReadColumns},
            {kReadColumns}};
  View results{sums.data(), "f32", {programs, kReadRows}, {kReadRows}};
  launchKernel(
      kernel, static_cast<uint32_t>(programs),
      {{"data", rows}, {"sums", results}, {"per_program", rowsPerProgram}},
      ordinal, stream);
}

Stopwatch::Stopwatch(const Protocol &protocol, const DeviceInfo &device,
                     int ordinal)
    : options(protocol), ordinal(ordinal), stream(ordinal) {
  if (!options.warm)
    flush.emplace(std::max(options.flushBytes, 2 * device.l2Bytes), device,
                  ordinal);
}

int Stopwatch::callsFor(const Work &work, double &estimate) {
  work(0, stream.handle()); // loads the kernels
  stream.synchronize();
  DeviceEvent start(stream.handle(), ordinal, /*timed=*/true);
  work(0, stream.handle());
  DeviceEvent end(stream.handle(), ordinal, /*timed=*/true);
  stream.synchronize();
  estimate = std::max(1.0, end.microsecondsSince(start));
  return std::clamp(static_cast<int>(kGraphMicroseconds / estimate), 1,
                    options.calls);
}

Timing Stopwatch::measure(const Work &work, int calls, double estimate) {
  double replayTime =
      calls * estimate + (options.warm ? 0 : kFlushMicroseconds);
  int replays =
      static_cast<int>(std::min(1e6, options.seconds * 1e6 / replayTime));
  replays = std::clamp(replays, std::min(kFewestReplays, options.replays),
                       options.replays);
  DeviceGraph graph(stream, [&] {
    for (int call = 0; call < calls; ++call)
      work(call, stream.handle());
  });
  graph.replay(stream); // uploads it
  stream.synchronize();
  std::vector<double> microseconds;
  for (int i = 0; i < replays; ++i) {
    // Either way the host is ahead when the time begins.
    if (flush)
      flush->launch(stream.handle());
    else
      graph.replay(stream);
    DeviceEvent start(stream.handle(), ordinal, /*timed=*/true);
    graph.replay(stream);
    DeviceEvent end(stream.handle(), ordinal, /*timed=*/true);
    stream.synchronize();
    microseconds.push_back(end.microsecondsSince(start) / calls);
  }
  Timing timing = statistics(std::move(microseconds));
  timing.calls = calls;
  return timing;
}

} // namespace mlatile::bench
