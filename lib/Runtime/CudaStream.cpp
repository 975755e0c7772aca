// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/CudaStream.h"

#include "CudaDriver.h"
#include "mlatile/Runtime/Error.h"

namespace mlatile {
using namespace cuda;

namespace {
/// For destructors: the context may be gone, and what is in it with it.
template <typename F>
void destroyIn(int ordinal, F &&destroy) {
  try {
    ContextScope scope(ordinal);
    destroy(driver());
  } catch (const Error &) {
    return;
  }
}
} // namespace

bool isCapturing(void *stream) {
  const Driver *d = findDriver();
  int status = kCaptureStatusNone;
  CUcontext current = nullptr;
  // The default streams of a thread without a context have done nothing yet;
  // the driver counts the question as an error.
  if (!d || d->cuCtxGetCurrent(&current) || (!current && !stream))
    return false;
  CUresult failed =
      d->cuStreamIsCapturing(static_cast<CUstream>(stream), &status);
  if (failed == kCaptureImplicit)
    throw ArgumentError("stream", "expected the stream that is being captured, "
                                  "got the legacy default stream, which "
                                  "nothing may use during a capture");
  // No context yet or no such stream: the launch will say so.
  return !failed && status != kCaptureStatusNone;
}

void waitForStream(void *stream, void *other, int ordinal) {
  ContextScope scope(ordinal);
  const Driver &d = driver();
  CUevent event = nullptr;
  d.check(d.cuEventCreate(&event, kEventDisableTiming), "cuEventCreate");
  CUresult failed = d.cuEventRecord(event, static_cast<CUstream>(other));
  if (!failed)
    failed = d.cuStreamWaitEvent(static_cast<CUstream>(stream), event, 0);
  // Freed by the driver once the wait is over.
  d.cuEventDestroy_v2(event);
  d.check(failed, "waiting for another stream");
}

int deviceOfAddress(const void *address) {
  const Driver *d = findDriver();
  auto pointer = reinterpret_cast<CUdeviceptr>(address);
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  if (!d || d->cuPointerGetAttribute(&type, kPointerMemoryType, pointer) ||
      d->cuPointerGetAttribute(&managed, kPointerIsManaged, pointer) ||
      d->cuPointerGetAttribute(&ordinal, kPointerDeviceOrdinal, pointer))
    return -1;
  return type == kMemoryTypeDevice || managed ? ordinal : -1;
}

DeviceStream::DeviceStream(int ordinal) : ordinal(ordinal) {
  ContextScope scope(ordinal);
  CUstream made = nullptr;
  driver().check(driver().cuStreamCreate(&made, kStreamNonBlocking),
                 "cuStreamCreate");
  stream = made;
}

DeviceStream::~DeviceStream() {
  destroyIn(ordinal, [&](const Driver &d) {
    d.cuStreamDestroy_v2(static_cast<CUstream>(stream));
  });
}

void DeviceStream::synchronize() {
  ContextScope scope(ordinal);
  driver().check(driver().cuStreamSynchronize(static_cast<CUstream>(stream)),
                 "cuStreamSynchronize");
}

DeviceEvent::DeviceEvent(void *stream, int ordinal, bool timed)
    : ordinal(ordinal) {
  ContextScope scope(ordinal);
  const Driver &d = driver();
  CUevent made = nullptr;
  d.check(d.cuEventCreate(&made, timed ? 0 : kEventDisableTiming),
          "cuEventCreate");
  event = made;
  if (CUresult failed = d.cuEventRecord(made, static_cast<CUstream>(stream))) {
    d.cuEventDestroy_v2(made);
    d.check(failed, "cuEventRecord");
  }
}

DeviceEvent::~DeviceEvent() {
  destroyIn(ordinal, [&](const Driver &d) {
    d.cuEventDestroy_v2(static_cast<CUevent>(event));
  });
}

bool DeviceEvent::done() const {
  ContextScope scope(ordinal);
  CUresult result = driver().cuEventQuery(static_cast<CUevent>(event));
  if (result == kNotReady)
    return false;
  driver().check(result, "cuEventQuery");
  return true;
}

double DeviceEvent::microsecondsSince(const DeviceEvent &earlier) const {
  ContextScope scope(ordinal);
  float milliseconds = 0;
  driver().check(driver().cuEventElapsedTime(
                     &milliseconds, static_cast<CUevent>(earlier.event),
                     static_cast<CUevent>(event)),
                 "cuEventElapsedTime");
  return 1e3 * static_cast<double>(milliseconds);
}

DeviceGraph::DeviceGraph(DeviceStream &stream,
                         const std::function<void()> &work)
    : ordinal(stream.device()) {
  ContextScope scope(ordinal);
  const Driver &d = driver();
  auto *handle = static_cast<CUstream>(stream.handle());
  d.check(d.cuStreamBeginCapture_v2(handle, kCaptureModeThreadLocal),
          "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    work();
  } catch (...) {
    if (!d.cuStreamEndCapture(handle, &graph) && graph)
      d.cuGraphDestroy(graph);
    throw;
  }
  d.check(d.cuStreamEndCapture(handle, &graph), "cuStreamEndCapture");
  CUgraphExec made = nullptr;
  CUresult failed = d.cuGraphInstantiateWithFlags(&made, graph, 0);
  d.cuGraphDestroy(graph);
  d.check(failed, "cuGraphInstantiate");
  executable = made;
}

DeviceGraph::~DeviceGraph() {
  destroyIn(ordinal, [&](const Driver &d) {
    d.cuGraphExecDestroy(static_cast<CUgraphExec>(executable));
  });
}

void DeviceGraph::replay(DeviceStream &stream) {
  ContextScope scope(ordinal);
  driver().check(driver().cuGraphLaunch(static_cast<CUgraphExec>(executable),
                                        static_cast<CUstream>(stream.handle())),
                 "cuGraphLaunch");
}

} // namespace mlatile
