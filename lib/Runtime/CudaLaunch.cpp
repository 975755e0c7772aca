// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CudaDriver.h"
#include "Launchers.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelLaunch.h"

#include <map>
#include <mutex>

namespace mlatile {
using namespace cuda;

namespace {
/// Functions by kernel and device, for the life of the process.
struct Loaded {
  std::mutex mutex;
  std::map<std::pair<std::shared_ptr<const Kernel>, int>, CUfunction> functions;
};

Loaded &loaded() {
  static Loaded instance;
  return instance;
}

/// With the device's context current.
CUfunction load(const Kernel &kernel) {
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
  return function;
}

CUfunction functionOf(const std::shared_ptr<const Kernel> &kernel,
                      int ordinal) {
  Loaded &all = loaded();
  std::lock_guard lock(all.mutex);
  CUfunction &function = all.functions[{kernel, ordinal}];
  if (!function)
    function = load(*kernel);
  return function;
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
  return found != all.functions.end() && found->second;
}

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

void launchKernel(const std::shared_ptr<const Kernel> &kernel, uint32_t grid,
                  const KernelArguments &arguments, int ordinal, void *stream) {
  PackedArguments packed(kernel->meta, arguments);
  launchOnCuda(kernel, grid, packed, ordinal, stream);
}

} // namespace mlatile
