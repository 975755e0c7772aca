// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a lowered kernel on the CPU: the very LLVM module that goes to NVPTX.
// Threads of a CTA are fibers, warp collectives are rendezvous of lanes,
// barriers, mbarriers and asynchronous copies follow the PTX ISA. Mistakes of
// the kernel (deadlock, diverged collectives, a barrier used before its
// initialisation, misaligned copies) are errors, not hangs. docs/Executor.md.
#ifndef MLATILE_SIM_EXECUTOR_H
#define MLATILE_SIM_EXECUTOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace mlatile::sim {

/// Grid and block of one launch. Blocks are one-dimensional, 1 to 1024 threads.
/// A kernel with `nvvm.cluster_dim` runs in clusters of that many neighbours
/// along x, of which the grid is a multiple.
struct LaunchDims {
  unsigned gridX = 1, gridY = 1, gridZ = 1;
  unsigned blockX = 1;
  /// Bytes behind the `external addrspace(3)` array.
  uint64_t dynamicSharedBytes = 0;
};

/// Global memory that a kernel may touch.
struct Region {
  const void *base = nullptr;
  uint64_t bytes = 0;
  bool writable = true;
  std::string name;
  /// Written by the launch before, which may still run: a thread must not touch
  /// it before its griddepcontrol.wait.
  bool pending = false;
};

struct Options {
  /// Order of warps, lanes and CTAs. 0 is the natural order; a correct kernel
  /// gives bitwise the same results under every seed.
  uint64_t seed = 0;
  /// Host threads that run CTAs; 0: one a core.
  unsigned hostThreads = 0;
  /// CTAs that may run at the same time, as on a card with room for so many; 0:
  /// all of the grid. A CTA that waits for one beyond is a deadlock.
  uint64_t residentCtas = 0;
  /// Host code generation, 0 to 3. Read by Program::create only. 0 compiles
  /// fastest and is hardly slower to run.
  unsigned optLevel = 0;
  /// Checked mode: races on shared memory, reads of bytes nobody has written,
  /// bounds, alignment, arrivals that do not add up, run-ahead on barriers.
  /// docs/Executor.md. Read by Program::create only; two to ten times slower.
  bool checked = false;
  /// Read by launch() of a checked program: an access to global memory outside
  /// all of these is an error. Empty: global memory has no bounds.
  std::vector<Region> regions = {};
};

enum class MmaKind : unsigned {
  F16,      ///< m16n8k16 and m16n8k8, f16 operands
  BF16,     ///< m16n8k16 and m16n8k8, bf16 operands
  F8,       ///< m16n8k32 and m16n8k16, e4m3 and e5m2 operands
  F8F6F4,   ///< kind::f8f6f4
  MXF8F6F4, ///< block scale 1X
  MXF4,     ///< block scale 2X
  MXF4NVF4  ///< block scale 2X and 4X
};
inline constexpr unsigned kMmaKinds = 7;
llvm::StringRef mmaKindName(MmaKind kind);

/// What one launch executed, summed over its CTAs. Warp instructions count
/// once a warp, per-thread instructions once a thread.
struct Stats {
  std::array<uint64_t, kMmaKinds> mma{}; ///< by MmaKind, a warp instruction
  uint64_t ldmatrix = 0, stmatrix = 0, movmatrix = 0; ///< warp instructions
  uint64_t shuffles = 0;        ///< shfl, vote, match, redux, elect; warp
  uint64_t rendezvous = 0;      ///< groups of collectives executed
  uint64_t ctaBarriers = 0;     ///< completions of barriers of the whole CTA
  uint64_t namedBarriers = 0;   ///< completions of barriers of some warps
  uint64_t clusterBarriers = 0; ///< completions of barriers of a cluster
  uint64_t asyncCopies = 0;     ///< cp.async, a thread instruction
  uint64_t bulkCopies = 0;      ///< cp.async.bulk, a thread instruction
  uint64_t asyncBytes = 0;      ///< bytes both read from global memory
  uint64_t mbarrierPhases = 0;  ///< phases completed
  /// mma (warp instructions) executed while asynchronous copies of the CTA had
  /// been issued but not waited for, and while none had.
  uint64_t mmaWithCopiesInFlight = 0, mmaWithoutCopiesInFlight = 0;
  /// Over all mma: fewest and most copies in flight; 0 when there was no mma.
  uint64_t minCopiesInFlight = 0, maxCopiesInFlight = 0;
  /// Copies nobody had waited for when their CTA ended.
  uint64_t copiesInFlightAtExit = 0;

  uint64_t mmaTotal() const;
  Stats &operator+=(const Stats &other);
};

/// One kernel, compiled for the host. Immutable after creation: launches may
/// run at the same time from several threads.
class Program {
public:
  /// Compiles kernel `kernelName` of `module`, which must be what NVPTX takes
  /// (triple nvptx64, calling convention ptx_kernel); the module is copied.
  /// Errors: no such kernel; an intrinsic, inline assembly or external
  /// function that cannot be emulated, by name.
  static llvm::Expected<std::unique_ptr<Program>>
  create(const llvm::Module &module, llvm::StringRef kernelName,
         const Options &options = {});
  /// The same from LLVM IR text or bitcode.
  static llvm::Expected<std::unique_ptr<Program>>
  createFromIR(llvm::StringRef textOrBitcode, llvm::StringRef kernelName,
               const Options &options = {});

  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// Runs the whole grid and returns when it has ended. `args` points to the
  /// value of each kernel argument, as for cuLaunchKernel; pointers among them
  /// are host addresses. `stats`, if given, is overwritten.
  /// Errors name the kernel, the CTA and the place in the kernel.
  llvm::Error launch(const LaunchDims &dims, llvm::ArrayRef<const void *> args,
                     const Options &options = {}, Stats *stats = nullptr) const;

  llvm::StringRef kernelName() const;
  unsigned numArguments() const;
  /// Bytes of static shared memory.
  uint64_t staticSharedBytes() const;

  struct Impl;

private:
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mlatile::sim
#endif
