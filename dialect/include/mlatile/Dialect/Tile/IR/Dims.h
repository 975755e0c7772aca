// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions of tiles, views and rows: a name (StringAttr), a size
// (IntegerAttr) or null where nothing is known (a `?` without `#tile.dims`).
#ifndef MLATILE_DIALECT_TILE_IR_DIMS_H
#define MLATILE_DIALECT_TILE_IR_DIMS_H

#include "mlatile/Target/Format.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mlatile::tile {

/// Largest value of an `index` parameter and of a dimension in an encoding.
inline constexpr int64_t kMaxParam = 2147483647;

/// One entry a dimension of the tile; empty for a scalar. Encodings of other
/// dialects count as none.
llvm::SmallVector<mlir::Attribute> dimsOf(mlir::Type type);
/// The element type of a tile, or the scalar itself.
mlir::Type elementOf(mlir::Type type);
/// False if the two are known to differ. A name differs from any size.
bool sameDim(mlir::Attribute a, mlir::Attribute b);
bool sameDims(llvm::ArrayRef<mlir::Attribute> a,
              llvm::ArrayRef<mlir::Attribute> b);
/// As in the source: `BH`, `512` or `?`; a list in brackets.
std::string dimName(mlir::Attribute dim);
std::string dimNames(llvm::ArrayRef<mlir::Attribute> dims);

/// `BH, 512` up to, not including, the closing bracket.
mlir::ParseResult parseDims(mlir::AsmParser &parser,
                            llvm::SmallVectorImpl<mlir::Attribute> &dims);
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<mlir::Attribute> dims);
/// True for a name or a size from 0 to kMaxParam.
bool isValidDim(mlir::Attribute dim);

/// A field of a cache format by the name that parameters are derived with.
struct FormatField {
  int64_t value;
  bool isBool;
};
std::optional<FormatField> formatField(const CacheFormat &format,
                                       llvm::StringRef field);
/// The names that `formatField` knows, for messages.
std::string formatFieldNames();
/// The names of all cache formats, for messages.
std::string cacheFormatNames();

} // namespace mlatile::tile
#endif
