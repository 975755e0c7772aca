// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/Pipelines.h"
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "mlatile/Pipelines/TranslateToPTX.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_ATTACHPTX
#include "mlatile/Pipelines/Passes.h.inc"

namespace {

struct AttachPTX : impl::AttachPTXBase<AttachPTX> {
  using AttachPTXBase::AttachPTXBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerLLVMTranslations(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Target *found = findTarget(target.getValue());
    if (!found)
      return fail("unknown target '" + target + "'");
    auto context = std::make_unique<llvm::LLVMContext>();
    // A clone, since translation adds debug scopes.
    OwningOpRef<ModuleOp> clone = module.clone();
    std::unique_ptr<llvm::Module> llvmModule =
        translateToLLVM(*clone, *context);
    if (!llvmModule)
      return signalPassFailure();
    auto ptx =
        translateToPTX(std::move(context), std::move(llvmModule), *found);
    if (!ptx)
      return fail(llvm::toString(ptx.takeError()));
    module->setAttr("tilegpu.ptx", StringAttr::get(&getContext(), *ptx));
  }

private:
  void fail(const Twine &message) {
    emitError(getOperation().getLoc()) << message;
    signalPassFailure();
  }
};

} // namespace
} // namespace mlatile
