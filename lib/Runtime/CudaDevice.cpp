// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/CudaDevice.h"

#include "CudaDriver.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Target.h"

#include <utility>

namespace mlatile {
using namespace cuda;

namespace {
/// "" on success, else why there is no such device.
std::string queryDevice(int ordinal, DeviceInfo &info) {
  std::string why;
  const Driver *d = findDriver(&why);
  if (!d)
    return "there is no CUDA driver: " + why;
  int count = 0;
  d->cuDeviceGetCount(&count);
  if (ordinal < 0 || ordinal >= count)
    return "expected a device of 0 to " + std::to_string(count - 1) + ", got " +
           std::to_string(ordinal);
  CUdevice device = 0;
  char name[256] = "";
  int sms = 0, l2 = 0, major = 0, minor = 0;
  size_t memory = 0;
  if (d->cuDeviceGet(&device, ordinal) ||
      d->cuDeviceGetName(name, sizeof name, device) ||
      d->cuDeviceGetAttribute(&sms, kMultiprocessorCount, device) ||
      d->cuDeviceGetAttribute(&l2, kL2CacheSize, device) ||
      d->cuDeviceGetAttribute(&major, kComputeCapabilityMajor, device) ||
      d->cuDeviceGetAttribute(&minor, kComputeCapabilityMinor, device) ||
      d->cuDeviceTotalMem_v2(&memory, device) ||
      d->cuDriverGetVersion(&info.driverVersion))
    return "the CUDA driver does not describe device " +
           std::to_string(ordinal);
  info.name = name;
  info.sms = sms;
  info.memoryBytes = static_cast<int64_t>(memory);
  info.l2Bytes = l2;
  for (const Target &target : targets())
    if (target.major == major && target.minor == minor)
      info.target = target.name;
  return "";
}
} // namespace

std::optional<DeviceInfo> cudaDevice(int ordinal) {
  DeviceInfo info;
  if (queryDevice(ordinal, info).empty())
    return info;
  return std::nullopt;
}

std::string whyNoCudaDevice(int ordinal) {
  DeviceInfo info;
  return queryDevice(ordinal, info);
}

DeviceBuffer::DeviceBuffer(size_t bytes, int ordinal)
    : bytes(bytes), ordinal(ordinal) {
  if (bytes == 0)
    return;
  ContextScope scope(ordinal);
  CUdeviceptr address = 0;
  driver().check(driver().cuMemAlloc_v2(&address, bytes),
                 "cuMemAlloc of " + std::to_string(bytes) + " bytes");
  pointer = reinterpret_cast<void *>(address);
}

DeviceBuffer::~DeviceBuffer() {
  if (!pointer)
    return;
  try {
    ContextScope scope(ordinal);
    driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(pointer));
  } catch (const Error &) {
    // The context is gone, and the memory with it.
  }
}

void DeviceBuffer::swap(DeviceBuffer &other) noexcept {
  std::swap(pointer, other.pointer);
  std::swap(bytes, other.bytes);
  std::swap(ordinal, other.ordinal);
}

void DeviceBuffer::upload(const void *host, size_t count, size_t offset) {
  if (offset > bytes || count > bytes - offset)
    throw LaunchError("upload past the end of a device buffer");
  if (count == 0)
    return;
  ContextScope scope(ordinal);
  driver().check(
      driver().cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(pointer) + offset,
                               host, count),
      "cuMemcpyHtoD");
  // It may have returned when the bytes had left the host.
  driver().check(driver().cuStreamSynchronize(nullptr), "cuMemcpyHtoD");
}

void DeviceBuffer::fill(uint8_t byte) {
  if (bytes == 0)
    return;
  ContextScope scope(ordinal);
  driver().check(driver().cuMemsetD8_v2(reinterpret_cast<CUdeviceptr>(pointer),
                                        byte, bytes),
                 "cuMemsetD8");
  driver().check(driver().cuStreamSynchronize(nullptr), "cuMemsetD8");
}

void DeviceBuffer::download(void *host, size_t count, size_t offset) const {
  if (offset > bytes || count > bytes - offset)
    throw LaunchError("download past the end of a device buffer");
  if (count == 0)
    return;
  ContextScope scope(ordinal);
  driver().check(
      driver().cuMemcpyDtoH_v2(
          host, reinterpret_cast<CUdeviceptr>(pointer) + offset, count),
      "cuMemcpyDtoH");
}

void synchronizeDevice(int ordinal) {
  ContextScope scope(ordinal);
  driver().check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

} // namespace mlatile
