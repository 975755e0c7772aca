// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Transforms/Steps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_LINKSTEPS
#include "mlatile/Transforms/Steps.h.inc"

namespace {

/// A step in a file, whose module is given.
struct Definition {
  func::FuncOp step;
  ModuleOp module;
};

/// Links the steps of one module.
class StepLinker {
public:
  StepLinker(ModuleOp module, ArrayRef<StepFolder> folders)
      : module(module), symbols(module), folders(folders) {}

  LogicalResult run() {
    for (auto step : module.getOps<func::FuncOp>())
      if (isDeclaration(step))
        declared.push_back(step);
    while (!declared.empty())
      if (failed(define(declared.pop_back_val())))
        return failure();
    return success();
  }

  static bool isDeclaration(func::FuncOp step) {
    return step.isPrivate() && step.isExternal();
  }

private:
  LogicalResult define(func::FuncOp declaration);
  LogicalResult takeCallees(func::FuncOp step, ModuleOp from);
  LogicalResult checkType(func::FuncOp step, func::FuncOp other);
  FailureOr<Definition> find(func::FuncOp declaration);
  FailureOr<ModuleOp> parse(const StepFile &file);
  std::string places() const;

  ModuleOp module;
  SymbolTable symbols;
  ArrayRef<StepFolder> folders;
  SmallVector<func::FuncOp> declared;
  /// The files that have been read so far.
  llvm::DenseMap<const StepFile *, OwningOpRef<ModuleOp>> parsed;
  /// The file that a definition in `module` was taken from.
  llvm::DenseMap<StringAttr, ModuleOp> origins;
};

/// Puts the definition in the place of a declaration.
LogicalResult StepLinker::define(func::FuncOp declaration) {
  FailureOr<Definition> found = find(declaration);
  if (failed(found) || failed(checkType(declaration, found->step)))
    return failure();
  func::FuncOp copy = found->step.clone();
  Block::iterator place = std::next(declaration->getIterator());
  symbols.erase(declaration);
  symbols.insert(copy, place);
  origins[copy.getSymNameAttr()] = found->module;
  return takeCallees(copy, found->module);
}

/// Brings in what a definition that is new in the module refers to.
LogicalResult StepLinker::takeCallees(func::FuncOp step, ModuleOp from) {
  std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(step);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses) {
    StringAttr name = use.getSymbolRef().getRootReference();
    auto theirs = from.lookupSymbol<func::FuncOp>(name);
    if (!theirs)
      continue; // the verifier has seen to it
    auto ours = symbols.lookup<func::FuncOp>(name);
    if (!ours) {
      func::FuncOp copy = theirs.clone();
      symbols.insert(copy);
      if (isDeclaration(copy)) {
        declared.push_back(copy);
        continue;
      }
      origins[name] = from;
      if (failed(takeCallees(copy, from)))
        return failure();
      continue;
    }
    if (failed(checkType(ours, theirs)))
      return failure();
    if (!ours.isExternal() && !theirs.isExternal() &&
        origins.lookup(name) != from) {
      InFlightDiagnostic diag = ours.emitError()
                                << "step @" << step.getSymName() << " calls @"
                                << name.getValue()
                                << " of its own file; expected no other "
                                   "function of that name";
      diag.attachNote(theirs.getLoc()) << "that one is defined here";
      return diag;
    }
  }
  return success();
}

LogicalResult StepLinker::checkType(func::FuncOp step, func::FuncOp other) {
  if (step.getFunctionType() == other.getFunctionType())
    return success();
  InFlightDiagnostic diag = step.emitError()
                            << "expected step @" << step.getSymName()
                            << " to have the same type everywhere, "
                            << other.getFunctionType() << " in its file, got "
                            << step.getFunctionType();
  diag.attachNote(other.getLoc())
      << (other.isExternal() ? "declared here" : "defined here");
  return diag;
}

/// The first folder that defines the step decides.
FailureOr<Definition> StepLinker::find(func::FuncOp declaration) {
  StringRef name = declaration.getSymName();
  for (const StepFolder &folder : folders) {
    Definition found;
    for (const StepFile &file : folder.files) {
      // A file that does not say the name need not even parse.
      if (!StringRef(file.text).contains(name))
        continue;
      FailureOr<ModuleOp> steps = parse(file);
      if (failed(steps))
        return failure();
      auto step = steps->lookupSymbol<func::FuncOp>(name);
      if (!step || step.isExternal())
        continue;
      if (found.step) {
        InFlightDiagnostic diag =
            step.emitError() << "step @" << name << " is defined in two files";
        diag.attachNote(found.step.getLoc()) << "the other one";
        return diag;
      }
      found = {step, *steps};
    }
    if (found.step)
      return found;
  }
  return declaration.emitError()
         << "expected a definition of step @" << name
         << " in a file of steps, got none in " << places();
}

FailureOr<ModuleOp> StepLinker::parse(const StepFile &file) {
  OwningOpRef<ModuleOp> &steps = parsed[&file];
  if (steps)
    return *steps;
  steps = parseSourceString<ModuleOp>(
      file.text, ParserConfig(module.getContext()), file.path);
  if (!steps)
    return failure();
  for (Operation &op : steps->getOps()) {
    auto step = dyn_cast<func::FuncOp>(op);
    if (!step || !step.isPrivate())
      return op.emitError() << "expected private functions in a file of steps, "
                               "got "
                            << (step ? "@" + step.getSymName().str()
                                     : op.getName().getStringRef().str());
  }
  return *steps;
}

/// Where steps are looked for, with the files that are there.
std::string StepLinker::places() const {
  std::string text;
  for (const StepFolder &folder : folders) {
    text += (text.empty() ? "" : ", ") + folder.name + " (";
    std::string files;
    for (const StepFile &file : folder.files)
      files += (files.empty() ? "" : ", ") +
               llvm::sys::path::filename(file.path).str();
    text += (files.empty() ? "no file" : files) + ")";
  }
  return text;
}

struct LinkStepsPass : impl::LinkStepsBase<LinkStepsPass> {
  using Base = impl::LinkStepsBase<LinkStepsPass>;
  using Base::Base;
  LinkStepsPass(LinkStepsOptions options, std::vector<StepFile> own)
      : Base(std::move(options)), own(std::move(own)) {}

  void runOnOperation() override {
    if (llvm::none_of(getOperation().getOps<func::FuncOp>(),
                      StepLinker::isDeclaration))
      return; // no file is read for nothing
    std::vector<StepFolder> folders;
    if (!own.empty())
      folders.push_back({"the steps of the kernel's file", own});
    llvm::Error error = addFolders(folders);
    if (error) {
      getOperation().emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    if (failed(StepLinker(getOperation(), folders).run()))
      signalPassFailure();
  }

private:
  llvm::Error addFolders(std::vector<StepFolder> &folders) {
    if (!steps.empty()) {
      auto folder = readSteps(steps);
      if (!folder)
        return folder.takeError();
      folders.push_back(std::move(*folder));
    }
    auto known = knownSteps();
    if (!known)
      return known.takeError();
    llvm::append_range(folders, std::move(*known));
    return llvm::Error::success();
  }

  std::vector<StepFile> own;
};

} // namespace

std::unique_ptr<Pass> createLinkSteps(LinkStepsOptions options,
                                      std::vector<StepFile> own) {
  return std::make_unique<LinkStepsPass>(std::move(options), std::move(own));
}

} // namespace mlatile
