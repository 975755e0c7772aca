// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What touches global memory, and the numbers in gathered rows.
#ifndef MLATILE_DIALECT_TILE_IR_TILEMEMORYOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILEMEMORYOPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, AlwaysSpeculatable]> {
  let summary = "a tile of a view";
  let description = [{
    The trailing dimensions of the view, as many as the result has, are a tile
    that starts at the indices; the leading dimensions are fixed by theirs. A
    scalar result is a tile of no dimensions. With result rank `r` and view
    rank `n`:

        result[i...] = view[indices[0], ..., indices[n-r] + i0, ...]

    Elements outside the view (negative or past the extent, in any dimension),
    or at or past `limit` in the last dimension, are the `else` value (zero if
    left out) and are never read, so the op is safe to execute early. Index
    arithmetic is 64 bits wide.

    Constraints:
    * load_c1: one index a dimension of the view.
    * load_c2: the result has at most the view's rank.
    * load_c3: the result's element type is the view's.
    * load_c4: the `else` value has the view's element type.

    Example:
    ```mlir
    %ids = tile.load %indices[%t, %n] limit %len else %minus1
         : !tile.view<[T, W], i32> -> tensor<?xi32, #tile.dims<BN>>
    ```
  }];
  let arguments = (ins Arg<Tile_ViewType, "", [MemRead]>:$view,
                       Variadic<Index>:$indices,
                       Optional<Index>:$limit,
                       Optional<Tile_Scalar>:$pad);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    $view `[` $indices `]` (`limit` $limit^)? (`else` $pad^)? attr-dict
    `:` custom<ViewType>(type($view), ref($pad), type($pad)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "writes a tile into a view";
  let description = [{
    The mirror of `tile.load`. Elements outside the view, or at or past
    `limit` in the last dimension, are not written, and nothing else is.

    Constraints:
    * store_c1: one index a dimension of the view.
    * store_c2: the tile has at most the view's rank.
    * store_c3: the tile's element type is the view's.

    Example:
    ```mlir
    tile.store %o, %out[%t, %h, %z]
        : tensor<?x512xbf16, #tile.dims<BH, 512>>, !tile.view<[T, H, D], bf16>
    ```
  }];
  let arguments = (ins Tile_TileOrScalar:$value,
                       Arg<Tile_ViewType, "", [MemWrite]>:$view,
                       Variadic<Index>:$indices,
                       Optional<Index>:$limit);
  let assemblyFormat = [{
    $value `,` $view `[` $indices `]` (`limit` $limit^)? attr-dict
    `:` type($value) `,` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [AlwaysSpeculatable]> {
  let summary = "rows of a pool by slot id";
  let description = [{
    Row `i` is the token in slot `ids[i]`: its payload and its scales. A
    negative id, or one at or past `tile.slots`, is skipped: the row reads as
    zeros in every field, its address is never formed, `ok[i]` is false.
    Duplicates are gathered as often as they occur. `bulk` says how, not what:
    one copy a row instead of one a 16 bytes (`tilegpu.gather_async`).

    Constraints:
    * gather_c1: the ids are a tile of rank 1 and element type i32.
    * gather_c2: the rows have the pool's format.
    * gather_c3: as many rows as ids.
    * gather_c4: `ok` is a tile of i1 with as many elements as ids.

    Example:
    ```mlir
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>>
              -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
    ```
  }];
  let arguments = (ins Arg<Tile_PoolType, "", [MemRead]>:$pool, Tile_Tile:$ids, UnitAttr:$bulk);
  let results = (outs Tile_RowsType:$rows, Tile_Tile:$ok);
  let assemblyFormat = [{
    $pool `[` $ids `]` attr-dict `:` qualified(type($pool)) `,` type($ids)
    `->` qualified(type($rows)) `,` type($ok)
  }];
  let hasVerifier = 1;
}

def Tile_DequantOp : Tile_Op<"dequant", [Pure]> {
  let summary = "a field of gathered rows as numbers";
  let description = [{
    `nope`: the quantised payload, each element times the scale of its group,
    as if computed in f32 and rounded once, to nearest even, to the result's
    element type. `rope`: the bf16 tail, unscaled. `payload`: the quantised
    numbers without their scales, exact in every element type allowed. `scale`:
    one number a group, exact; element `i` of `nope` belongs to group
    `i / (nope / groups)`. Skipped rows are zero in `nope`, `rope` and
    `payload`, and their scales are finite.

    `payload times %factors`: each number times the factor of its group, rounded
    once, to nearest even, to the result's element type. What is converted once
    for all who read it can have its scales, relative to those of its row, in it.

    Constraints:
    * dequant_c1: the result is a tile of rank 2.
    * dequant_c2: its first dimension is that of the rows.
    * dequant_c3: its second dimension is the field's: the size in a bound
      format, else a parameter derived as `<format>.nope` (`nope`,
      `payload`), `.rope` or `.groups` (`scale`). Of another format will do,
      whose size has to agree once both are bound.
    * dequant_c4: a bound format has the field (some have no `rope`).
    * dequant_c5: the element type is bf16, f16 or f32 for `nope`, one of these
      or f8E4M3FN for `payload`, bf16 or f32 for `rope`, f32 or f8E8M0FNU for
      `scale`.
    * dequant_c6: as f8E4M3FN (f8E8M0FNU) a bound format stores its payload
      (scales).
    * dequant_c7: factors stand behind `payload` only, whose element type is bf16
      or f16 then, and they have the same.
    * dequant_c8: factors are a tile of rank 2, of the rows and, of a bound
      format, its groups.

    Example:
    ```mlir
    %k = tile.dequant %rows nope : !tile.rows<FMT, [BN]>
         -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
    %scaled = tile.dequant %rows payload times %factors : !tile.rows<FMT, [BN]>,
         tensor<?x?xf16, #tile.dims<BN, GROUPS>>
         -> tensor<?x?xf16, #tile.dims<BN, NOPE>>
    ```
  }];
  let arguments = (ins Tile_RowsType:$rows, Tile_RowFieldAttr:$field,
                       Optional<Tile_Tile>:$factors);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $rows custom<RowField>($field) (`times` $factors^)? attr-dict `:`
    qualified(type($rows)) (`,` type($factors)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The field of a cache format that gives the second dimension's size.
    ::llvm::StringRef getSizeField();
    /// dequant_c7, dequant_c8.
    ::llvm::LogicalResult verifyFactors();
  }];
}

#endif
