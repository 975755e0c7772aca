// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CudaDriver.h"
#include "Launchers.h"
#include "mlatile/Runtime/CudaStream.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelLaunch.h"

#include <map>
#include <mutex>

namespace mlatile {
using namespace cuda;

namespace {
struct LoadedFunction {
  CUfunction handle = nullptr;
  /// CTAs that the device runs at the same time; asked for only where they
  /// wait for each other.
  int64_t resident = 0;
};

/// Functions by kernel and device, for the life of the process.
struct Loaded {
  std::mutex mutex;
  std::map<std::pair<std::shared_ptr<const Kernel>, int>, LoadedFunction>
      functions;
};

Loaded &loaded() {
  static Loaded instance;
  return instance;
}

/// With the device's context current.
LoadedFunction load(const Kernel &kernel, int ordinal) {
  const Driver &d = driver();
  std::string what = "kernel " + kernel.spec.name() + ": ";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const std::string &image = kernel.cubin.empty() ? kernel.ptx : kernel.cubin;
  d.check(d.cuModuleLoadData(&module, image.c_str()),
          what + "cuModuleLoadData");
  d.check(d.cuModuleGetFunction(&function, module, kernel.meta.entry.c_str()),
          what + "cuModuleGetFunction " + kernel.meta.entry);
  // Above 48 KiB a kernel must ask for its dynamic shared memory.
  d.check(
      d.cuFuncSetAttribute(function, kMaxDynamicSharedSize,
                           static_cast<int>(kernel.meta.dynamicSharedBytes)),
      what + "cuFuncSetAttribute of " +
          std::to_string(kernel.meta.dynamicSharedBytes) +
          " bytes of shared memory");
  if (!kernel.meta.coresident)
    return {function, 0};
  int blocks = 0, sms = 0;
  CUdevice device = 0;
  d.check(d.cuOccupancyMaxActiveBlocksPerMultiprocessor(
              &blocks, function, static_cast<int>(kernel.meta.threads),
              kernel.meta.dynamicSharedBytes),
          what + "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  d.check(d.cuDeviceGet(&device, ordinal), what + "cuDeviceGet");
  d.check(d.cuDeviceGetAttribute(&sms, kMultiprocessorCount, device),
          what + "cuDeviceGetAttribute");
  return {function, int64_t{blocks} * sms};
}

LoadedFunction functionOf(const std::shared_ptr<const Kernel> &kernel,
                          int ordinal) {
  Loaded &all = loaded();
  std::lock_guard lock(all.mutex);
  LoadedFunction &function = all.functions[{kernel, ordinal}];
  if (!function.handle)
    function = load(*kernel, ordinal);
  return function;
}

/// Before 12.3 a dependent launch could not be captured into a graph.
bool canDepend(const Driver &d, void *stream) {
  constexpr int kCapturesDependentLaunches = 12030;
  int version = 0;
  if (d.cuDriverGetVersion(&version))
    return false;
  return version >= kCapturesDependentLaunches || !isCapturing(stream);
}
} // namespace

void loadOnCuda(const std::shared_ptr<const Kernel> &kernel, int ordinal) {
  ContextScope scope(ordinal);
  functionOf(kernel, ordinal);
}

bool isLoadedOnCuda(const std::shared_ptr<const Kernel> &kernel, int ordinal) {
  Loaded &all = loaded();
  std::lock_guard lock(all.mutex);
  auto found = all.functions.find({kernel, ordinal});
  return found != all.functions.end() && found->second.handle;
}

void launchOnCuda(const std::shared_ptr<const Kernel> &kernel,
                  const LaunchStep &step, PackedArguments &arguments,
                  int ordinal, const LaunchOptions &options) {
  const Driver &d = driver();
  ContextScope scope(ordinal);
  LoadedFunction function = functionOf(kernel, ordinal);
  std::string what = "kernel " + kernel->spec.name() + ": ";
  bool waits = kernel->meta.coresident;
  if (waits && step.grid > function.resident)
    throw LaunchError(what + "its CTAs wait for each other, and of " +
                      std::to_string(step.grid) + " the device runs " +
                      std::to_string(function.resident) + " at the same time");

  CUlaunchConfig config;
  config.gridX = step.grid;
  config.blockX = kernel->meta.threads;
  config.sharedBytes = kernel->meta.dynamicSharedBytes;
  config.stream = static_cast<CUstream>(options.stream);
  CUlaunchAttribute attribute;
  attribute.value = 1;
  if (waits && options.cooperative)
    attribute.id = kCooperative;
  else if (step.dependent && canDepend(d, options.stream))
    attribute.id = kProgrammaticStreamSerialization;
  // Without the attribute a dependent kernel's wait returns at once.
  if (attribute.id && d.cuLaunchKernelEx) {
    config.attributes = &attribute;
    config.numAttributes = 1;
    d.check(d.cuLaunchKernelEx(&config, function.handle, arguments.pointers(),
                               nullptr),
            what + "cuLaunchKernelEx");
    return;
  }
  d.check(d.cuLaunchKernel(function.handle, config.gridX, 1, 1, config.blockX,
                           1, 1, config.sharedBytes, config.stream,
                           arguments.pointers(), nullptr),
          what + "cuLaunchKernel");
}

void launchKernel(const std::shared_ptr<const Kernel> &kernel, uint32_t grid,
                  const KernelArguments &arguments, int ordinal, void *stream) {
  PackedArguments packed(kernel->meta, arguments);
  LaunchStep step;
  step.grid = grid;
  LaunchOptions options;
  options.stream = stream;
  launchOnCuda(kernel, step, packed, ordinal, options);
}

} // namespace mlatile
