// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels, and where they come from: memory, folders of prebuilt
// kernels, the compiler library.
#ifndef MLATILE_RUNTIME_KERNEL_H
#define MLATILE_RUNTIME_KERNEL_H

#include "mlatile/Runtime/KernelSpec.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlatile {
struct Problem;

/// One argument of a kernel, in the order of its parameters.
struct KernelArgument {
  enum class Kind { View, Pool, Scalar };
  std::string name;
  Kind kind = Kind::Scalar;
  int rank = 0;        ///< of a view
  std::string element; ///< of a view, or type of a scalar ("f32", "index")
};

/// What a launch must know of a kernel.
struct KernelMeta {
  std::string entry; ///< name in the cubin
  unsigned threads = 0;
  unsigned sharedBytes = 0;        ///< of the arena: all that a CTA takes
  unsigned dynamicSharedBytes = 0; ///< the part that a launch passes
  /// CTAs wait for others of their grid: all must run at the same time.
  bool coresident = false;
  std::vector<KernelArgument> arguments;
  std::string json; ///< the whole, as the compiler gave it
};

/// A compiled kernel. Pieces that were not made are empty.
struct Kernel {
  KernelSpec spec;
  KernelMeta meta;
  std::string mlir; ///< specialised, before lowering
  std::string ptx;
  std::string llvm;   ///< bitcode for the executor
  std::string cubin;  ///< empty where ptxas was not asked for
  std::string origin; ///< "compiled", or the folder it came from

  /// What the compiler and ptxas say of the kernel and what the cost model
  /// predicts, a JSON object (docs/HostApi.md, "Report"). `problem` is what the
  /// prediction is for, by default reportProblem(); without a format it is the
  /// kernel's own, without splits they are chosen to fill the target's card.
  std::string report(const Problem *problem = nullptr) const;
};

/// What a report predicts for where no problem is given: 8 rows of 64 heads,
/// 2048 candidates, and as many in a second cache where the kernel has one.
Problem reportProblem();

/// What a caller will do with a kernel.
enum class Need {
  Text,     ///< MLIR, PTX, bitcode
  Cubin,    ///< the machine code too; fails without ptxas
  Device,   ///< something that a device can load
  Executor, ///< bitcode
};

/// Parses and verifies a kernel file and compares it with what a call passes
/// and its author binds; lowers nothing. Throws CompileError, ArgumentError.
void checkSource(const KernelSource &source);

/// A kernel, from memory, else a folder of prebuilt kernels (Device and Cubin
/// only), else the compiler library. Any number of threads that ask for one
/// kernel compile it once. Throws CompileError or UnsupportedError.
std::shared_ptr<const Kernel> getKernel(const KernelSpec &spec, Need need);

/// Compiles the kernel to PTX once more, whoever has it already, and writes the
/// IR after every pass to FOLDER/NAME (KernelSpec::name). With
/// $MLATILE_DUMP_DIR every compilation of the process writes there.
void dumpKernel(const KernelSpec &spec, const std::string &folder);

/// Parses the meta of a kernel. Throws Error on text that is not such.
KernelMeta parseMeta(const std::string &json);

/// The compiler library's `info` (docs of compiler_c.h), a JSON object. Throws
/// UnsupportedError where there is no compiler library.
std::string compilerInfo();

} // namespace mlatile
#endif
