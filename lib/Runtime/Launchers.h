// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two places where a packed kernel can run.
#ifndef MLATILE_LIB_RUNTIME_LAUNCHERS_H
#define MLATILE_LIB_RUNTIME_LAUNCHERS_H

#include "PackedArguments.h"
#include "mlatile/Runtime/Call.h"
#include "mlatile/Runtime/Kernel.h"

namespace mlatile {

/// Runs a grid on the executor, to its end; gives its counts as JSON.
std::string launchOnExecutor(const std::shared_ptr<const Kernel> &kernel,
                             uint32_t grid, PackedArguments &arguments,
                             const LaunchOptions &options);

/// Puts a grid into a stream of a CUDA device.
void launchOnCuda(const std::shared_ptr<const Kernel> &kernel, uint32_t grid,
                  PackedArguments &arguments, int ordinal, void *stream);

} // namespace mlatile
#endif
