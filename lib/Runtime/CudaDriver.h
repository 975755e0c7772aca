// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver, opened at run time.
#ifndef MLATILE_LIB_RUNTIME_CUDADRIVER_H
#define MLATILE_LIB_RUNTIME_CUDADRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace mlatile::cuda {

using CUresult = int;
using CUdevice = int;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUdeviceptr = unsigned long long;

// CUdevice_attribute, CUfunction_attribute
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kL2CacheSize = 38;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMaxDynamicSharedSize = 8;
// CUpointer_attribute
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerIsManaged = 8;
inline constexpr int kPointerDeviceOrdinal = 9;
inline constexpr unsigned kMemoryTypeDevice = 2;
// CUstream_flags, CUevent_flags, CUstreamCaptureMode, CUstreamCaptureStatus
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureModeThreadLocal = 1;
inline constexpr int kCaptureStatusNone = 0;
// CUresult
inline constexpr CUresult kNotReady = 600;
inline constexpr CUresult kCaptureImplicit = 906;

// CUlaunchAttributeID
inline constexpr unsigned kCooperative = 2;
inline constexpr unsigned kProgrammaticStreamSerialization = 6;

struct CUlaunchAttribute {
  unsigned id = 0;
  alignas(8) int value = 0; ///< of a union of 64 bytes
  char rest[60] = {};
};
struct CUlaunchConfig {
  unsigned gridX = 1, gridY = 1, gridZ = 1;
  unsigned blockX = 1, blockY = 1, blockZ = 1;
  unsigned sharedBytes = 0;
  CUstream stream = nullptr;
  CUlaunchAttribute *attributes = nullptr;
  unsigned numAttributes = 0;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);

struct Driver {
#define MLATILE_CUDA_SYMBOL(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
#define MLATILE_CUDA_OPTIONAL_SYMBOL MLATILE_CUDA_SYMBOL
#include "CudaSymbols.def"
#undef MLATILE_CUDA_OPTIONAL_SYMBOL
#undef MLATILE_CUDA_SYMBOL

  /// LaunchError with the driver's text unless the result is success.
  void check(CUresult result, const std::string &what) const;
};

/// The driver, initialised; null where there is none, and then why.
const Driver *findDriver(std::string *why = nullptr);
/// The driver; throws UnsupportedError where there is none.
const Driver &driver();

/// Makes the primary context of a device current for this thread, and the one
/// before it current again at the end of the scope.
class ContextScope {
public:
  explicit ContextScope(int ordinal);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  CUcontext before = nullptr;
  bool changed = false;
};

} // namespace mlatile::cuda
#endif
