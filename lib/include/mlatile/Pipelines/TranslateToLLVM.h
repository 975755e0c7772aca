// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the LLVM and NVVM dialects to an LLVM module: the one module that both
// NVPTX and the CPU executor take.
#ifndef MLATILE_PIPELINES_TRANSLATETOLLVM_H
#define MLATILE_PIPELINES_TRANSLATETOLLVM_H

#include "mlatile/Target/Target.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace mlatile {

/// Registers what `translateToLLVM` needs in the context of its module.
void registerLLVMTranslations(mlir::DialectRegistry &registry);

/// Translates a module of LLVM and NVVM operations. Functions get debug scopes
/// first (`module` is changed in that), so that every call carries the line and
/// column of the kernel's source; triple and data layout are NVPTX's. Null,
/// with diagnostics in the MLIR context, where an operation has no translation.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context);

/// Refuses what `target` lacks, before code generation: intrinsics of features
/// or PTX versions that it does not have, calls of functions without a body,
/// and generic intrinsics that NVPTX cannot select. One line an offending call,
/// "file:line:col: error: ...".
llvm::Error checkTargetSupport(const llvm::Module &module,
                               const Target &target);

} // namespace mlatile
#endif
