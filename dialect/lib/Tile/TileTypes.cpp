// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

#define GET_TYPEDEF_CLASSES
#include "mlatile/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mlatile/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

static LogicalResult verifyDims(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<Attribute> dims) {
  for (Attribute dim : dims)
    if (!isValidDim(dim))
      return emitError() << "expected a dimension to be a name or an integer "
                            "from 0 to "
                         << kMaxParam << ", got '" << dimName(dim) << "'";
  return success();
}

static LogicalResult verifyFormat(function_ref<InFlightDiagnostic()> emitError,
                                  StringAttr format, bool bound) {
  if (bound && !findCacheFormat(format.getValue()))
    return emitError() << "unknown cache format \"" << format.getValue()
                       << "\", expected one of " << cacheFormatNames();
  if (!bound && !isValidDim(format))
    return emitError() << "expected the name of a format parameter, got '"
                       << format.getValue() << "'";
  return success();
}

/// A keyword is a parameter, a string in quotes a format.
static ParseResult parseFormat(AsmParser &parser, StringAttr &format,
                               bool &bound) {
  std::string text;
  bound = succeeded(parser.parseOptionalString(&text));
  if (!bound && parser.parseKeywordOrString(&text))
    return failure();
  format = parser.getBuilder().getStringAttr(text);
  return success();
}

static void printFormat(AsmPrinter &printer, StringAttr format, bool bound) {
  if (bound)
    printer << format;
  else
    printer << format.getValue();
}

//===--- !tile.view -------------------------------------------------------===//

Type ViewType::parse(AsmParser &parser) {
  SmallVector<Attribute> dims;
  Type element;
  if (parser.parseLess() || parser.parseLSquare() || parseDims(parser, dims) ||
      parser.parseRSquare() || parser.parseComma() ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(parser.getContext(), dims, element);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << "<[";
  printDims(printer, getDims());
  printer << "], " << getElementType() << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Attribute> dims, Type element) {
  if (dims.empty()) // view_c1
    return emitError() << "expected at least one dimension";
  if (failed(verifyDims(emitError, dims)))
    return failure();
  bool isInt = element.isSignlessInteger(8) || element.isSignlessInteger(16) ||
               element.isSignlessInteger(32) || element.isSignlessInteger(64);
  bool isFloat =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 64;
  if (!isInt && !isFloat) // view_c2
    return emitError() << "expected the element to be an integer of 8, 16, 32 "
                          "or 64 bits or a float of at most 64, got "
                       << element;
  return success();
}

//===--- !tile.pool -------------------------------------------------------===//

Type PoolType::parse(AsmParser &parser) {
  StringAttr format;
  bool bound = false;
  if (parser.parseLess() || parseFormat(parser, format, bound) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<PoolType>(parser.getContext(), format, bound);
}

void PoolType::print(AsmPrinter &printer) const {
  printer << '<';
  printFormat(printer, getFormat(), getBound());
  printer << '>';
}

LogicalResult PoolType::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr format, bool bound) {
  return verifyFormat(emitError, format, bound); // pool_c1
}

const CacheFormat *PoolType::getCacheFormat() const {
  return getBound() ? findCacheFormat(getFormat().getValue()) : nullptr;
}

//===--- !tile.rows -------------------------------------------------------===//

Type RowsType::parse(AsmParser &parser) {
  StringAttr format;
  bool bound = false;
  SmallVector<Attribute> dims;
  if (parser.parseLess() || parseFormat(parser, format, bound) ||
      parser.parseComma() || parser.parseLSquare() || parseDims(parser, dims) ||
      parser.parseRSquare() || parser.parseGreater())
    return {};
  return parser.getChecked<RowsType>(parser.getContext(), format, bound, dims);
}

void RowsType::print(AsmPrinter &printer) const {
  printer << '<';
  printFormat(printer, getFormat(), getBound());
  printer << ", [";
  printDims(printer, getDims());
  printer << "]>";
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr format, bool bound,
                               ArrayRef<Attribute> dims) {
  if (failed(verifyFormat(emitError, format, bound))) // rows_c1
    return failure();
  if (dims.size() != 1) // rows_c2
    return emitError() << "expected one dimension, the number of rows, got "
                       << dimNames(dims);
  return verifyDims(emitError, dims);
}

const CacheFormat *RowsType::getCacheFormat() const {
  return getBound() ? findCacheFormat(getFormat().getValue()) : nullptr;
}
