// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/Pipelines.h"
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "mlatile/Pipelines/TranslateToPTX.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace mlatile {
namespace {

class AttachPTX : public PassWrapper<AttachPTX, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttachPTX)

  explicit AttachPTX(std::string name) { target = std::move(name); }
  AttachPTX(const AttachPTX &other) : PassWrapper(other) {
    target = other.target;
  }
  StringRef getArgument() const override { return "attach-ptx"; }
  StringRef getDescription() const override {
    return "generate PTX into the module's attribute tilegpu.ptx";
  }
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

  Option<std::string> target{*this, "target",
                             llvm::cl::desc("GPU target, as ptxas spells it"),
                             llvm::cl::init("sm_120a")};
};

} // namespace

std::unique_ptr<Pass> createAttachPTX(std::string target) {
  return std::make_unique<AttachPTX>(std::move(target));
}

} // namespace mlatile
