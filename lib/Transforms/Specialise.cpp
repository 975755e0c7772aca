// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Transforms/Specialise.h"
#include "mlatile/Dialect/Tile/IR/Bindings.h"
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_TILESPECIALISE
#include "mlatile/Transforms/Specialise.h.inc"
} // namespace mlatile

namespace mlatile::tile {
namespace {

/// Parameter name to IntegerAttr of index, BoolAttr or StringAttr (a format).
using Binding = llvm::StringMap<Attribute>;

/// The value a caller wrote, as the kind of the parameter asks.
FailureOr<Attribute> parseValue(KernelOp kernel, ParameterAttr param,
                                StringRef text) {
  Builder builder(kernel.getContext());
  StringRef name = param.getName();
  switch (param.getKind()) {
  case ParamKind::Format:
    if (!findCacheFormat(text))
      return kernel.emitOpError()
             << "parameter " << name << ": unknown cache format '" << text
             << "', expected one of " << cacheFormatNames();
    return Attribute(builder.getStringAttr(text));
  case ParamKind::Index: {
    int64_t number = 0;
    if (text.getAsInteger(10, number) || number < 0 || number > kMaxParam)
      return kernel.emitOpError()
             << "parameter " << name << ": expected an integer from 0 to "
             << kMaxParam << ", got '" << text << "'";
    return Attribute(builder.getIndexAttr(number));
  }
  case ParamKind::Bool:
    if (text != "true" && text != "false")
      return kernel.emitOpError()
             << "parameter " << name << ": expected true or false, got '"
             << text << "'";
    return Attribute(builder.getBoolAttr(text == "true"));
  case ParamKind::Roles:
    if (!isRolesValue(text))
      return kernel.emitOpError()
             << "parameter " << name
             << ": expected none, or warps that gather, of first and of second "
                "products, like 4+4+8, 4c+4+8 or 4:40+4:152+8:160, got '"
             << text << "'";
    return Attribute(builder.getStringAttr(text));
  }
  return failure();
}

/// The field of a bound format or of roles; null where these are not bound.
Attribute deriveValue(ParameterAttr param, const Binding &binding) {
  auto name = dyn_cast_if_present<StringAttr>(
      binding.lookup(param.getSource().getValue()));
  if (name && param.getField().getValue() == kConvertsField) {
    auto split = parseRoleSplit(name.getValue());
    return BoolAttr::get(param.getContext(), split && split->converts);
  }
  const CacheFormat *format = name ? findCacheFormat(name.getValue()) : nullptr;
  auto field =
      format ? formatField(*format, param.getField().getValue()) : std::nullopt;
  if (!field)
    return {};
  Builder builder(param.getContext());
  return field->isBool ? Attribute(builder.getBoolAttr(field->value))
                       : Attribute(builder.getIndexAttr(field->value));
}

/// What is given, defaults and what is derived of them. With `complete` a
/// parameter without a value is an error.
FailureOr<Binding> bind(KernelOp kernel, const ParamValues &given,
                        bool complete) {
  for (const auto &[name, text] : given) {
    ParameterAttr param = kernel.lookupParam(name);
    if (!param) {
      auto diag = kernel.emitOpError() << "has no parameter " << name;
      auto &note = diag.attachNote() << "its parameters: ";
      if (kernel.getParams().empty())
        note << "none";
      llvm::interleaveComma(
          kernel.getParams().getAsRange<ParameterAttr>(), note,
          [&](ParameterAttr p) { note << p.getName().getValue(); });
      return failure();
    }
    if (param.isDerived())
      return kernel.emitOpError()
             << "parameter " << name << " is derived as "
             << param.getSource().getValue() << '.'
             << param.getField().getValue() << " and cannot be given";
  }
  Binding binding;
  // A derived parameter follows its format in the list (kernel_c2).
  for (auto param : kernel.getParams().getAsRange<ParameterAttr>()) {
    StringRef name = param.getName();
    Attribute value =
        param.isDerived() ? deriveValue(param, binding) : param.getValue();
    if (auto it = given.find(name.str()); it != given.end()) {
      FailureOr<Attribute> parsed = parseValue(kernel, param, it->second);
      if (failed(parsed))
        return failure();
      value = *parsed;
    }
    if (value)
      binding[name] = value;
    else if (complete)
      return kernel.emitOpError() << "parameter " << name << " ("
                                  << stringifyParamKind(param.getKind())
                                  << ") has no default: give it a value";
  }
  return binding;
}

int64_t asInteger(Attribute value) {
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue();
  return cast<IntegerAttr>(value).getInt();
}

/// Checks the requirements whose parameters are all bound; reports every
/// violated one.
LogicalResult checkRequirements(KernelOp kernel, const Binding &binding) {
  bool good = true;
  for (RequireOp require : kernel.getBody().getOps<RequireOp>()) {
    if (!llvm::all_of(require.getNames().getAsValueRange<StringAttr>(),
                      [&](StringRef name) { return binding.contains(name); }))
      continue;
    SmallVector<Attribute> values;
    std::string seen;
    Builder builder(kernel.getContext());
    SmallVector<AffineExpr> constants;
    for (auto name : require.getNames().getAsValueRange<StringAttr>()) {
      int64_t value = asInteger(binding.lookup(name));
      constants.push_back(builder.getAffineConstantExpr(value));
      seen += (seen.empty() ? "" : ", ") + name.str() + " = " +
              std::to_string(value);
    }
    IntegerSet set = require.getSet();
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      // A constraint without a value is one that divides by zero.
      auto value = dyn_cast<AffineConstantExpr>(
          set.getConstraint(i).replaceDims(constants));
      bool holds = value && (set.isEq(i) ? value.getValue() == 0
                                         : value.getValue() >= 0);
      if (holds)
        continue;
      emitError(require.getLoc())
          << "requirement violated: " << require.getMessage() << " (" << seen
          << ")";
      good = false;
      break;
    }
  }
  return success(good);
}

/// Sizes for names in types and attributes of the kernel, its arguments
/// included.
void rewriteTypes(KernelOp kernel, const Binding &binding) {
  Builder builder(kernel.getContext());
  Bindings values;
  for (const auto &entry : binding)
    values.set(BindingAttr::get(builder.getContext(),
                                builder.getStringAttr(entry.getKey()),
                                /*to=*/{}, entry.getValue()));
  AttrTypeReplacer replacer;
  values.addTo(replacer, /*dropStatic=*/true);
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void replaceParams(KernelOp kernel, const Binding &binding) {
  kernel.getBody().walk([&](ParamOp op) {
    OpBuilder builder(op);
    Attribute value = binding.lookup(op.getName());
    op.replaceAllUsesWith(
        arith::ConstantOp::create(builder, op.getLoc(), cast<TypedAttr>(value))
            .getResult());
    op.erase();
  });
}

void recordBinding(KernelOp kernel, const Binding &binding) {
  Builder builder(kernel.getContext());
  if (auto name = dyn_cast<StringAttr>(kernel.getNumWarps()))
    kernel.setNumWarpsAttr(
        builder.getI64IntegerAttr(asInteger(binding.lookup(name.getValue()))));
  if (auto name = dyn_cast_if_present<StringAttr>(kernel.getClusterAttr()))
    kernel.setClusterAttr(
        builder.getI64IntegerAttr(asInteger(binding.lookup(name.getValue()))));
  if (std::optional<StringRef> roles = kernel.getRoles()) {
    auto text = cast<StringAttr>(binding.lookup(*roles));
    if (auto split = parseRoleSplit(text.getValue())) {
      kernel.setNumWarpsAttr(builder.getI64IntegerAttr(split->totalWarps()));
      kernel->setAttr(TileDialect::kRolesAttr, text);
    }
    kernel.removeRolesAttr();
  }
  // A kernel that was bound before has no parameters and keeps its record.
  NamedAttrList values;
  if (auto bound =
          kernel->getAttrOfType<DictionaryAttr>(TileDialect::kBoundAttr))
    values.append(bound.begin(), bound.end());
  for (const auto &entry : binding)
    values.set(entry.getKey(), entry.getValue());
  kernel->setAttr(TileDialect::kBoundAttr,
                  values.getDictionary(kernel.getContext()));
  kernel.setParamsAttr(builder.getArrayAttr({}));
}

/// Canonicalises the body with the patterns of all loaded dialects.
LogicalResult canonicalise(KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, context);
  // Not converging is no failure: the IR is correct after every step.
  (void)applyPatternsGreedily(kernel.getBody(), std::move(patterns));
  return success();
}

FailureOr<KernelOp> findKernel(ModuleOp module, StringRef name) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  std::string names;
  for (KernelOp kernel : kernels) {
    if (name.empty() ? kernels.size() == 1 : kernel.getSymName() == name)
      return kernel;
    names += (names.empty() ? "" : ", ") + kernel.getSymName().str();
  }
  if (kernels.empty())
    return module.emitError("expected a tile.kernel in the module, got none");
  if (name.empty())
    return module.emitError()
           << "expected the name of a kernel, one of " << names;
  return module.emitError() << "expected a kernel of the module, one of "
                            << names << ", got " << name;
}

} // namespace

llvm::Expected<ParamValues> parseParamValues(StringRef text) {
  ParamValues values;
  SmallVector<StringRef> words;
  llvm::SplitString(text, words, " ,");
  for (StringRef word : words) {
    auto [name, value] = word.split('=');
    if (name.empty() || value.empty())
      return llvm::createStringError("expected NAME=VALUE, got '" + word + "'");
    if (!values.emplace(name.str(), value.str()).second)
      return llvm::createStringError("parameter " + name + " is given twice");
  }
  return values;
}

llvm::LogicalResult checkParams(Operation *op, const ParamValues &params,
                                bool complete) {
  auto kernel = cast<KernelOp>(op);
  FailureOr<Binding> binding = bind(kernel, params, complete);
  return success(succeeded(binding) &&
                 succeeded(checkRequirements(kernel, *binding)));
}

llvm::LogicalResult specialise(ModuleOp module, StringRef name,
                               const ParamValues &params) {
  FailureOr<KernelOp> found = findKernel(module, name);
  if (failed(found))
    return failure();
  KernelOp kernel = *found;
  // A callee's names would stay names while the kernel's become sizes.
  WalkResult calls = kernel.getBody().walk([](CallOpInterface call) {
    call->emitOpError("in a kernel: inline the function before (-inline)");
    return WalkResult::interrupt();
  });
  if (calls.wasInterrupted())
    return failure();
  calls = kernel.getBody().walk([](CallOp call) {
    call.emitOpError(
        "in a kernel: inline the step before (-tile-inline-calls)");
    return WalkResult::interrupt();
  });
  if (calls.wasInterrupted())
    return failure();
  FailureOr<Binding> binding = bind(kernel, params, /*complete=*/true);
  if (failed(binding) || failed(checkRequirements(kernel, *binding)))
    return failure();
  for (RequireOp require :
       llvm::make_early_inc_range(kernel.getBody().getOps<RequireOp>()))
    require.erase();
  // Steps too: this kernel calls none, and their names now mean nothing.
  for (Operation &other : llvm::make_early_inc_range(*module.getBody()))
    if (isa<KernelOp, func::FuncOp>(other) && &other != kernel)
      other.erase();
  rewriteTypes(kernel, *binding);
  replaceParams(kernel, *binding);
  recordBinding(kernel, *binding);
  if (failed(canonicalise(kernel)))
    return failure();
  return verify(kernel);
}

namespace {
struct TileSpecialise : impl::TileSpecialiseBase<TileSpecialise> {
  using Base = impl::TileSpecialiseBase<TileSpecialise>;
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<ParamValues> values = parseParamValues(params);
    if (!values) {
      getOperation().emitError(llvm::toString(values.takeError()));
      return signalPassFailure();
    }
    if (failed(specialise(getOperation(), kernel, *values)))
      signalPassFailure();
  }
};
} // namespace

} // namespace mlatile::tile
