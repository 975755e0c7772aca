// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two places where a packed kernel can run.
#ifndef MLATILE_LIB_RUNTIME_LAUNCHERS_H
#define MLATILE_LIB_RUNTIME_LAUNCHERS_H

#include "PackedArguments.h"
#include "mlatile/Runtime/Call.h"
#include "mlatile/Runtime/Kernel.h"

namespace mlatile {

/// The kernel for a device as getKernel() would give it, where that needs
/// neither a file nor the compiler; else null (Kernel.cpp).
std::shared_ptr<const Kernel> kernelInMemory(const KernelSpec &spec);

/// Runs a grid on the executor, to its end; gives its counts as JSON.
std::string launchOnExecutor(const std::shared_ptr<const Kernel> &kernel,
                             const LaunchStep &step, PackedArguments &arguments,
                             const LaunchOptions &options);

/// Loads a kernel on a CUDA device, for the life of the process.
void loadOnCuda(const std::shared_ptr<const Kernel> &kernel, int ordinal);
bool isLoadedOnCuda(const std::shared_ptr<const Kernel> &kernel, int ordinal);

/// Puts a grid into a stream of a CUDA device. LaunchError where CTAs wait for
/// each other and the device has not room for all of them.
void launchOnCuda(const std::shared_ptr<const Kernel> &kernel,
                  const LaunchStep &step, PackedArguments &arguments,
                  int ordinal, const LaunchOptions &options);

} // namespace mlatile
#endif
