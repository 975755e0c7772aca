// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folders of prebuilt kernels that this process looks in.
#ifndef MLATILE_LIB_RUNTIME_KERNELSEARCH_H
#define MLATILE_LIB_RUNTIME_KERNELSEARCH_H

#include "mlatile/Runtime/KernelFolder.h"

namespace mlatile {

/// The kernel from the first folder that has it, or null. A damaged entry
/// throws: whoever names a folder wants to know.
std::shared_ptr<const Kernel> findPrebuilt(const KernelSpec &spec);
/// The folders for a message; "no folder" if there is none.
std::string kernelFoldersText();
bool mayCompile();

} // namespace mlatile
#endif
