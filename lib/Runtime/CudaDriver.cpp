// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CudaDriver.h"

#include "mlatile/Runtime/Error.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

namespace mlatile::cuda {
namespace {
struct Opened {
  Driver functions;
  std::string why; ///< empty where the driver can be used
};

const Opened &opened() {
  static const Opened instance = [] {
    Opened result;
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *text = dlerror();
      result.why = text ? text : "no libcuda.so.1";
      return result;
    }
    Driver &d = result.functions;
#define MLATILE_CUDA_OPTIONAL_SYMBOL(name, ...)                                \
  d.name = reinterpret_cast<decltype(d.name)>(dlsym(handle, #name));
#define MLATILE_CUDA_SYMBOL(name, ...)                                         \
  MLATILE_CUDA_OPTIONAL_SYMBOL(name)                                           \
  if (!d.name)                                                                 \
    result.why += "libcuda.so.1 lacks " #name "; ";
#include "CudaSymbols.def"
#undef MLATILE_CUDA_SYMBOL
#undef MLATILE_CUDA_OPTIONAL_SYMBOL
    if (!result.why.empty())
      return result;
    if (CUresult failed = d.cuInit(0)) {
      const char *text = nullptr;
      d.cuGetErrorString(failed, &text);
      result.why = std::string("cuInit: ") + (text ? text : "unknown error");
    }
    return result;
  }();
  return instance;
}
} // namespace

void Driver::check(CUresult result, const std::string &what) const {
  if (result == 0)
    return;
  const char *text = nullptr;
  cuGetErrorString(result, &text);
  throw LaunchError(what + ": " + (text ? text : "unknown error") + " (" +
                    std::to_string(result) + ")");
}

const Driver *findDriver(std::string *why) {
  const Opened &result = opened();
  if (result.why.empty())
    return &result.functions;
  if (why)
    *why = result.why;
  return nullptr;
}

const Driver &driver() {
  std::string why;
  if (const Driver *found = findDriver(&why))
    return *found;
  throw UnsupportedError("there is no CUDA driver: " + why);
}

ContextScope::ContextScope(int ordinal) {
  static std::mutex mutex;
  static std::map<int, CUcontext> contexts; // retained for the process
  const Driver &d = driver();
  CUcontext context;
  {
    std::lock_guard lock(mutex);
    CUcontext &known = contexts[ordinal];
    if (!known) {
      CUdevice device;
      d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
      d.check(d.cuDevicePrimaryCtxRetain(&known, device),
              "cuDevicePrimaryCtxRetain");
    }
    context = known;
  }
  d.check(d.cuCtxGetCurrent(&before), "cuCtxGetCurrent");
  if (before == context)
    return;
  d.check(d.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  changed = true;
}

ContextScope::~ContextScope() {
  if (changed)
    driver().cuCtxSetCurrent(before);
}

} // namespace mlatile::cuda
