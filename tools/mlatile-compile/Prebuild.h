// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TOOLS_MLATILE_COMPILE_PREBUILD_H
#define MLATILE_TOOLS_MLATILE_COMPILE_PREBUILD_H

#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlatile {

struct PrebuildOptions {
  std::string problems; ///< JSON file
  std::string outDir;
  std::string target; ///< empty: what each problem says
  /// What mlatile-bench launches too: every way to compute the problems, the
  /// kernels of its floors (for the first problem's target).
  bool allCandidates = false, floors = false;
  std::string ptxas;
  int ptxasLevel = 3;
  std::string dumpDir;
};

/// Compiles every kernel that the problems need into a folder of prebuilt
/// kernels (KernelFolder.h), several at a time, and writes index.json: name,
/// file, symbol, target, parameters, registers, spills and shared bytes of
/// each, and predicted times for the first problem that needs it. Prints one
/// line a kernel. Stops at the first error.
llvm::Error prebuild(const PrebuildOptions &options, llvm::raw_ostream &log);

} // namespace mlatile
#endif
