// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILE_IR_TILETYPES_TD
#define MLATILE_DIALECT_TILE_IR_TILETYPES_TD

include "mlatile/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "strided array in global memory";
  let description = [{
    Extents and strides are run-time values; the last dimension is contiguous.
    An entry of the list is an integer or a name. A name that is a parameter
    of the kernel is replaced when the kernel is specialised; any other name
    is free and only documents the dimension.

    Constraints:
    * view_c1: at least one dimension, each a name or an integer of 0 or more.
    * view_c2: the element is an integer of 8, 16, 32 or 64 bits or a float of
      at most 64.

    Example:
    ```mlir
    !tile.view<[T, H, 512], bf16>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute", "names and integers">:$dims,
                        TypeParameter<"::mlir::Type", "of an element">:$elementType);
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
  }];
}

def Tile_PoolType : Tile_Type<"Pool", "pool"> {
  let summary = "paged pool of one cache format";
  let description = [{
    Rows of a cache by slot id, `slot = page * page_size + offset`. Page size
    and strides are run-time values. The format is a `format` parameter of the
    kernel, or, in quotes, a format of the table in Target/Format.h.

    Constraints:
    * pool_c1: a format in quotes is in that table.

    Examples:
    ```mlir
    !tile.pool<FMT>
    !tile.pool<"dsv4">
    ```
  }];
  let parameters = (ins TypeParameter<"::mlir::StringAttr", "of the cache, or a parameter">:$format,
                        TypeParameter<"bool", "the format is no parameter">:$bound);
  let extraClassDeclaration = [{
    /// The format, or null where it is still a parameter.
    const ::mlatile::CacheFormat *getCacheFormat() const;
  }];
}

def Tile_RowsType : Tile_Type<"Rows", "rows"> {
  let summary = "gathered rows of a pool, one a candidate";
  let description = [{
    The raw bytes of the rows, payload and scales, as `tile.gather` fetched
    them. They are not a tile: `tile.dequant` reads their fields as numbers.

    Constraints:
    * rows_c1: a format in quotes is in the table in Target/Format.h.
    * rows_c2: exactly one dimension, a name or an integer of 0 or more.

    Example:
    ```mlir
    !tile.rows<FMT, [BN]>
    ```
  }];
  let parameters = (ins TypeParameter<"::mlir::StringAttr", "of the cache, or a parameter">:$format,
                        TypeParameter<"bool", "the format is no parameter">:$bound,
                        ArrayRefParameter<"::mlir::Attribute", "the number of rows">:$dims);
  let extraClassDeclaration = [{
    /// The format, or null where it is still a parameter.
    const ::mlatile::CacheFormat *getCacheFormat() const;
    /// The number of rows: a name or an integer.
    ::mlir::Attribute getDim() const { return getDims().front(); }
  }];
}

#endif
