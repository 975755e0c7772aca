// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of the driver that stands in for libcuda.so.1 (FakeDriver.cpp).
#ifndef MLATILE_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define MLATILE_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LOCK std::lock_guard lock(driver().mutex)

namespace fake {
enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoContext = 201,
  kInvalidHandle = 400,
  kNotReady = 600,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureImplicit = 906,
};
constexpr uintptr_t kLegacy = 1, kPerThread = 2;

using Work = std::function<int()>;

struct Context {
  int ordinal = 0;
};

struct Stream {
  int ordinal = 0;
  std::vector<Work> queue;
  bool capturing = false, spoilt = false;
  std::vector<Work> captured;
};

struct Event {
  Stream *stream = nullptr;
  size_t position = 0; ///< length of the stream's queue when it was recorded
  bool hangs = false;
};

struct Range {
  size_t bytes;
  int ordinal;
};

struct Function {
  std::string symbol;
  void *program; ///< of the stand-in compiler's executor
};

struct Module {
  std::string image;
  std::vector<std::unique_ptr<Function>> functions;
};

struct Driver {
  std::recursive_mutex mutex;
  std::map<uintptr_t, Range> memory;
  std::vector<std::unique_ptr<Stream>> streams; ///< never freed, so none is new
  std::map<int, Stream> legacy;
  std::vector<std::unique_ptr<Module>> modules;
  std::map<std::string, int> counts;
  bool hangs = false;
};
Driver &driver();
std::vector<Context> &contexts();
/// Of this thread.
extern thread_local Context *current;

/// For calls that a capture forbids; counts them.
int forbiddenInCapture(const char *what);
/// The stream of a handle; null, and why, where it may not be used.
Stream *streamOf(void *handle, int &failed);
/// Puts work into a stream, or into the graph that is captured from it.
int put(void *handle, Work work);
/// Runs the first `count` entries of a queue; entries stay, as empty ones, so
/// that positions in it keep their meaning.
int drain(Stream &stream, size_t count);
int drain(Stream &stream);

} // namespace fake
#endif
