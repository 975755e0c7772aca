// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Soak.h"

#include "PlacedCall.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <mutex>
#include <numbers>
#include <random>
#include <thread>

namespace mlatile::run {
namespace {
using Clock = std::chrono::steady_clock;
constexpr size_t kStreams = 2;
constexpr size_t kMostInFlight = 256;

/// Small enough to have its inputs made, and its results compared, in no time.
bool isSmall(const Problem &p) {
  auto bounded = [](int64_t width) {
    return std::min<int64_t>(width, 1 << 20);
  };
  int64_t entries =
      p.numTokens * (bounded(p.width) + bounded(p.extraWidth.value_or(0)));
  return p.numTokens <= 4096 && entries <= 1 << 17 &&
         entries * p.numHeads <= 1 << 22;
}

JobOptions jobOf(const Problem &p, const SoakOptions &options) {
  JobOptions job;
  job.input.format = p.kvFormat;
  job.input.tokens = p.numTokens;
  job.input.heads = p.numHeads;
  job.input.width = p.width;
  job.input.pageSize = p.pageSize;
  job.input.pageStride = p.pageStride;
  job.input.rowStride = p.rowStride;
  job.input.extraWidth = p.extraWidth.value_or(0);
  job.input.extraFormat = p.extraKvFormat.value_or(p.kvFormat);
  job.input.extraPageSize = p.extraPageSize.value_or(p.pageSize);
  job.input.lengths = p.hasLengths;
  job.input.sink = p.hasSink;
  job.input.seed = options.seed;
  job.lse = p.lse == LseKind::None    ? "none"
            : p.lse == LseKind::Base2 ? "2"
                                      : "e";
  job.compute = p.compute;
  job.kernel = p.kernel;
  job.splits = p.numSplits;
  job.merge = p.merge;
  job.params = p.params;
  job.cuda = true;
  job.ordinal = options.ordinal;
  return job;
}

/// One problem with its arrays, and its results after its first call.
struct Member {
  JobOptions job;
  std::unique_ptr<PlacedCall> placed;
  Results first;
  std::string text;
  bool soaked = false; ///< called after its first results were cleared
};

/// Kernels in flight, oldest first.
class Watchdog {
public:
  Watchdog(double seconds, int ordinal) : limit(seconds), ordinal(ordinal) {}

  void launched(const Kernel &kernel, void *stream, const std::string &call) {
    flying.push_back({std::make_unique<DeviceEvent>(stream, ordinal),
                      kernel.spec.name(), call});
    while (flying.size() > kMostInFlight)
      await();
  }
  void awaitAll() {
    while (!flying.empty())
      await();
  }

private:
  struct Entry {
    std::unique_ptr<DeviceEvent> event;
    std::string kernel, call;
  };

  void await() {
    Clock::time_point start = Clock::now();
    while (!isDone(flying.front())) {
      if (std::chrono::duration<double>(Clock::now() - start).count() > limit)
        throw Hang("kernel " + flying.front().kernel + " did not end within " +
                   std::to_string(std::lround(limit * 1000)) + " ms, in " +
                   flying.front().call);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    flying.pop_front();
  }

  static bool isDone(const Entry &entry) {
    try {
      return entry.event->done();
    } catch (const LaunchError &error) {
      throw LaunchError("kernel " + entry.kernel + " failed, in " + entry.call +
                        ": " + error.what());
    }
  }

  double limit;
  int ordinal;
  std::deque<Entry> flying;
};

/// Inputs take the most time: made side by side.
std::vector<Member> makeMembers(const SoakOptions &options, size_t &leftOut) {
  std::vector<Member> members;
  for (const Problem &problem : options.problems)
    if (isSmall(problem))
      members.push_back({jobOf(problem, options), nullptr, {}, "", false});
  leftOut = options.problems.size() - members.size();
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failed;
  auto work = [&] {
    try {
      for (size_t i; (i = next++) < members.size();) {
        members[i].placed = std::make_unique<PlacedCall>(members[i].job);
        members[i].placed->placeResults();
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency());
       ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  if (failed)
    std::rethrow_exception(failed);
  return members;
}

std::string textOf(const Problem &p) {
  return std::to_string(p.numTokens) + " rows x " + std::to_string(p.numHeads) +
         " heads x " + std::to_string(p.width) + " candidates of `" +
         p.kvFormat + "`" +
         (p.extraWidth ? " and " + std::to_string(*p.extraWidth) + " of `" +
                             p.extraKvFormat.value_or(p.kvFormat) + "`"
                       : "");
}
} // namespace

SoakResult soak(const SoakOptions &options) {
  SoakResult result;
  size_t leftOut = 0;
  std::vector<Member> members = makeMembers(options, leftOut);
  if (members.empty())
    throw ArgumentError("problems", "expected one that is small enough for a "
                                    "soak, got none");
  result.problems = static_cast<int64_t>(members.size());
  result.leftOut = static_cast<int64_t>(leftOut);

  Watchdog watchdog(options.seconds, options.ordinal);
  DeviceStream streams[kStreams] = {DeviceStream(options.ordinal),
                                    DeviceStream(options.ordinal)};
  auto call = [&](size_t index) {
    Member &member = members[index];
    LaunchOptions launchOptions;
    // Calls of one problem share its arrays, and so a stream.
    launchOptions.stream = streams[index % kStreams].handle();
    std::string text =
        "call " + std::to_string(result.calls) + ", " + member.text;
    launchOptions.launched = [&](const Kernel &kernel) {
      ++result.kernels;
      watchdog.launched(kernel, launchOptions.stream, text);
    };
    launch(member.placed->call, launchOptions);
    ++result.calls;
  };

  for (size_t i = 0; i < members.size(); ++i) {
    Member &member = members[i];
    member.text = textOf(member.placed->call.plan->problem);
    preload(*member.placed->call.plan, options.ordinal);
    call(i);
    watchdog.awaitAll();
    member.first = member.placed->fetch();
    Results results = member.first;
    if (member.job.lse == "e")
      for (float &value : results.lse)
        value *= std::numbers::log2e_v<float>;
    Comparison comparison = compareWith(
        member.placed->inputs, computeReference(member.placed->inputs, 16),
        results.out, results.lse, boundsOf(member.placed->call.plan->compute));
    if (!comparison.ok)
      result.wrong.push_back(member.text + " is outside the bounds");
    member.placed->clearResults();
  }

  std::mt19937_64 random(options.seed);
  Clock::time_point start = Clock::now();
  while (result.calls < options.calls) {
    size_t index = random() % members.size();
    call(index);
    members[index].soaked = true;
  }
  watchdog.awaitAll();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();

  for (const Member &member : members)
    if (member.soaked && !(member.placed->fetch() == member.first))
      result.wrong.push_back(member.text + " gave other bits than at first");
  return result;
}

} // namespace mlatile::run
