// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Pipelines/Pipelines.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace mlatile {
namespace {

class SelectKernel : public PassWrapper<SelectKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SelectKernel)

  explicit SelectKernel(std::string name) { kernel = std::move(name); }
  SelectKernel(const SelectKernel &other) : PassWrapper(other) {
    kernel = other.kernel;
  }
  StringRef getArgument() const override { return "select-kernel"; }
  StringRef getDescription() const override {
    return "erase all kernels but one";
  }

  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    for (Operation &op : getOperation().getOps()) {
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (isa<tile::KernelOp>(op) ||
          (function &&
           function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())))
        kernels.push_back(&op);
    }
    Operation *keep = nullptr;
    std::string names;
    for (Operation *op : kernels) {
      StringRef name = SymbolTable::getSymbolName(op).getValue();
      names += (names.empty() ? "'" : ", '") + name.str() + "'";
      if (name == kernel || (kernel.empty() && kernels.size() == 1))
        keep = op;
    }
    if (!keep) {
      std::string problem = "expected a kernel, got none";
      if (!kernels.empty())
        problem = kernel.empty()
                      ? "expected the name of one of the kernels " + names
                      : "expected one of the kernels " + names + ", got '" +
                            kernel + "'";
      emitError(getOperation().getLoc()) << problem;
      return signalPassFailure();
    }
    for (Operation *op : kernels)
      if (op != keep)
        op->erase();
  }

private:
  Option<std::string> kernel{*this, "kernel",
                             llvm::cl::desc("symbol; empty: the only kernel")};
};

} // namespace

std::unique_ptr<Pass> createSelectKernel(std::string kernel) {
  return std::make_unique<SelectKernel>(std::move(kernel));
}

} // namespace mlatile
