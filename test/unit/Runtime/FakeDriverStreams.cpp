// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and graphs of the driver of FakeDriver.cpp.
#include "FakeDriver.h"

#include <memory>

using namespace fake;

namespace {
Stream *captureInProgress() {
  for (auto &stream : driver().streams)
    if (stream->capturing)
      return stream.get();
  return nullptr;
}
} // namespace

int fake::forbiddenInCapture(const char *what) {
  ++driver().counts[what];
  if (!current)
    return kNoContext;
  Stream *stream = captureInProgress();
  if (!stream)
    return kSuccess;
  stream->spoilt = true;
  return kCaptureUnsupported;
}

Stream *fake::streamOf(void *handle, int &failed) {
  failed = kSuccess;
  auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > kPerThread) {
    for (auto &stream : driver().streams)
      if (stream.get() == handle)
        return stream.get();
    failed = kInvalidHandle;
    return nullptr;
  }
  if (!current)
    failed = kNoContext;
  else if (captureInProgress())
    failed = kCaptureImplicit;
  if (failed)
    return nullptr;
  Stream &legacy = driver().legacy[current->ordinal];
  legacy.ordinal = current->ordinal;
  return &legacy;
}

int fake::put(void *handle, Work work) {
  int failed;
  Stream *stream = streamOf(handle, failed);
  if (!stream)
    return failed;
  if (!current || (stream->capturing && stream->spoilt))
    return current ? kCaptureInvalidated : kNoContext;
  if (stream->ordinal != current->ordinal)
    return kInvalidHandle;
  (stream->capturing ? stream->captured : stream->queue)
      .push_back(std::move(work));
  return kSuccess;
}

int fake::drain(Stream &stream, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Work work = std::move(stream.queue[i]);
    stream.queue[i] = nullptr;
    if (work)
      if (int failed = work())
        return failed;
  }
  return kSuccess;
}
int fake::drain(Stream &stream) { return drain(stream, stream.queue.size()); }

EXPORT int cuStreamCreate(void **stream, unsigned) {
  LOCK;
  if (!current)
    return kNoContext;
  driver().streams.push_back(std::make_unique<Stream>());
  driver().streams.back()->ordinal = current->ordinal;
  *stream = driver().streams.back().get();
  return kSuccess;
}
EXPORT int cuStreamDestroy_v2(void *) { return kSuccess; }
EXPORT int cuStreamSynchronize(void *handle) {
  LOCK;
  if (int failed = forbiddenInCapture("synchronize"))
    return failed;
  int failed;
  Stream *stream = streamOf(handle, failed);
  return stream ? drain(*stream) : failed;
}
EXPORT int cuStreamIsCapturing(void *handle, int *status) {
  LOCK;
  int failed;
  Stream *stream = streamOf(handle, failed);
  *status = stream && stream->capturing ? 1 : 0;
  return failed;
}
EXPORT int cuStreamBeginCapture_v2(void *handle, int) {
  LOCK;
  int failed;
  Stream *stream = streamOf(handle, failed);
  if (!stream)
    return failed;
  stream->capturing = true;
  stream->spoilt = false;
  stream->captured.clear();
  return kSuccess;
}

struct Graph {
  std::vector<Work> work;
};
EXPORT int cuStreamEndCapture(void *handle, Graph **graph) {
  LOCK;
  int failed;
  Stream *stream = streamOf(handle, failed);
  if (!stream)
    return failed;
  stream->capturing = false;
  *graph = stream->spoilt ? nullptr : new Graph{stream->captured};
  return stream->spoilt ? kCaptureInvalidated : kSuccess;
}
EXPORT int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph,
                                       unsigned long long) {
  *executable = new Graph(*graph);
  return kSuccess;
}
EXPORT int cuGraphLaunch(Graph *executable, void *stream) {
  LOCK;
  for (const Work &work : executable->work)
    if (int failed = put(stream, work))
      return failed;
  return kSuccess;
}
EXPORT int cuGraphExecDestroy(Graph *executable) {
  delete executable;
  return kSuccess;
}
EXPORT int cuGraphDestroy(Graph *graph) {
  delete graph;
  return kSuccess;
}

EXPORT int cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return kSuccess;
}
EXPORT int cuEventRecord(Event *event, void *handle) {
  LOCK;
  int failed;
  event->stream = streamOf(handle, failed);
  if (!event->stream)
    return failed;
  event->position = event->stream->queue.size();
  event->hangs = driver().hangs;
  return kSuccess;
}
EXPORT int cuStreamWaitEvent(void *handle, Event *event, unsigned) {
  LOCK;
  ++driver().counts["wait"];
  return put(handle, [stream = event->stream, position = event->position] {
    return drain(*stream, position);
  });
}
EXPORT int cuEventQuery(Event *event) {
  LOCK;
  if (event->hangs)
    return kNotReady;
  return event->stream ? drain(*event->stream, event->position) : kSuccess;
}
/// Ten microseconds for each entry of the queue between two events.
EXPORT int cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
  LOCK;
  if (start->stream != end->stream || end->position < start->position)
    return kInvalidHandle;
  *milliseconds = 0.01f * static_cast<float>(end->position - start->position);
  return kSuccess;
}
EXPORT int cuEventDestroy_v2(Event *event) {
  delete event;
  return kSuccess;
}
