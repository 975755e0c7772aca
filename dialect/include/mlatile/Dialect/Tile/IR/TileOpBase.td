// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILE_IR_TILEOPBASE_TD
#define MLATILE_DIALECT_TILE_IR_TILEOPBASE_TD

include "mlatile/Dialect/Tile/IR/TileAttrs.td"
include "mlatile/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

// A tile of any element type.
def Tile_Tile : RankedTensorOf<[AnyInteger, AnyFloat, Index], [], "tile">;
def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat, Index], "integer, float or index">;
def Tile_TileOrScalar : AnyTypeOf<[Tile_Tile, Tile_Scalar], "tile or scalar">;

#endif
