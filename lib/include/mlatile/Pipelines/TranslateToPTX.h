// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_PIPELINES_TRANSLATETOPTX_H
#define MLATILE_PIPELINES_TRANSLATETOPTX_H

#include "mlatile/Target/Target.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace mlatile {

/// Generates PTX. Checks the module against the target first
/// (`checkTargetSupport`). An error of the NVPTX back end, also one that would
/// end the process ("Cannot select"), becomes an error of this call; the module
/// is then abandoned, not freed, since its state is unknown.
///
/// `module` must have an LLVMContext that nobody uses at the same time; it is
/// changed by code generation. `context` owns it and is abandoned with it.
llvm::Expected<std::string>
translateToPTX(std::unique_ptr<llvm::LLVMContext> context,
               std::unique_ptr<llvm::Module> module, const Target &target);

} // namespace mlatile
#endif
