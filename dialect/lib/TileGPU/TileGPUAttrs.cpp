// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlatile::tilegpu;
using mlatile::DistributedLayout;

#define GET_ATTRDEF_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.cpp.inc"

void TileGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.cpp.inc"
      >();
}

LayoutAttr LayoutAttr::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

/// `[1, 2]`
static ParseResult parseCoords(AsmParser &parser,
                               DistributedLayout::Coords &coords) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(coords.emplace_back());
  });
}

/// `reg = [[1, 2], [3, 4]],`
static ParseResult parseBases(AsmParser &parser, StringRef name,
                              DistributedLayout::Bases &bases) {
  if (parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseCoords(parser, bases.emplace_back());
      }))
    return failure();
  return parser.parseComma();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  DistributedLayout::Bases reg, lane, warp;
  DistributedLayout::Coords reps;
  if (parser.parseLess() || parseBases(parser, "reg", reg) ||
      parseBases(parser, "lane", lane) || parseBases(parser, "warp", warp) ||
      parser.parseKeyword("reps") || parser.parseEqual() ||
      parseCoords(parser, reps) || parser.parseGreater())
    return {};
  std::string error;
  auto layout = DistributedLayout::create(reg, lane, warp, reps, &error);
  if (!layout) { // layout_c1
    parser.emitError(loc, "invalid layout: ") << error;
    return {};
  }
  return get(parser.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<' << getDistributed().str() << '>';
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  DistributedLayout::Coords own = getDistributed().shape();
  if (ArrayRef<int64_t>(own) != shape) // layout_c2
    return emitError() << "expected the layout's shape to be [" << shape
                       << "], got [" << ArrayRef<int64_t>(own) << "]";
  return success();
}
