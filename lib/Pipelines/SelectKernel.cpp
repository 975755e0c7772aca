// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Pipelines/Pipelines.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_SELECTKERNEL
#include "mlatile/Pipelines/Passes.h.inc"

namespace {

struct SelectKernel : impl::SelectKernelBase<SelectKernel> {
  using SelectKernelBase::SelectKernelBase;

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
};

} // namespace
} // namespace mlatile
