// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Dims.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mlatile::tile {

SmallVector<Attribute> dimsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  if (auto named = dyn_cast_if_present<DimsAttr>(tensor.getEncoding()))
    return SmallVector<Attribute>(named.getDims());
  SmallVector<Attribute> dims;
  Builder builder(type.getContext());
  for (int64_t size : tensor.getShape())
    dims.push_back(ShapedType::isDynamic(size)
                       ? Attribute()
                       : builder.getI64IntegerAttr(size));
  return dims;
}

Type elementOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

bool sameDim(Attribute a, Attribute b) { return !a || !b || a == b; }

bool sameDims(ArrayRef<Attribute> a, ArrayRef<Attribute> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
           return sameDim(std::get<0>(pair), std::get<1>(pair));
         });
}

std::string dimName(Attribute dim) {
  if (auto name = dyn_cast_if_present<StringAttr>(dim))
    return name.str();
  if (auto size = dyn_cast_if_present<IntegerAttr>(dim))
    return std::to_string(size.getInt());
  return "?";
}

std::string dimNames(ArrayRef<Attribute> dims) {
  return "[" + llvm::join(llvm::map_range(dims, dimName), ", ") + "]";
}

ParseResult parseDims(AsmParser &parser, SmallVectorImpl<Attribute> &dims) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    StringRef name;
    int64_t size = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(&name))) {
      dims.push_back(parser.getBuilder().getStringAttr(name));
      return success();
    }
    OptionalParseResult isSize = parser.parseOptionalInteger(size);
    if (!isSize.has_value())
      return parser.emitError(loc,
                              "expected a dimension: a name or an integer");
    if (succeeded(*isSize))
      dims.push_back(parser.getBuilder().getI64IntegerAttr(size));
    return *isSize;
  });
}

void printDims(AsmPrinter &printer, ArrayRef<Attribute> dims) {
  llvm::interleaveComma(dims, printer.getStream(),
                        [&](Attribute dim) { printer << dimName(dim); });
}

bool isValidDim(Attribute dim) {
  if (auto name = dyn_cast_if_present<StringAttr>(dim)) {
    StringRef text = name.getValue();
    return !text.empty() &&
           (llvm::isAlpha(text.front()) || text.front() == '_') &&
           llvm::all_of(text,
                        [](char c) { return llvm::isAlnum(c) || c == '_'; });
  }
  auto size = dyn_cast_if_present<IntegerAttr>(dim);
  return size && size.getType().isInteger(64) && size.getInt() >= 0 &&
         size.getInt() <= kMaxParam;
}

namespace {
struct FieldEntry {
  StringLiteral name;
  bool isBool;
  int64_t (*value)(const CacheFormat &);
};
constexpr FieldEntry kFields[] = {
    {"nope", false, [](const CacheFormat &f) -> int64_t { return f.nope; }},
    {"rope", false, [](const CacheFormat &f) -> int64_t { return f.rope; }},
    {"group", false, [](const CacheFormat &f) -> int64_t { return f.group; }},
    {"groups", false,
     [](const CacheFormat &f) -> int64_t { return f.groups(); }},
    {"dim_qk", false,
     [](const CacheFormat &f) -> int64_t { return f.dimQK(); }},
    {"dim_v", false, [](const CacheFormat &f) -> int64_t { return f.dimV(); }},
    {"rope_in_value", true,
     [](const CacheFormat &f) -> int64_t { return f.ropeInValue; }},
    {"scale_e4m3", true,
     [](const CacheFormat &f) -> int64_t {
       return f.scale == ScaleType::E4M3;
     }},
    {"scale_f32", true,
     [](const CacheFormat &f) -> int64_t { return f.scale == ScaleType::F32; }},
};
} // namespace

std::optional<FormatField> formatField(const CacheFormat &format,
                                       StringRef field) {
  for (const FieldEntry &entry : kFields)
    if (entry.name == field)
      return FormatField{entry.value(format), entry.isBool};
  return std::nullopt;
}

std::string formatFieldNames() {
  return llvm::join(
      llvm::map_range(kFields, [](const FieldEntry &f) { return f.name; }),
      ", ");
}

std::string cacheFormatNames() {
  std::string names;
  for (const CacheFormat &format : cacheFormats())
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

} // namespace mlatile::tile
