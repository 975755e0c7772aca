// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CudaDriver.h"
#include "Launchers.h"
#include "mlatile/Runtime/Error.h"

#include <map>
#include <mutex>

namespace mlatile {
using namespace cuda;

namespace {
/// Loaded functions by kernel and device, for the life of the process.
CUfunction functionOf(const std::shared_ptr<const Kernel> &kernel,
                      int ordinal) {
  static std::mutex mutex;
  static std::map<std::pair<std::shared_ptr<const Kernel>, int>, CUfunction>
      functions;
  std::lock_guard lock(mutex);
  CUfunction &function = functions[{kernel, ordinal}];
  if (function)
    return function;
  const Driver &d = driver();
  std::string what = "kernel " + kernel->spec.name() + ": ";
  CUmodule module = nullptr;
  CUfunction loaded = nullptr;
  const std::string &image =
      kernel->cubin.empty() ? kernel->ptx : kernel->cubin;
  d.check(d.cuModuleLoadData(&module, image.c_str()),
          what + "cuModuleLoadData");
  d.check(d.cuModuleGetFunction(&loaded, module, kernel->meta.entry.c_str()),
          what + "cuModuleGetFunction " + kernel->meta.entry);
  // Above 48 KiB a kernel must ask for its dynamic shared memory.
  d.check(
      d.cuFuncSetAttribute(loaded, kMaxDynamicSharedSize,
                           static_cast<int>(kernel->meta.dynamicSharedBytes)),
      what + "cuFuncSetAttribute of " +
          std::to_string(kernel->meta.dynamicSharedBytes) +
          " bytes of shared memory");
  return function = loaded;
}
} // namespace

void launchOnCuda(const std::shared_ptr<const Kernel> &kernel, uint32_t grid,
                  PackedArguments &arguments, int ordinal, void *stream) {
  const Driver &d = driver();
  ContextScope scope(ordinal);
  d.check(d.cuLaunchKernel(
              functionOf(kernel, ordinal), grid, 1, 1, kernel->meta.threads, 1,
              1, kernel->meta.dynamicSharedBytes, static_cast<CUstream>(stream),
              arguments.pointers(), nullptr),
          "kernel " + kernel->spec.name() + ": cuLaunchKernel");
}

} // namespace mlatile
