// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

#define GET_ATTRDEF_CLASSES
#include "mlatile/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mlatile/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

//===-- #tile.dims
//---------------------------------------------------------===//

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<Attribute> dims;
  if (parser.parseLess() || parseDims(parser, dims) || parser.parseGreater())
    return {};
  return parser.getChecked<DimsAttr>(parser.getContext(), dims);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDims(printer, getDims());
  printer << '>';
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Attribute> dims) {
  for (Attribute dim : dims)
    if (!isValidDim(dim)) // dims_c1
      return emitError() << "expected a dimension to be a name or an integer "
                            "from 0 to "
                         << kMaxParam << ", got '" << dimName(dim) << "'";
  return success();
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size()) // dims_c2
    return emitError() << "expected #tile.dims to have one entry a dimension, "
                       << shape.size() << ", got " << getDims().size();
  for (auto [i, size, dim] : llvm::enumerate(shape, getDims())) {
    auto fixed = dyn_cast<IntegerAttr>(dim);
    int64_t expected = fixed ? fixed.getInt() : ShapedType::kDynamic;
    if (size != expected) // dims_c3
      return emitError() << "expected dimension " << i << " to be "
                         << (fixed ? dimName(dim) : "?")
                         << " because #tile.dims says " << dimName(dim)
                         << ", got "
                         << (ShapedType::isDynamic(size)
                                 ? "?"
                                 : std::to_string(size));
  }
  return success();
}

//===-- #tile.pipeline
//-----------------------------------------------------===//

LogicalResult PipelineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t stages) {
  if (stages < 1 || stages > 8) // pipeline_c1
    return emitError() << "expected stages from 1 to 8, got " << stages;
  return success();
}

//===-- #tile.parameter
//----------------------------------------------------===//

ParameterAttr ParameterAttr::parseBare(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name, kindText;
  if (parser.parseKeyword(&name) || parser.parseColon())
    return {};
  SMLoc kindLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kindText))
    return {};
  std::optional<ParamKind> kind = symbolizeParamKind(kindText);
  if (!kind) {
    parser.emitError(kindLoc)
        << "expected format, index, i1 or roles, got " << kindText;
    return {};
  }
  Builder &builder = parser.getBuilder();
  Attribute value;
  StringAttr source, field;
  if (succeeded(parser.parseOptionalEqual())) {
    std::string text;
    StringRef word;
    int64_t number = 0;
    SMLoc valueLoc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalString(&text))) {
      value = builder.getStringAttr(text);
    } else if (succeeded(parser.parseOptionalKeyword(&word))) {
      // Before the integer, which would take `true` for 1.
      if (word == "true" || word == "false") {
        value = builder.getBoolAttr(word == "true");
      } else if (word == kNoRoles) {
        value = builder.getStringAttr(word);
      } else {
        auto [base, member] = word.split('.');
        if (base.empty() || member.empty()) {
          parser.emitError(valueLoc)
              << "expected an integer, true, false, none, a format or roles in "
                 "quotes, or PARAMETER.field, got "
              << word;
          return {};
        }
        source = builder.getStringAttr(base);
        field = builder.getStringAttr(member);
      }
    } else {
      OptionalParseResult isNumber = parser.parseOptionalInteger(number);
      if (!isNumber.has_value())
        parser.emitError(valueLoc, "expected the default of the parameter");
      if (!isNumber.has_value() || failed(*isNumber))
        return {};
      value = builder.getIndexAttr(number);
    }
  }
  return ParameterAttr::getChecked(
      [&] { return parser.emitError(loc); }, parser.getContext(),
      builder.getStringAttr(name), *kind, value, source, field);
}

void ParameterAttr::printBare(AsmPrinter &printer) const {
  printer << getName().getValue() << " : " << stringifyParamKind(getKind());
  if (getSource())
    printer << " = " << getSource().getValue() << '.' << getField().getValue();
  else if (auto text = dyn_cast_if_present<StringAttr>(getValue());
           text && text.getValue() == kNoRoles)
    printer << " = " << kNoRoles;
  else if (text)
    printer << " = " << text;
  else if (auto flag = dyn_cast_if_present<BoolAttr>(getValue()))
    printer << " = " << (flag.getValue() ? "true" : "false");
  else if (auto number = dyn_cast_if_present<IntegerAttr>(getValue()))
    printer << " = " << number.getInt();
}

Attribute ParameterAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  ParameterAttr parameter = parseBare(parser);
  if (!parameter || parser.parseGreater())
    return {};
  return parameter;
}

void ParameterAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBare(printer);
  printer << '>';
}

LogicalResult
ParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringAttr name, ParamKind kind, Attribute value,
                      StringAttr source, StringAttr field) {
  if (!name || !isValidDim(name))
    return emitError() << "expected the name of a parameter, got '"
                       << (name ? name.getValue() : "") << "'";
  StringRef kindName = stringifyParamKind(kind);
  if (!source != !field || (source && value))
    return emitError() << "parameter " << name.getValue()
                       << ": expected either a default or PARAMETER.field";
  if (field && field.getValue() == kConvertsField) { // of roles
    if (kind != ParamKind::Bool)
      return emitError() << "parameter " << name.getValue() << ": field "
                         << kConvertsField << " is i1, got " << kindName;
    return success();
  }
  if (field) { // parameter_c2
    std::optional<FormatField> known =
        formatField(cacheFormats().front(), field.getValue());
    if (!known)
      return emitError() << "parameter " << name.getValue()
                         << ": expected a field of a format ("
                         << formatFieldNames() << ") or of roles ("
                         << kConvertsField << "), got '" << field.getValue()
                         << "'";
    StringRef expected =
        stringifyParamKind(known->isBool ? ParamKind::Bool : ParamKind::Index);
    if (expected != kindName)
      return emitError() << "parameter " << name.getValue() << ": field "
                         << field.getValue() << " is " << expected << ", got "
                         << kindName;
    return success();
  }
  if (!value)
    return success();
  // parameter_c1
  auto mismatch = [&]() {
    return emitError() << "parameter " << name.getValue()
                       << ": expected a default of type " << kindName
                       << ", got " << value;
  };
  switch (kind) {
  case ParamKind::Format: {
    auto text = dyn_cast<StringAttr>(value);
    if (!text)
      return mismatch();
    if (!findCacheFormat(text.getValue()))
      return emitError() << "parameter " << name.getValue()
                         << ": unknown cache format \"" << text.getValue()
                         << "\", expected one of " << cacheFormatNames();
    return success();
  }
  case ParamKind::Index: {
    auto number = dyn_cast<IntegerAttr>(value);
    if (!number || !number.getType().isIndex())
      return mismatch();
    if (number.getInt() < 0 || number.getInt() > kMaxParam)
      return emitError() << "parameter " << name.getValue()
                         << ": expected a default from 0 to " << kMaxParam
                         << ", got " << number.getInt();
    return success();
  }
  case ParamKind::Bool:
    return isa<BoolAttr>(value) ? success() : LogicalResult(mismatch());
  case ParamKind::Roles: {
    auto text = dyn_cast<StringAttr>(value);
    return text && isRolesValue(text.getValue()) ? success()
                                                 : LogicalResult(mismatch());
  }
  }
  return success();
}

//===-- #tile.binding
//------------------------------------------------------===//

BindingAttr BindingAttr::parseBare(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name, word;
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return {};
  Builder &builder = parser.getBuilder();
  Attribute value;
  StringAttr to;
  std::string text;
  int64_t number = 0;
  SMLoc valueLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalString(&text))) {
    value = builder.getStringAttr(text);
  } else if (succeeded(parser.parseOptionalKeyword(&word))) {
    // Before the integer, which would take `true` for 1.
    if (word == "true" || word == "false")
      value = builder.getBoolAttr(word == "true");
    else
      to = builder.getStringAttr(word);
  } else {
    OptionalParseResult isNumber = parser.parseOptionalInteger(number);
    if (!isNumber.has_value())
      parser.emitError(valueLoc, "expected a name, an integer, true, false or "
                                 "a format in quotes");
    if (!isNumber.has_value() || failed(*isNumber))
      return {};
    value = builder.getIndexAttr(number);
  }
  return BindingAttr::getChecked([&] { return parser.emitError(loc); },
                                 parser.getContext(),
                                 builder.getStringAttr(name), to, value);
}

std::string BindingAttr::getText() const {
  if (getTo())
    return getTo().str();
  if (auto text = dyn_cast<StringAttr>(getValue()))
    return ("\"" + text.getValue() + "\"").str();
  if (auto flag = dyn_cast<BoolAttr>(getValue()))
    return flag.getValue() ? "true" : "false";
  return std::to_string(cast<IntegerAttr>(getValue()).getInt());
}

void BindingAttr::printBare(AsmPrinter &printer) const {
  printer << getName().getValue() << " = " << getText();
}

Attribute BindingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  BindingAttr binding = parseBare(parser);
  if (!binding || parser.parseGreater())
    return {};
  return binding;
}

void BindingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBare(printer);
  printer << '>';
}

LogicalResult BindingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringAttr name, StringAttr to,
                                  Attribute value) {
  for (StringAttr text : {name, to}) // binding_c1
    if (text && !isValidDim(text))
      return emitError() << "expected a name: a letter or _, then letters, "
                            "digits or _, got '"
                         << text.getValue() << "'";
  if (!name || !to == !value) // binding_c2
    return emitError() << "expected a name, and a name or a value for it";
  if (!value || isa<BoolAttr>(value))
    return success();
  if (auto format = dyn_cast<StringAttr>(value)) {
    // What a parameter of roles is bound to is recorded in the same way.
    if (!findCacheFormat(format.getValue()) && !isRolesValue(format.getValue()))
      return emitError() << name.getValue() << ": unknown cache format \""
                         << format.getValue() << "\", expected one of "
                         << cacheFormatNames();
    return success();
  }
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || !number.getType().isIndex())
    return emitError() << name.getValue()
                       << ": expected an integer, true, false or a format in "
                          "quotes, got "
                       << value;
  if (number.getInt() < 0 || number.getInt() > kMaxParam)
    return emitError() << name.getValue() << ": expected an integer from 0 to "
                       << kMaxParam << ", got " << number.getInt();
  return success();
}
