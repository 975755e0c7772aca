// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NameChecker.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace mlatile::tile {

static StringRef whatIs(NameUse use) {
  switch (use) {
  case NameUse::Dim:
  case NameUse::ViewDim:
    return "dimension";
  case NameUse::Format:
    return "format";
  case NameUse::Index:
  case NameUse::Bool:
  case NameUse::Number:
    break;
  }
  return "parameter";
}

/// `BN`, or `BN, bound to BM,`.
static std::string described(StringAttr name, BindingAttr binding) {
  return binding ? name.str() + ", bound to " + binding.getText() + ","
                 : name.str();
}

InFlightDiagnostic NameChecker::error(Operation *op) {
  if (!call)
    return op->emitOpError();
  InFlightDiagnostic diag = call.emitOpError();
  auto step = dyn_cast<func::FuncOp>(op);
  if (!step)
    step = op->getParentOfType<func::FuncOp>();
  if (step)
    diag << "in step @" << step.getSymName() << ": ";
  diag.attachNote(op->getLoc()) << "used here";
  return diag;
}

LogicalResult NameChecker::check(Operation *op, const Bindings &bindings) {
  LogicalResult good = success();
  forEachName(op, [&](StringAttr name, NameUse use) {
    if (succeeded(good))
      good = check(op, name, use, bindings);
  });
  auto dequant = dyn_cast<DequantOp>(op);
  return failed(good) || !dequant ? good : checkDequant(dequant, bindings);
}

LogicalResult NameChecker::check(Operation *op, Type type,
                                 const Bindings &bindings) {
  LogicalResult good = success();
  forEachName(type, [&](StringAttr name, NameUse use) {
    if (succeeded(good))
      good = check(op, name, use, bindings);
  });
  return good;
}

LogicalResult NameChecker::checkValue(Operation *op, BindingAttr binding,
                                      NameUse use) {
  Attribute value = binding.getValue();
  bool isBool = isa<BoolAttr>(value);
  bool isFormat = isa<StringAttr>(value);
  bool isIndex = !isBool && !isFormat;
  auto wrong = [&](StringRef expected) {
    return error(op) << whatIs(use) << ' ' << binding.getName().getValue()
                     << ": expected " << expected << ", got "
                     << binding.getText();
  };
  switch (use) {
  case NameUse::Dim:
  case NameUse::ViewDim:
    return isIndex ? success() : LogicalResult(wrong("an integer"));
  case NameUse::Format:
    return isFormat ? success() : LogicalResult(wrong("a format in quotes"));
  case NameUse::Index:
    return isIndex ? success() : LogicalResult(wrong("an integer"));
  case NameUse::Bool:
    return isBool ? success() : LogicalResult(wrong("true or false"));
  case NameUse::Number:
    return !isFormat ? success()
                     : LogicalResult(wrong("an integer, true or false"));
  }
  return success();
}

LogicalResult NameChecker::check(Operation *op, StringAttr name, NameUse use,
                                 const Bindings &bindings) {
  BindingAttr binding = bindings.lookup(name.getValue());
  if (binding && !binding.getTo())
    return checkValue(op, binding, use);
  if (!kernel)
    return success();
  StringAttr own = binding ? binding.getTo() : name;
  ParameterAttr param = kernel.lookupParam(own.getValue());
  if (!param) {
    if (use == NameUse::ViewDim)
      return success();
    InFlightDiagnostic diag = error(op);
    diag << whatIs(use) << ' ' << described(name, binding)
         << " is not a parameter of kernel @" << kernel.getSymName();
    Diagnostic &note = diag.attachNote(kernel.getLoc()) << "its parameters: ";
    if (kernel.getParams().empty())
      note << "none";
    llvm::interleaveComma(
        kernel.getParams().getAsRange<ParameterAttr>(), note,
        [&](ParameterAttr p) { note << p.getName().getValue(); });
    return diag;
  }
  StringRef got = stringifyParamKind(param.getKind());
  switch (use) {
  case NameUse::Dim:
  case NameUse::ViewDim:
    if (param.getKind() != ParamKind::Index)
      return error(op) << "dimension " << own.getValue()
                       << ": expected an index parameter, got " << got;
    break;
  case NameUse::Format:
    if (param.getKind() != ParamKind::Format)
      return error(op) << "format " << own.getValue()
                       << ": expected a format parameter, got " << got;
    break;
  case NameUse::Index:
  case NameUse::Bool: {
    ParamKind kind = use == NameUse::Bool ? ParamKind::Bool : ParamKind::Index;
    if (param.getKind() != kind)
      return error(op) << "parameter " << own.getValue() << " is " << got
                       << ", got " << cast<ParamOp>(op).getType();
    break;
  }
  case NameUse::Number:
    if (param.getKind() != ParamKind::Index &&
        param.getKind() != ParamKind::Bool)
      return error(op) << "expected index or i1 parameters, got " << got << ' '
                       << own.getValue();
    break;
  }
  return success();
}

/// dequant_c3 while the format is a parameter.
LogicalResult NameChecker::checkDequant(DequantOp op,
                                        const Bindings &bindings) {
  auto rows = dyn_cast<RowsType>(bindings.apply(op.getRows().getType()));
  SmallVector<Attribute> dims = dimsOf(bindings.apply(op.getType()));
  if (!kernel || !rows || rows.getBound())
    return success();
  auto name = dyn_cast_if_present<StringAttr>(dims[1]);
  StringRef field = op.getSizeField();
  ParameterAttr param = name ? kernel.lookupParam(name) : ParameterAttr();
  // That of another format will do: a step may serve several that agree, which
  // is checked when they are bound.
  if (!param || !param.getSource() || param.getField().getValue() != field)
    return error(op) << "expected the second dimension to be a parameter "
                        "derived as "
                     << rows.getFormat().getValue() << '.' << field << ", got "
                     << dimName(dims[1]);
  return success();
}

} // namespace mlatile::tile
