// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Bindings.h"
#include "mlatile/Transforms/Steps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_INLINECALLS
#include "mlatile/Transforms/Steps.h.inc"
} // namespace mlatile

namespace mlatile::tile {
namespace {

/// Names in the ops of a step's copy that are no types.
void bindOps(func::FuncOp copy, const Bindings &bindings) {
  copy.getBody().walk([&](Operation *op) {
    OpBuilder builder(op);
    if (auto param = dyn_cast<ParamOp>(op)) {
      BindingAttr binding = bindings.lookup(param.getName());
      if (binding && binding.getTo()) {
        param.setNameAttr(binding.getTo());
      } else if (binding) {
        param.replaceAllUsesWith(
            arith::ConstantOp::create(builder, op->getLoc(),
                                      cast<TypedAttr>(binding.getValue()))
                .getResult());
        param.erase();
      }
    } else if (auto call = dyn_cast<CallOp>(op)) {
      Bindings inner = bindings.within(Bindings(call.getBindingsAttr()));
      call.setBindingsAttr(inner.asAttr(op->getContext()));
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      // The names of its callee are those of this step: they change too.
      auto bound = CallOp::create(builder, op->getLoc(), op->getResultTypes(),
                                  call.getCalleeAttr(), op->getOperands(),
                                  bindings.asAttr(op->getContext()));
      call.replaceAllUsesWith(bound.getResults());
      call.erase();
    }
  });
}

/// Diagnostics show the step's line and the call's.
void addCallSite(func::FuncOp copy, Location call) {
  auto atCall = [&](Location loc) { return CallSiteLoc::get(loc, call); };
  copy.getBody().walk([&](Operation *op) {
    op->setLoc(atCall(op->getLoc()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(atCall(argument.getLoc()));
  });
}

void inlineStep(CallOp call, func::FuncOp step) {
  Bindings bindings(call.getBindingsAttr());
  func::FuncOp copy = step.clone();
  bindOps(copy, bindings);
  AttrTypeReplacer replacer;
  bindings.addTo(replacer, /*dropStatic=*/false);
  replacer.recursivelyReplaceElementsIn(copy, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  addCallSite(copy, call.getLoc());

  Block &body = copy.getBody().front();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), call.getOperands()))
    argument.replaceAllUsesWith(operand);
  Operation *end = body.getTerminator();
  call->getBlock()->getOperations().splice(call->getIterator(),
                                           body.getOperations(), body.begin(),
                                           end->getIterator());
  call.replaceAllUsesWith(end->getOperands());
  call.erase();
  copy.erase();
}

struct InlineCalls : mlatile::impl::InlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SetVector<func::FuncOp> inlined;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      // Calls in the bodies of steps come up in a later round; no step calls
      // itself (call_c3).
      SmallVector<CallOp> calls;
      auto collect = [&] {
        calls.clear();
        kernel.getBody().walk([&](CallOp call) { calls.push_back(call); });
        return !calls.empty();
      };
      while (collect())
        for (CallOp call : calls) {
          auto step = symbols.lookup<func::FuncOp>(call.getCallee());
          if (!step || step.isExternal()) {
            call.emitOpError()
                << "expected a definition of step @" << call.getCallee()
                << ": link it before (-tile-link-steps)";
            return signalPassFailure();
          }
          inlineStep(call, step);
          inlined.insert(step);
        }
    }
    eraseUnused(inlined, symbols);
  }

  /// A step that only erased steps called goes too.
  void eraseUnused(llvm::SetVector<func::FuncOp> &steps, SymbolTable &symbols) {
    for (bool changed = true; changed;) {
      changed = false;
      for (func::FuncOp step : SmallVector<func::FuncOp>(steps.getArrayRef()))
        if (step.isPrivate() &&
            SymbolTable::symbolKnownUseEmpty(step, getOperation())) {
          steps.remove(step);
          symbols.erase(step);
          changed = true;
        }
    }
  }
};

} // namespace
} // namespace mlatile::tile
