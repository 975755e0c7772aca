// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel on a CUDA device, for callers whose kernel is not that of a call
// of sparse MLA.
#ifndef MLATILE_RUNTIME_KERNELLAUNCH_H
#define MLATILE_RUNTIME_KERNELLAUNCH_H

#include "mlatile/Runtime/Call.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

namespace mlatile {

/// What is passed, by the names of the kernel's arguments; integers serve index
/// and iN, double serves f32.
using KernelArguments =
    std::map<std::string, std::variant<View, Pool, int64_t, double>>;

/// Puts a grid of a kernel into a stream; the first time it is loaded, which a
/// capture does not allow. Throws LaunchError where an argument is missing or
/// of another kind.
void launchKernel(const std::shared_ptr<const Kernel> &kernel, uint32_t grid,
                  const KernelArguments &arguments, int ordinal, void *stream);

} // namespace mlatile
#endif
