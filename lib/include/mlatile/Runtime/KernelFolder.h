// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of prebuilt kernels, for machines that cannot or must not compile.
#ifndef MLATILE_RUNTIME_KERNELFOLDER_H
#define MLATILE_RUNTIME_KERNELFOLDER_H

#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/Problem.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mlatile {

/// One kernel is `NAME.cubin` and `NAME.json` (with `NAME.ptx` beside them for
/// readers), where NAME is KernelSpec::name(). The JSON object repeats file,
/// symbol, parameters and target, and gives the size and the FNV-1a hash of
/// the cubin, so that a truncated or renamed file is refused by name.
void writeKernel(const std::filesystem::path &folder, const Kernel &kernel);

/// The kernel, or null where the folder has no such entry. An entry that is
/// there but damaged or of another kernel throws Error that names the file.
std::shared_ptr<const Kernel> readKernel(const std::filesystem::path &folder,
                                         const KernelSpec &spec);

/// Looks in this folder from now on, before compiling; the last one added is
/// looked at first. `$MLATILE_KERNELS` (folders separated by ':') is there from
/// the start. Throws ArgumentError where it is no folder.
void addKernelFolder(const std::filesystem::path &folder);

/// With false, a kernel that no folder has is an UnsupportedError that says
/// where it was looked for. Starts true unless `$MLATILE_JIT` is "off".
void allowCompiling(bool allow);

/// Problems of a JSON text: an array of objects whose keys are those of
/// `mlatile.plan` in Python, besides "name" and "run" (ignored),
/// "has_topk_length", "has_extra_topk_length" and "lse" ("none", "2", "e").
/// Throws ArgumentError.
std::vector<Problem> parseProblems(const std::string &json);

/// All kernels that the problems need for the target, each once.
std::vector<KernelSpec> kernelsOf(const std::vector<Problem> &problems);

} // namespace mlatile
#endif
