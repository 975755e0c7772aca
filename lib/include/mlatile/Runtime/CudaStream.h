// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and graphs of CUDA devices through the driver that is opened
// at run time. Handles are those of the CUDA driver API (CUstream as void *).
#ifndef MLATILE_RUNTIME_CUDASTREAM_H
#define MLATILE_RUNTIME_CUDASTREAM_H

#include <functional>

namespace mlatile {

/// Whether a graph is being captured from the stream. ArgumentError for the
/// legacy default stream while another stream is captured, since nothing may
/// use it then. False where there is no driver.
bool isCapturing(void *stream);

/// Work put into `stream` from now on starts after what is in `other` now.
/// Throws LaunchError.
void waitForStream(void *stream, void *other, int ordinal);

/// The device that an address belongs to; -1 where it is no device memory.
int deviceOfAddress(const void *address);

/// A stream that does not wait for the legacy default stream.
class DeviceStream {
public:
  explicit DeviceStream(int ordinal = 0);
  ~DeviceStream();
  DeviceStream(const DeviceStream &) = delete;
  DeviceStream &operator=(const DeviceStream &) = delete;

  void *handle() const { return stream; }
  int device() const { return ordinal; }
  /// Waits for all that was put into it. Throws LaunchError.
  void synchronize();

private:
  void *stream = nullptr;
  int ordinal = 0;
};

/// A point in a stream.
class DeviceEvent {
public:
  /// Recorded in the stream now.
  DeviceEvent(void *stream, int ordinal, bool timed = false);
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent &) = delete;
  DeviceEvent &operator=(const DeviceEvent &) = delete;

  /// Whether the stream has come past it. Throws LaunchError if work failed.
  bool done() const;
  /// From an earlier one to this, both timed and done. Throws LaunchError.
  double microsecondsSince(const DeviceEvent &earlier) const;

private:
  void *event = nullptr;
  int ordinal = 0;
};

/// Launches captured once, to be replayed.
class DeviceGraph {
public:
  /// Captures what `work` puts into the stream, which is not run. What `work`
  /// throws ends the capture and is thrown on.
  DeviceGraph(DeviceStream &stream, const std::function<void()> &work);
  ~DeviceGraph();
  DeviceGraph(const DeviceGraph &) = delete;
  DeviceGraph &operator=(const DeviceGraph &) = delete;

  void replay(DeviceStream &stream);

private:
  void *executable = nullptr;
  int ordinal = 0;
};

} // namespace mlatile
#endif
