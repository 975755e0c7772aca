// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls on a device, streams and graphs, with the driver of FakeDriver.cpp and
// two devices in the place of a card.
#include "Fixtures.h"
#include "Graph.h"
#include "Soak.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace mlatile;
using namespace mlatile::run;

namespace {
int count(const char *what) {
  static auto function = reinterpret_cast<int (*)(const char *)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_driver_count"));
  return function(what);
}

JobOptions smallJob(int64_t splits) {
  JobOptions job;
  job.input.tokens = 4;
  job.input.heads = 17;
  job.input.width = 70;
  job.input.pageSize = 5;
  job.input.lengths = job.input.sink = true;
  job.splits = splits;
  job.cuda = true;
  return job;
}

JobObserver silent() {
  auto nothing = [](const JobResult &) {};
  return {nothing, nothing, nothing};
}

TEST(Cuda, JobsAreRightAndReplayed) {
  for (int64_t splits : {1, 3})
    for (bool strided : {false, true}) {
      JobOptions job = smallJob(splits);
      job.replays = 3;
      if (strided) {
        job.input.batch = 2;
        job.input.slice = 5;
        job.input.indicesStride = 99;
        job.input.pageStride = 4096;
        job.ordinal = 1;
        job.lse = "e";
      }
      JobResult result = runJob(job, silent());
      EXPECT_TRUE(result.comparison.ok)
          << result.comparison.error << result.comparison.unwritten;
      EXPECT_EQ(result.replays, 3);
    }
}

TEST(Cuda, ReplaysThatDifferAreSeen) {
  JobOptions job = smallJob(3);
  job.input.candidateSets = 2;
  PlacedCall placed(job);
  placed.placeResults();
  DeviceStream stream;
  LaunchOptions options;
  options.stream = stream.handle();
  launch(placed.call, options);
  stream.synchronize();
  Results first = placed.fetch();
  placed.useCandidates(1);
  launch(placed.call, options);
  stream.synchronize();
  EXPECT_FALSE(placed.fetch() == first);
  placed.useCandidates(0);
  launch(placed.call, options);
  stream.synchronize();
  EXPECT_TRUE(placed.fetch() == first);
}

TEST(Cuda, NothingIsAllocatedLoadedOrCompiledInACapture) {
  JobOptions job = smallJob(2);
  job.merge = "dependent";
  PlacedCall placed(job);
  placed.placeResults();
  preload(*placed.call.plan);
  DeviceStream stream;
  LaunchOptions options;
  options.stream = stream.handle();
  int loads = count("load"), allocations = count("allocate");
  int waits = count("synchronize"), launches = count("launch");
  DeviceGraph graph(stream, [&] { launch(placed.call, options); });
  EXPECT_EQ(count("launch"), launches + 2);
  EXPECT_EQ(count("load"), loads);
  EXPECT_EQ(count("allocate"), allocations);
  EXPECT_EQ(count("synchronize"), waits);
}

TEST(Cuda, OnlyTheMergeIsADependentLaunch) {
  for (std::string merge : {"launch", "dependent", "slices", "cluster"}) {
    JobOptions job = smallJob(3);
    job.merge = merge;
    job.replays = 2;
    std::map<std::string, int> before;
    const char *const kinds[] = {"dependent merge", "dependent decode",
                                 "cooperative merge", "cooperative decode"};
    for (const char *kind : kinds)
      before[kind] = count(kind);
    JobResult result = runJob(job, silent());
    EXPECT_TRUE(result.comparison.ok) << merge;
    EXPECT_EQ(result.replays, 2);
    auto made = [&](const char *kind) { return count(kind) - before[kind]; };
    EXPECT_EQ(made("dependent merge") > 0, merge == "dependent");
    EXPECT_EQ(made("dependent decode"), 0);
    EXPECT_EQ(made("cooperative merge"), 0);
    EXPECT_EQ(made("cooperative decode") > 0, merge == "slices");
  }
}

TEST(Cuda, CountersServePlansOfAnySplits) {
  for (std::optional<int64_t> splits : {3, 2, 5, 3}) {
    JobOptions job = smallJob(*splits);
    job.merge = "slices";
    job.cooperative = false;
    int cooperative = count("cooperative decode");
    JobResult result = runJob(job, silent());
    EXPECT_TRUE(result.comparison.ok);
    EXPECT_EQ(count("cooperative decode"), cooperative);
  }
}

TEST(Cuda, GridsThatTheDeviceCannotRunAtOnceAreRefused) {
  JobOptions job = smallJob(3);
  job.merge = "slices";
  job.input.sink = false; // a kernel that no other test uses
  job.lse = "none";
  PlacedCall placed(job);
  placed.placeResults();
  setenv("FAKE_OCCUPANCY", "0", 1);
  std::string text = errorOf<LaunchError>([&] { launch(placed.call); });
  unsetenv("FAKE_OCCUPANCY");
  EXPECT_HAS(text, "its CTAs wait for each other, and of 24 the device runs 0 "
                   "at the same time");
}

/// The arrays of SmallArrays on a device.
struct DeviceArrays {
  SmallArrays host;
  std::vector<DeviceBuffer> buffers;

  template <typename T>
  void place(Tensor &tensor, const std::vector<T> &values) {
    buffers.emplace_back(values.size() * sizeof(T));
    buffers.back().upload(values.data(), values.size() * sizeof(T));
    tensor.data = buffers.back().data();
    tensor.place = {true, 0};
  }
  Arguments arguments() {
    Arguments a = host.arguments();
    place(a.q, host.q);
    place(a.kvCache, host.pool);
    place(a.indices, host.indices);
    return a;
  }
};

/// Each kernel takes 10 us here, and a merge is one more.
TEST(Cuda, RefinementMeasuresOnTheDevice) {
  DeviceArrays arrays;
  Arguments arguments = arrays.arguments();
  std::string path = testing::TempDir() + "cuda-refinement.json";
  std::filesystem::remove(path);
  DeviceStream stream;
  {
    DeviceGraph graph(stream, [&] {
      std::string text = errorOf<ArgumentError>(
          [&] { refine(arguments, path, {}, stream.handle()); });
      EXPECT_EQ(text, "argument `stream`: expected one that is not being "
                      "captured, since nothing may be measured in a capture");
    });
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  // So many that some of one launch are among them.
  std::vector<MeasuredWay> ways = refine(arguments, path, {3, 16});
  ASSERT_EQ(ways.size(), 16u);
  for (const MeasuredWay &way : ways) {
    EXPECT_EQ(way.error, "");
    bool two =
        way.candidate.merge == "launch" || way.candidate.merge == "dependent";
    EXPECT_NEAR(way.candidate.measured.value_or(0), two ? 20 : 10, 0.5);
  }
  useRefinement(path);
  std::shared_ptr<const Plan> planned = prepare(arguments).plan;
  EXPECT_EQ(planned->measuredMicroseconds, ways.front().candidate.measured);
  // Of those in one launch, or in two.
  EXPECT_EQ(planned->launches.size(),
            ways.front().candidate.measured.value_or(0) < 15 ? 1u : 2u);
  EXPECT_EQ(planned->problem.card, "fake card");
  EXPECT_HAS(planned->explain(), "times of `fake card` (sm_120a, 188 SMs), of "
                                 "16 of ");
  useRefinement("");
  // A way that fails stands among the others: of kernels that are not loaded
  // yet.
  arguments.params["BULK"] = "true";
  setenv("FAKE_OCCUPANCY", "0", 1);
  ways = refine(arguments, path, {3, 16});
  unsetenv("FAKE_OCCUPANCY");
  for (const MeasuredWay &way : ways)
    EXPECT_EQ(way.candidate.merge == "slices", !way.error.empty()) << way.error;
  std::filesystem::remove(path);
}

TEST(Cuda, CapturesThatWouldAllocateAreRefused) {
  JobOptions job = smallJob(2);
  PlacedCall placed(job);
  placed.placeResults();
  preload(*placed.call.plan);
  Call without = placed.call;
  without.workspace = nullptr;
  DeviceStream stream;
  LaunchOptions options;
  options.stream = stream.handle();
  auto capture = [&](const Call &call) {
    DeviceGraph graph(stream, [&] { launch(call, options); });
  };
  std::string text = errorOf<ArgumentError>([&] { capture(without); });
  EXPECT_HAS(text, "argument `workspace`: expected an array of " +
                       std::to_string(without.plan->workspaceBytes) + " bytes");
  EXPECT_HAS(text, "captured");
  EXPECT_FALSE(isCapturing(stream.handle()));
  capture(placed.call); // the stream is none the worse
  launch(without, options);
}

TEST(Cuda, CapturesThatWouldLoadAreRefused) {
  JobOptions job = smallJob(1);
  job.input.sink = false; // a kernel that no other test uses
  job.lse = "none";
  PlacedCall placed(job);
  placed.placeResults();
  DeviceStream stream;
  LaunchOptions options;
  options.stream = stream.handle();
  int loads = count("load");
  // Compiled is not enough.
  getKernel(placed.call.plan->launches[0].kernel, Need::Device);
  std::string text = errorOf<UnsupportedError>([&] {
    DeviceGraph graph(stream, [&] { launch(placed.call, options); });
  });
  EXPECT_HAS(text, "is not loaded on CUDA device 0");
  EXPECT_HAS(text, "preload");
  EXPECT_EQ(count("load"), loads);
  launch(placed.call, options);
  EXPECT_EQ(count("load"), loads + 1);
  DeviceGraph graph(stream, [&] { launch(placed.call, options); });
}

TEST(Cuda, TheLegacyStreamDuringACapture) {
  DeviceStream stream;
  EXPECT_FALSE(isCapturing(stream.handle()));
  std::string text;
  DeviceGraph graph(stream, [&] {
    EXPECT_TRUE(isCapturing(stream.handle()));
    text = errorOf<ArgumentError>([] { isCapturing(nullptr); });
  });
  EXPECT_HAS(text, "argument `stream`: expected the stream that is being "
                   "captured");
}

TEST(Cuda, PreloadNeedsThePlansTarget) {
  Problem problem = smallProblem();
  problem.target = "sm_90a";
  std::string text = errorOf<ArgumentError>([&] { preload(*plan(problem)); });
  EXPECT_HAS(text, "argument `plan`: expected target sm_120a (fake card), got "
                   "sm_90a");
  EXPECT_HAS(errorOf<UnsupportedError>([&] { preload(*plan(problem), 7); }),
             "expected a device of 0 to 1, got 7");
}

TEST(Cuda, StreamsWaitForEachOther) {
  JobOptions job = smallJob(1);
  PlacedCall placed(job);
  placed.placeResults();
  DeviceStream first, second;
  LaunchOptions options;
  options.stream = first.handle();
  launch(placed.call, options);
  Results before = placed.fetch();
  second.synchronize();
  EXPECT_TRUE(placed.fetch() == before); // streams are late, and independent
  waitForStream(second.handle(), first.handle(), 0);
  second.synchronize();
  EXPECT_FALSE(placed.fetch() == before);
}

TEST(Cuda, DevicesKeepApart) {
  JobOptions job = smallJob(1);
  job.ordinal = 1;
  PlacedCall placed(job);
  placed.placeResults();
  DeviceStream own(1), other(0);
  LaunchOptions options;
  options.stream = other.handle();
  EXPECT_HAS(errorOf<LaunchError>([&] { launch(placed.call, options); }),
             "cuLaunchKernel");
  options.stream = own.handle();
  void *first = nullptr, *current = nullptr;
  auto driver = [](const char *name) {
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
  };
  reinterpret_cast<int (*)(void **, int)>(driver("cuDevicePrimaryCtxRetain"))(
      &first, 0);
  reinterpret_cast<int (*)(void *)>(driver("cuCtxSetCurrent"))(first);
  launch(placed.call, options);
  own.synchronize();
  reinterpret_cast<int (*)(void **)>(driver("cuCtxGetCurrent"))(&current);
  EXPECT_EQ(current, first); // the caller's stays
  EXPECT_EQ(deviceOfAddress(placed.call.q.data), 1);
  int local = 0;
  EXPECT_EQ(deviceOfAddress(&local), -1);

  SmallArrays arrays;
  Arguments a = arrays.arguments();
  a.q.place = {true, 1};
  a.kvCache.place = {true, 1};
  a.indices.place = {true, 0};
  EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }),
             "`indices`: expected an array on CUDA device 1, where q is, got "
             "one on CUDA device 0");
  a.indices.place = {};
  EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }),
             "`indices`: expected an array on CUDA device 1, where q is, got "
             "one on the host");
}

std::vector<Problem> soakProblems() {
  std::vector<Problem> problems(4, smallProblem());
  for (Problem &problem : problems) {
    problem.numHeads = 2;
    problem.merge = "dependent";
  }
  problems[1].numSplits = 1;
  problems[1].hasSink = true;
  problems[1].lse = LseKind::BaseE;
  problems[2].hasLengths = true;
  problems[2].lse = LseKind::Base2;
  problems[3].numTokens = 100000; // too large for a soak
  return problems;
}

TEST(Soak, CountsAndCompares) {
  SoakOptions options;
  options.problems = soakProblems();
  options.calls = 50;
  SoakResult result = soak(options);
  EXPECT_TRUE(result.wrong.empty());
  EXPECT_EQ(result.calls, 50);
  EXPECT_GT(result.kernels, 50); // two of three problems are split
  EXPECT_EQ(result.problems, 3);
  EXPECT_EQ(result.leftOut, 1);
}

TEST(SoakDeathTest, AHangNamesTheKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FAKE_HANG", "merge", 1);
        SoakOptions options;
        options.problems = soakProblems();
        options.calls = 50;
        options.seconds = 0.05;
        try {
          soak(options);
        } catch (const Hang &hang) {
          std::fputs(hang.what(), stderr);
          std::_Exit(3);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(3),
      "kernel decode-merge-.* did not end within 50 ms, in call 0, 3 rows x 2");
}
} // namespace
