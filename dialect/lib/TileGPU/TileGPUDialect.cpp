// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/EnumKeyword.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

using namespace mlir;
using namespace mlatile::tilegpu;

#include "mlatile/Dialect/TileGPU/IR/TileGPUDialect.cpp.inc"
#include "mlatile/Dialect/TileGPU/IR/TileGPUEnums.cpp.inc"
#include "mlatile/Dialect/TileGPU/IR/TileGPUInterfaces.cpp.inc"

// Called by the generated code below.
static ParseResult parseSyncScope(OpAsmParser &parser, SyncScopeAttr &scope) {
  return mlatile::tile::parseEnumKeyword(
      parser, scope, [](StringRef word) { return symbolizeSyncScope(word); },
      "cta, role or warp");
}
static void printSyncScope(OpAsmPrinter &printer, Operation *,
                           SyncScopeAttr scope) {
  printer << stringifySyncScope(scope.getValue());
}

#define GET_OP_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"

namespace {
/// Layouts are long: print them once, as `#layout`, `#layout1`, ...
struct AliasInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TileGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addInterfaces<AliasInterface>();
  addOperations<
#define GET_OP_LIST
#include "mlatile/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
