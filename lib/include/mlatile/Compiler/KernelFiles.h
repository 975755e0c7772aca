// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel files of kernels/, held in the library.
#ifndef MLATILE_COMPILER_KERNELFILES_H
#define MLATILE_COMPILER_KERNELFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlatile {

struct KernelFile {
  std::string name; ///< "decode"
  std::string path; ///< for diagnostics: "kernels/decode.mlir", or the real one
  std::string text;
};

/// Names of the kernel files, sorted: those embedded and those of
/// $MLATILE_KERNEL_PATH.
std::vector<std::string> kernelFileNames();

/// The file NAME.mlir of the first folder of $MLATILE_KERNEL_PATH (separated by
/// ':') that has it, so that authors try a kernel without a build; else the
/// embedded one. The error lists the names.
llvm::Expected<KernelFile> findKernelFile(llvm::StringRef name);

} // namespace mlatile
#endif
