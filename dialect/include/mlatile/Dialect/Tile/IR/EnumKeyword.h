// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly of enum attributes as a keyword alone. TableGen's own form (`$kind`)
// prints a space too many in front.
#ifndef MLATILE_DIALECT_TILE_IR_ENUMKEYWORD_H
#define MLATILE_DIALECT_TILE_IR_ENUMKEYWORD_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/OpImplementation.h"

namespace mlatile::tile {

/// Reads a keyword that `symbolize` knows. `expected` lists them for the error.
template <typename AttrT, typename SymbolizeT>
mlir::ParseResult parseEnumKeyword(mlir::OpAsmParser &parser, AttrT &attr,
                                   SymbolizeT symbolize,
                                   llvm::StringRef expected) {
  llvm::StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return mlir::failure();
  auto value = symbolize(word);
  if (!value)
    return parser.emitError(loc)
           << "expected " << expected << ", got '" << word << "'";
  attr = AttrT::get(parser.getContext(), *value);
  return mlir::success();
}

/// `custom<ReduceKind>` of both dialects.
mlir::ParseResult parseReduceKind(mlir::OpAsmParser &parser,
                                  ReduceKindAttr &kind);
void printReduceKind(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     ReduceKindAttr kind);

} // namespace mlatile::tile
#endif
