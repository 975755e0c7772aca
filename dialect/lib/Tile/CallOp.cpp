// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.call against the steps that it brings in. Numbers are those of the ODS
// text.
#include "NameChecker.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlatile::tile;

namespace {
/// A call inside of a step: `tile.call`, or `func.call`, which binds nothing.
struct InnerCall {
  func::FuncOp step; ///< null if there is no such function
  Bindings bindings;
};

/// What one tile.call brings in: the step, and those that it calls.
class CalledSteps {
public:
  explicit CalledSteps(SymbolTableCollection &symbols) : symbols(symbols) {}

  /// call_c3: the steps on a way from `step` back to it, or nothing.
  std::string cycleFrom(func::FuncOp step) {
    if (!finished.insert(step).second) // not seen before
      return "";
    path.push_back(step);
    for (InnerCall &inner : callsOf(step)) {
      if (!inner.step)
        continue;
      auto *again = llvm::find(path, inner.step);
      if (again == path.end()) {
        std::string cycle = cycleFrom(inner.step);
        if (!cycle.empty())
          return cycle;
        continue;
      }
      std::string text;
      for (func::FuncOp on : llvm::make_range(again, path.end()))
        text += "@" + on.getSymName().str() + " -> ";
      return text + "@" + inner.step.getSymName().str();
    }
    path.pop_back();
    return "";
  }

  /// The names that a caller of a step may bind.
  struct Names {
    llvm::StringSet<> names;
    bool all = true; ///< false where a step without a body may use more
  };
  /// call_c4. The steps call themselves nowhere (call_c3).
  const Names &namesOf(func::FuncOp step) {
    if (auto it = known.find(step); it != known.end())
      return *it->second;
    auto found = std::make_unique<Names>();
    auto add = [&](StringAttr name, NameUse) {
      found->names.insert(name.getValue());
    };
    for (Type type : typesOf(step))
      forEachName(type, add);
    found->all = !step.isExternal();
    step.getBody().walk([&](Operation *op) { forEachName(op, add); });
    for (InnerCall &inner : callsOf(step)) {
      if (!inner.step) {
        found->all = false;
        continue;
      }
      const Names &theirs = namesOf(inner.step);
      found->all &= theirs.all;
      for (StringRef name : theirs.names.keys()) {
        BindingAttr binding = inner.bindings.lookup(name);
        if (!binding || binding.getTo())
          found->names.insert(binding ? binding.getTo().getValue() : name);
      }
    }
    return *(known[step] = std::move(found));
  }

  /// call_c6
  LogicalResult checkNames(NameChecker &checker, func::FuncOp step,
                           const Bindings &bindings) {
    if (!checked.insert({step, bindings.asAttr(step.getContext())}).second)
      return success();
    for (Type type : typesOf(step))
      if (failed(checker.check(step, type, bindings)))
        return failure();
    WalkResult walk = step.getBody().walk([&](Operation *op) {
      return failed(checker.check(op, bindings)) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    for (InnerCall &inner : callsOf(step))
      if (inner.step && failed(checkNames(checker, inner.step,
                                          bindings.within(inner.bindings))))
        return failure();
    return success();
  }

private:
  static SmallVector<Type> typesOf(func::FuncOp step) {
    SmallVector<Type> types(step.getArgumentTypes());
    llvm::append_range(types, step.getResultTypes());
    return types;
  }

  SmallVector<InnerCall> callsOf(func::FuncOp step) {
    SmallVector<InnerCall> calls;
    auto find = [&](Operation *op, FlatSymbolRefAttr callee) {
      return symbols.lookupNearestSymbolFrom<func::FuncOp>(op, callee);
    };
    step.getBody().walk([&](Operation *op) {
      if (auto inner = dyn_cast<CallOp>(op))
        calls.push_back({find(op, inner.getCalleeAttr()),
                         Bindings(inner.getBindingsAttr())});
      else if (auto plain = dyn_cast<func::CallOp>(op))
        calls.push_back({find(op, plain.getCalleeAttr()), Bindings()});
    });
    return calls;
  }

  SymbolTableCollection &symbols;
  llvm::DenseSet<Operation *> finished;
  SmallVector<func::FuncOp> path;
  llvm::DenseMap<Operation *, std::unique_ptr<Names>> known;
  llvm::DenseSet<std::pair<Operation *, Attribute>> checked;
};

/// ` (BN bound to BM)` where a bound name stands in the type.
std::string boundIn(Type type, const Bindings &bindings) {
  std::string text;
  llvm::StringSet<> seen;
  forEachName(type, [&](StringAttr name, NameUse) {
    BindingAttr binding = bindings.lookup(name.getValue());
    if (binding && seen.insert(name.getValue()).second)
      text += (text.empty() ? " (" : ", ") + name.str() + " bound to " +
              binding.getText();
  });
  return text.empty() ? text : text + ")";
}

/// call_c5 for operands or results.
LogicalResult checkTypes(CallOp call, func::FuncOp step, StringRef what,
                         ArrayRef<Type> declared, TypeRange given,
                         const Bindings &bindings) {
  auto note = [&](InFlightDiagnostic diag) -> LogicalResult {
    diag.attachNote(step.getLoc()) << "declared here";
    return diag;
  };
  if (declared.size() != given.size())
    return note(call.emitOpError()
                << "expected " << declared.size() << ' ' << what << "s of @"
                << step.getSymName() << ", got " << given.size());
  for (auto [i, type, got] : llvm::enumerate(declared, given)) {
    Type expected = bindings.apply(type);
    if (expected != got)
      return note(call.emitOpError()
                  << "expected " << what << ' ' << i << " of @"
                  << step.getSymName() << " to be " << expected
                  << boundIn(type, bindings) << ", got " << got);
  }
  return success();
}
} // namespace

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto step =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!step) // call_c1
    return emitOpError() << "expected a function of the module, got "
                         << getCalleeAttr();
  if (!step.isExternal() &&
      (!step.getBody().hasOneBlock() ||
       !isa<func::ReturnOp>(step.getBody().front().back()))) { // call_c2
    InFlightDiagnostic diag = emitOpError()
                              << "expected @" << getCallee()
                              << " to be one block that ends in func.return";
    diag.attachNote(step.getLoc()) << "defined here";
    return diag;
  }
  CalledSteps steps(symbols);
  std::string cycle = steps.cycleFrom(step);
  if (!cycle.empty()) // call_c3
    return emitOpError() << "expected steps that do not call themselves, got "
                         << cycle;

  Bindings bindings(getBindingsAttr());
  llvm::StringSet<> bound;
  const CalledSteps::Names &used = steps.namesOf(step);
  if (getBindingsAttr())
    for (auto binding : getBindingsAttr().getAsRange<BindingAttr>()) {
      StringRef name = binding.getName();
      if (!bound.insert(name).second) // call_c4
        return emitOpError() << "name " << name << " is bound twice";
      if (used.all && !used.names.contains(name)) {
        SmallVector<StringRef> sorted(used.names.keys());
        llvm::sort(sorted);
        return emitOpError()
               << "expected names that @" << getCallee() << " uses ("
               << llvm::join(sorted, ", ") << "), got " << name;
      }
    }
  if (failed(checkTypes(*this, step, "operand", step.getArgumentTypes(),
                        getOperandTypes(), bindings)) ||
      failed(checkTypes(*this, step, "result", step.getResultTypes(),
                        getResultTypes(), bindings))) // call_c5
    return failure();
  NameChecker checker((*this)->getParentOfType<KernelOp>(), *this);
  return steps.checkNames(checker, step, bindings); // call_c6
}
