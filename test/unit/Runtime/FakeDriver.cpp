// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libcuda.so.1, so that everything round a launch is tested
// without a card. "Device" memory is host memory that only calls of the driver
// may touch by its rules; kernels are those of FakeCompiler.cpp. Streams run
// late: nothing of them is done before somebody waits, so that a wait that is
// missing shows. While a stream is captured, calls that the driver forbids then
// fail and spoil the capture.
//
//   FAKE_DEVICES=n       so many devices (default 1), all of sm_120
//   FAKE_HANG=symbol     launches of that kernel never end
//   FAKE_OCCUPANCY=n     CTAs of a kernel on each of 188 SMs (default 2)
#include "FakeDriver.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <type_traits>

using namespace fake;

Driver &fake::driver() {
  static auto *instance = new Driver;
  return *instance;
}

std::vector<Context> &fake::contexts() {
  static auto *all = [] {
    const char *count = std::getenv("FAKE_DEVICES");
    auto *made = new std::vector<Context>(
        static_cast<size_t>(count ? std::atoi(count) : 1));
    for (size_t i = 0; i < made->size(); ++i)
      (*made)[i].ordinal = static_cast<int>(i);
    return made;
  }();
  return *all;
}
thread_local Context *fake::current = nullptr;

namespace {
bool isDevice(uintptr_t pointer, size_t bytes) {
  auto after = driver().memory.upper_bound(pointer);
  if (after == driver().memory.begin())
    return false;
  auto [start, range] = *std::prev(after);
  return pointer + bytes <= start + range.bytes;
}

/// What runs the kernels: functions of FakeCompiler.cpp.
struct Compiler {
  int (*load)(const void *, size_t, const char *, void **, char **);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, size_t,
                void *const *, size_t, const char *, char **, char **);
  size_t (*parameterCount)(const void *);

  Compiler() {
    void *library = dlopen(std::getenv("MLATILE_COMPILER_LIBRARY"), RTLD_NOW);
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          dlsym(library, name));
    };
    find(load, "mlatile_sim_load");
    find(launch, "mlatile_sim_launch");
    find(parameterCount, "fake_parameter_count");
  }
};
const Compiler &compiler() {
  static const Compiler instance;
  return instance;
}

int runKernel(const Function &function, unsigned grid, unsigned block,
              unsigned shared, std::vector<uint64_t> values) {
  std::vector<void *> pointers;
  for (uint64_t &value : values)
    pointers.push_back(&value);
  return compiler().launch(function.program, grid, 1, 1, block, shared,
                           pointers.data(), pointers.size(), "{}", nullptr,
                           nullptr)
             ? kLaunchFailed
             : kSuccess;
}
} // namespace

/// How often a kind of call was made; for tests.
EXPORT int fake_driver_count(const char *what) {
  LOCK;
  return driver().counts[what];
}

EXPORT int cuInit(unsigned) { return kSuccess; }
EXPORT int cuDriverGetVersion(int *version) {
  *version = 13000;
  return kSuccess;
}
EXPORT int cuGetErrorString(int result, const char **text) {
  static std::map<int, std::string> texts;
  *text =
      (texts[result] = "fake driver error " + std::to_string(result)).c_str();
  return kSuccess;
}
EXPORT int cuDeviceGetCount(int *count) {
  *count = static_cast<int>(contexts().size());
  return kSuccess;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < static_cast<int>(contexts().size()) ? kSuccess
                                                       : kInvalidValue;
}
EXPORT int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "fake card", static_cast<size_t>(size));
  return kSuccess;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 16   ? 188
           : attribute == 75 ? 12
           : attribute == 38 ? 1 << 20
                             : 0;
  return kSuccess;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t{1} << 30;
  return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRetain(Context **context, int device) {
  *context = &contexts()[static_cast<size_t>(device)];
  return kSuccess;
}
EXPORT int cuCtxGetCurrent(Context **context) {
  *context = current;
  return kSuccess;
}
EXPORT int cuCtxSetCurrent(Context *context) {
  current = context;
  return kSuccess;
}
EXPORT int cuCtxSynchronize() {
  LOCK;
  if (int failed = forbiddenInCapture("synchronize"))
    return failed;
  int failed = drain(driver().legacy[current->ordinal]);
  for (auto &stream : driver().streams)
    if (!failed && stream->ordinal == current->ordinal)
      failed = drain(*stream);
  return failed;
}

EXPORT int cuModuleLoadData(Module **module, const void *image) {
  LOCK;
  if (int failed = forbiddenInCapture("load"))
    return failed;
  driver().modules.push_back(std::make_unique<Module>());
  *module = driver().modules.back().get();
  (*module)->image = static_cast<const char *>(image);
  return kSuccess;
}
EXPORT int cuModuleGetFunction(Function **function, Module *module,
                               const char *name) {
  size_t brace = module->image.find('{');
  if (brace == std::string::npos)
    return kInvalidValue;
  std::string request = module->image.substr(brace);
  void *program = nullptr;
  if (compiler().load(request.data(), request.size(), name, &program, nullptr))
    return kInvalidValue;
  module->functions.push_back(
      std::make_unique<Function>(Function{name, program}));
  *function = module->functions.back().get();
  return kSuccess;
}
EXPORT int cuFuncSetAttribute(Function *, int, int) { return kSuccess; }
/// As cuda.h has them; only what is used.
struct LaunchAttribute {
  unsigned id;
  char pad[4];
  int value;
  char rest[60];
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};
EXPORT int cuLaunchKernel(Function *, unsigned, unsigned, unsigned, unsigned,
                          unsigned, unsigned, unsigned, void *, void **,
                          void **);
EXPORT int cuLaunchKernelEx(const LaunchConfig *config, Function *function,
                            void **arguments, void **extra) {
  LOCK;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.value != 1)
      return kInvalidValue;
    if (attribute.id == 6)
      ++driver().counts["dependent " + function->symbol];
    else if (attribute.id == 2)
      ++driver().counts["cooperative " + function->symbol];
    else
      return kInvalidValue;
  }
  return cuLaunchKernel(function, config->gridX, config->gridY, config->gridZ,
                        config->blockX, config->blockY, config->blockZ,
                        config->shared, config->stream, arguments, extra);
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *,
                                                       int, size_t) {
  const char *given = std::getenv("FAKE_OCCUPANCY");
  *blocks = given ? std::atoi(given) : 2;
  return kSuccess;
}
EXPORT int cuLaunchKernel(Function *function, unsigned gridX, unsigned,
                          unsigned, unsigned blockX, unsigned, unsigned,
                          unsigned shared, void *stream, void **arguments,
                          void **) {
  LOCK;
  ++driver().counts["launch"];
  std::vector<uint64_t> values(compiler().parameterCount(function->program));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], arguments[i], 8);
  if (const char *hang = std::getenv("FAKE_HANG"))
    driver().hangs |= function->symbol == hang;
  return put(stream, [=, kernel = *function] {
    return runKernel(kernel, gridX, blockX, shared, values);
  });
}

EXPORT int cuMemAlloc_v2(uintptr_t *pointer, size_t bytes) {
  LOCK;
  if (int failed = forbiddenInCapture("allocate"))
    return failed;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return kOutOfMemory;
  std::memset(memory, 0xa5, bytes);
  *pointer = reinterpret_cast<uintptr_t>(memory);
  driver().memory[*pointer] = {bytes, current->ordinal};
  return kSuccess;
}
EXPORT int cuMemFree_v2(uintptr_t pointer) {
  LOCK;
  if (!driver().memory.erase(pointer))
    return kInvalidValue;
  std::free(reinterpret_cast<void *>(pointer));
  return kSuccess;
}
namespace {
/// A copy in the legacy default stream, done at once.
int copy(void *to, const void *from, size_t bytes, uintptr_t device) {
  if (int failed = forbiddenInCapture("copy"))
    return failed;
  if (!isDevice(device, bytes))
    return kInvalidValue;
  if (int failed = drain(driver().legacy[current->ordinal]))
    return failed;
  std::memcpy(to, from, bytes);
  return kSuccess;
}
} // namespace
EXPORT int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes) {
  LOCK;
  return copy(reinterpret_cast<void *>(to), from, bytes, to);
}
EXPORT int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes) {
  LOCK;
  return copy(to, reinterpret_cast<void *>(from), bytes, from);
}
EXPORT int cuMemsetD8_v2(uintptr_t pointer, unsigned char byte, size_t bytes) {
  LOCK;
  if (!isDevice(pointer, bytes))
    return kInvalidValue;
  return put(nullptr, [=] {
    std::memset(reinterpret_cast<void *>(pointer), byte, bytes);
    return kSuccess;
  });
}
EXPORT int cuPointerGetAttribute(void *value, int attribute,
                                 uintptr_t pointer) {
  LOCK;
  if (!isDevice(pointer, 1))
    return kInvalidValue;
  int ordinal = std::prev(driver().memory.upper_bound(pointer))->second.ordinal;
  int answer = attribute == 2 ? 2 : attribute == 9 ? ordinal : 0;
  std::memcpy(value, &answer, 4);
  return kSuccess;
}
