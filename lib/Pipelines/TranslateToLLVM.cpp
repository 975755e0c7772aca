// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace mlatile {

void registerLLVMTranslations(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, DLTIDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// MLIR's translation puts an instruction outside of a function nowhere, and
/// dies of it.
static LogicalResult checkTopLevel(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (!isa<SymbolOpInterface, LLVM::GlobalCtorsOp, LLVM::GlobalDtorsOp,
             LLVM::LinkerOptionsOp, LLVM::ModuleFlagsOp>(op))
      return op.emitError("expected functions and globals at the top of the "
                          "module, got '")
             << op.getName() << "'";
  return success();
}

/// MLIR's debug scopes need a file of what was inlined, and a constant that was
/// folded from several has none: it stands at its call then.
static void placeInlinedOps(ModuleOp module) {
  module.walk([](Operation *op) {
    auto inlined = dyn_cast<CallSiteLoc>(op->getLoc());
    while (inlined && !inlined.getCallee()->findInstanceOf<FileLineColLoc>()) {
      op->setLoc(inlined.getCaller());
      inlined = dyn_cast<CallSiteLoc>(op->getLoc());
    }
  });
}

std::unique_ptr<llvm::Module> translateToLLVM(ModuleOp module,
                                              llvm::LLVMContext &context) {
  if (failed(checkTopLevel(module)))
    return nullptr;
  placeInlinedOps(module);
  PassManager scopes(module.getContext());
  // Directives only: with more, NVPTX asks ptxas for a debug build, which ptxas
  // does not optimise.
  scopes.addPass(LLVM::createDIScopeForLLVMFuncOpPass(
      {LLVM::DIEmissionKind::DebugDirectivesOnly}));
  if (failed(scopes.run(module)))
    return nullptr;
  llvm::StringRef name = module.getSymName().value_or("kernel");
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, name);
  if (!llvmModule)
    return nullptr;
  // The text of the module is then complete: llc and opt take it as it is.
  llvmModule->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  llvmModule->setDataLayout(llvmModule->getTargetTriple().computeDataLayout());
  return llvmModule;
}

} // namespace mlatile
