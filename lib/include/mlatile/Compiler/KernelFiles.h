// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel files of kernels/ and the steps of kernels/steps/, held in the
// library, and those of folders on disk.
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

/// A file of steps: private functions that kernel files share.
struct StepFile {
  std::string path; ///< for diagnostics: "kernels/steps/finish.mlir"
  std::string text;
};

struct StepFolder {
  std::string name; ///< for messages
  std::vector<StepFile> files;
};

/// The .mlir files of a folder, sorted. An error if it cannot be read.
llvm::Expected<StepFolder> readSteps(llvm::StringRef folder);

/// The steps beside a kernel file: those of `steps/` in its folder; none if
/// there is no such folder.
llvm::Expected<std::vector<StepFile>> stepsBeside(llvm::StringRef kernelFile);

/// Where the steps of any kernel are looked for, the first place first:
/// `steps/` in the folders of $MLATILE_KERNEL_PATH, then the embedded ones.
llvm::Expected<std::vector<StepFolder>> knownSteps();

} // namespace mlatile
#endif
