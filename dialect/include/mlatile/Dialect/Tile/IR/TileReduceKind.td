// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the reductions of both dialects share.
#ifndef MLATILE_DIALECT_TILE_IR_TILEREDUCEKIND_TD
#define MLATILE_DIALECT_TILE_IR_TILEREDUCEKIND_TD

include "mlatile/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/EnumAttr.td"

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "combining function of a reduction", [
    I32EnumAttrCase<"AddF", 0, "addf">,
    I32EnumAttrCase<"MaximumF", 1, "maximumf">,
    I32EnumAttrCase<"MinimumF", 2, "minimumf">,
    I32EnumAttrCase<"AddI", 3, "addi">,
    I32EnumAttrCase<"MaxSI", 4, "maxsi">]> {
  let cppNamespace = "::mlatile::tile";
  let genSpecializedAttr = 0;
}
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

#endif
