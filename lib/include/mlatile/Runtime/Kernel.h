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

  /// Registers, spills, shared memory, threads, seconds: a JSON object.
  std::string report() const;
};

/// What a caller will do with a kernel.
enum class Need {
  Text,     ///< MLIR, PTX, bitcode
  Cubin,    ///< the machine code too; fails without ptxas
  Device,   ///< something that a device can load
  Executor, ///< bitcode
};

/// A kernel, from memory, else a folder of prebuilt kernels (Device and Cubin
/// only), else the compiler library. Any number of threads that ask for one
/// kernel compile it once. Throws CompileError or UnsupportedError.
std::shared_ptr<const Kernel> getKernel(const KernelSpec &spec, Need need);

/// Parses the meta of a kernel. Throws Error on text that is not such.
KernelMeta parseMeta(const std::string &json);

/// The compiler library's `info` (docs of compiler_c.h), a JSON object. Throws
/// UnsupportedError where there is no compiler library.
std::string compilerInfo();

} // namespace mlatile
#endif
