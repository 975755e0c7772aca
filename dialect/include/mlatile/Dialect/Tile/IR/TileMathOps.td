// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dot, reductions, and the ops that make or reshape tiles.
#ifndef MLATILE_DIALECT_TILE_IR_TILEMATHOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILEMATHOPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_FullOp : Tile_Op<"full", [Pure]> {
  let summary = "a tile of one value";
  let description = [{
    Every element is `value`. Constants of tiles are made by it, because
    `arith.constant` cannot have a dimension that is still a name.

    Constraints:
    * full_c1: the result's element type is the type of the value.

    Example:
    ```mlir
    %zero = tile.full %c : f32 -> tensor<?x?xf32, #tile.dims<BH, BN>>
    ```
  }];
  let arguments = (ins Tile_Scalar:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "0, 1, 2 ...";
  let description = [{
    Element `i` is `i`.

    Constraints:
    * iota_c1: the result is a tile of rank 1 and element type i32.

    Example:
    ```mlir
    %i = tile.iota : tensor<?xi32, #tile.dims<BN>>
    ```
  }];
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "matrix product plus an addend";
  let description = [{
    `result[m, n] = c[m, n] + sum_k a[m, k] * b[k, n]`

    Products are exact and summed in f32; the order of the sum is that of the
    target's mma. `warps` arranges the warps over M and N; the compiler chooses
    where it is left out.

    Constraints:
    * dot_c1: `a`, `b` and `c` are tiles of rank 2.
    * dot_c2: `a` and `b` have the same element type: bf16, f16 or f8E4M3FN.
    * dot_c3: `c` has element type f32.
    * dot_c4: K of `a` is K of `b`; M and N are those of `c`.
    * dot_c5: `warps` is two positive powers of two.

    Example:
    ```mlir
    %s = tile.dot %q, %kt, %zero {warps = array<i64: 1, 4>}
       : tensor<?x?xbf16, #tile.dims<BH, D>>, tensor<?x?xbf16, #tile.dims<D, BN>>,
         tensor<?x?xf32, #tile.dims<BH, BN>>
    ```
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$c,
                       OptionalAttr<DenseI64ArrayAttr>:$warps);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
  let hasVerifier = 1;
}

def Tile_DotScaledOp : Tile_Op<"dot_scaled", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "product with a b that is scaled in blocks";
  let description = [{
    For `a` [M, K], `b` [K, N], `scale` [K / gk, N / gn] and `c` [M, N]:

        result[m, n] = c[m, n] + sum_k a[m, k] * b[k, n] * scale[k / gk, n / gn]

    The blocks lie along K (gn = 1) or along N (gk = 1). `b` is never
    multiplied by a scale, so an f32 scale is applied to f32 accuracy:

    * along K the products of a block are summed in f32, the sum is multiplied
      by the scale in f32 and added to `c`;
    * along K with f8E4M3FN operands and f8E8M0FNU scales the tensor cores scale
      the products, which are powers of two times exact ones;
    * along N, where one `scale` serves a row of `b`, `a` is f32, is multiplied
      by the scale in f32 and rounded once, to nearest even, to `b`'s type;
    * along N with `a` and `scale` of `b`'s type their product is rounded to that
      type (exact for powers of two that leave `a` in the type's normal range).
      Warps then multiply what they need of `a` where they need it;
    * along N with `a` and `scale` of f16 and `b` of f8E4M3FN their product is
      rounded to f16 and then to f8E4M3FN, saturating at 448.

    With `scale_a` it is `a` that is scaled, by `scale` [M / gm, K / gk], and
    everything above holds with `a` and `b`, M and N exchanged: `scale` is
    [M, blocks] for blocks along K, [blocks, K] for blocks along M, where `b` is
    f32 or of `a`'s type.

    A scale that is NaN or infinite reaches every element it applies to, also
    through a zero. The order of the sums is not specified.

    Constraints:
    * dot_scaled_c1: `a`, `b`, `scale` and `c` are tiles of rank 2.
    * dot_scaled_c2: the scaled operand has element type bf16, f16 or f8E4M3FN.
    * dot_scaled_c3: `c` has element type f32, `scale` f32, that of the scaled
      operand, or, if that is f8E4M3FN, f8E8M0FNU for blocks along K and f16 for
      others.
    * dot_scaled_c4: K of `a` is K of `b`; M and N are those of `c`.
    * dot_scaled_c5: exactly one dimension of `scale` is that of the scaled
      operand. If it is N (M), the blocks lie along K, both operands have one
      element type, and `scale` is f32 or f8E8M0FNU; if it is K, they lie along
      N (M), and the other operand has the element type of `scale`, f16 beside
      f8E4M3FN.
    * dot_scaled_c6: of known sizes the number of blocks divides the dimension
      they lie along, and there are fewer blocks than elements.
    * dot_scaled_c7: `warps` is two positive powers of two.

    Examples: scores with a scale for 128 elements of a key, and the sum of
    values that have such scales.
    ```mlir
    %s = tile.dot_scaled %q, %kt, %st, %zero
       : tensor<?x?xbf16, #tile.dims<BH, D>>, tensor<?x?xbf16, #tile.dims<D, BN>>,
         tensor<?x?xf32, #tile.dims<G, BN>>, tensor<?x?xf32, #tile.dims<BH, BN>>
    %o = tile.dot_scaled %p, %k, %sc, %o0
       : tensor<?x?xf32, #tile.dims<BH, BN>>, tensor<?x?xbf16, #tile.dims<BN, D>>,
         tensor<?x?xf32, #tile.dims<BN, G>>, tensor<?x?xf32, #tile.dims<BH, D>>
    ```
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$scale, Tile_Tile:$c,
                       OptionalAttr<DenseI64ArrayAttr>:$warps, UnitAttr:$scale_a);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $scale `,` $c attr-dict `:` type($a) `,` type($b) `,` type($scale) `,` type($c)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True if the blocks lie along K, false if along N (M).
    bool blocksAlongK();
    /// What `scale` belongs to, and the other operand.
    ::mlir::TypedValue<::mlir::RankedTensorType> getScaled() { return getScaleA() ? getA() : getB(); }
    ::mlir::TypedValue<::mlir::RankedTensorType> getOther() { return getScaleA() ? getB() : getA(); }
    /// The dimension of `scale` that counts blocks.
    int getBlockDim() { return blocksAlongK() == getScaleA() ? 1 : 0; }
  }];
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines the elements along a dimension";
  let description = [{
    Drops dimension `axis`. `maximumf` and `minimumf` return NaN if any element
    is NaN; `addf` sums in an order fixed by the layout, not by this op. An
    empty dimension gives the neutral element. A tile of rank 1 gives a scalar.

    Constraints:
    * reduce_c1: the axis is one of the operand's.
    * reduce_c2: the result has the operand's other dimensions, in order, and
      its element type.
    * reduce_c3: `addf`, `maximumf`, `minimumf` take floats, `addi`, `maxsi`
      integers.

    Example:
    ```mlir
    %m = tile.reduce maximumf %s along 1
       : tensor<?x?xf32, #tile.dims<BH, BN>> -> tensor<?xf32, #tile.dims<BH>>
    ```
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, Tile_Tile:$operand, I64Attr:$axis);
  let results = (outs Tile_TileOrScalar:$result);
  let assemblyFormat = [{
    custom<ReduceKind>($kind) $operand `along` $axis attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile along a new dimension";
  let description = [{
    Adds dimension `axis` to the operand.

    Constraints:
    * broadcast_c1: the result has one dimension more; the axis is one of its.
    * broadcast_c2: the other dimensions, in order, and the element type are
      the operand's.

    Example:
    ```mlir
    %mm = tile.broadcast %m along 1
        : tensor<?xf32, #tile.dims<BH>> -> tensor<?x?xf32, #tile.dims<BH, BN>>
    ```
  }];
  let arguments = (ins Tile_Tile:$operand, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $operand `along` $axis attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "swaps the two dimensions of a tile";
  let description = [{
    `result[j, i] = operand[i, j]`. Two in a row cancel out.

    Constraints:
    * transpose_c1: operand and result have rank 2.
    * transpose_c2: the result has the operand's dimensions swapped and its
      element type.

    Example:
    ```mlir
    %kt = tile.transpose %k
        : tensor<?x?xbf16, #tile.dims<BN, D>> -> tensor<?x?xbf16, #tile.dims<D, BN>>
    ```
  }];
  let arguments = (ins Tile_Tile:$operand);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
