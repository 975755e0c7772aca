// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA devices through the driver that is opened at run time. Nothing here
// needs CUDA to build or to load.
#ifndef MLATILE_RUNTIME_CUDADEVICE_H
#define MLATILE_RUNTIME_CUDADEVICE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mlatile {

struct DeviceInfo {
  std::string name;
  std::string target; ///< "sm_90a"; empty where no target of ours fits
  int64_t sms = 0;
  int64_t memoryBytes = 0;
  int64_t l2Bytes = 0;
  int driverVersion = 0; ///< 1000 * major + 10 * minor of CUDA
};

/// The device of that ordinal; nothing where there is no driver or device.
std::optional<DeviceInfo> cudaDevice(int ordinal = 0);
/// Why cudaDevice() found nothing; empty where it did.
std::string whyNoCudaDevice(int ordinal = 0);

/// Device memory, freed with the object. Throws LaunchError.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(size_t bytes, int ordinal = 0);
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  void *data() const { return pointer; }
  size_t size() const { return bytes; }
  /// Return when the copy is done; download() waits for no stream but the
  /// legacy default stream.
  void upload(const void *host, size_t count, size_t offset = 0);
  void fill(uint8_t byte);
  void download(void *host, size_t count, size_t offset = 0) const;

private:
  void swap(DeviceBuffer &other) noexcept;
  void *pointer = nullptr;
  size_t bytes = 0;
  int ordinal = 0;
};

/// Waits until the device has done all its work. Throws LaunchError.
void synchronizeDevice(int ordinal = 0);

} // namespace mlatile
#endif
