// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products, reductions, conversions.
#ifndef MLATILE_DIALECT_TILEGPU_IR_COMPUTEOPS_TD
#define MLATILE_DIALECT_TILEGPU_IR_COMPUTEOPS_TD
include "mlatile/Dialect/Tile/IR/TileReduceKind.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.td"

def TileGPU_DotOp : TileGPU_SharedOp<"dot", [AttrSizedOperandSegments, AllTypesMatch<["c", "result"]>]> {
  let summary = "a times b plus c on the tensor cores";
  let description = [{
    `result[m, n] = c[m, n] + sum_k a[m, k] * b[k, n]`, by `mma.sync` m16n8k16
    (PTX ISA, "Warp-level matrix instructions using mma"). Products are exact,
    sums are f32; their order is not specified.

    `a` and `b` are buffers, read by `ldmatrix`, or tensors in the operand
    layouts that fit c (`operandLayout`). `a_transposed`: the buffer holds
    [K, M]; `b_transposed`: it holds [N, K].

    A *quantised* operand is a buffer of f8E4M3FN or f4E2M1FN. It is converted
    to the other operand's type in registers, by every warp what it needs; no
    16-bit copy exists. `scaled by` a buffer of one scale a group of columns,
    f8E8M0FNU or f8E4M3FN, it is multiplied by them in f32 and rounded once,
    to nearest even (exact for bf16 and a power of two, or an f8E4M3FN scale of
    an f4E2M1FN). `ldmatrix` moves 16 bits, that is 2 or 4 elements; so the
    order of elements along its columns is another one in registers. Along K
    the other operand follows (`packK` of the operand layouts); along M or N
    c does (`packM`, `packN` of the accumulator).

    Two operands of f8E4M3FN are multiplied as they are, by block-scaled
    `mma.sync` m16n8k32 (kind::mxf8f6f4): products are exact, and a scale of
    f8E8M0FNU takes part in them without an instruction of its own. What has no
    scales is scaled by one.

    `narrow`: it is the operand of 16 bits that is converted, to f8E4M3FN, after
    its factors, saturating; the quantised one, whose columns run along M or N,
    is multiplied as it is, by the same `mma.sync`.

    `a_packed`, `b_packed`: the columns of the buffer are in that order already
    (`pack_columns`).

    `times` a buffer of *factors* [N / g, K], a[m, k] is multiplied by
    factors[n / g, k] in every product with column n of b; of its own type,
    rounded to it. Each warp does so in registers, with the factors of its own
    columns. Factors of b are [M / g, K], one for a group of g rows of a.

    Constraints:
    * dot_c1: c is f32 in a layout of `DistributedLayout::mmaAccumulator`;
      further warps may hold copies (zero bases behind the others).
    * dot_c2: a and b are both bf16 or both f16 or both f8E4M3FN, or one of them
      is of 16 bits, and the other is quantised.
    * dot_c3: a is M x K and b is K x N (of buffers: after undoing the
      transposition) for c of M x N, K a multiple of 16 (of 32 if an operand of
      4 bits runs along it, or if both are f8E4M3FN).
    * dot_c4: a tensor operand is in the operand layout that fits c and the
      other operand's order along K.
    * dot_c5: buffer operands have two dimensions and rows that start at
      multiples of 16 bytes.
    * dot_c6: only a buffer can be transposed.
    * dot_c7: rows (columns) of c are packed as a's (b's) elements along them.
    * dot_c8: only a quantised operand is scaled; by a buffer of f8E8M0FNU or
      f8E4M3FN with as many rows, whose columns divide its own into groups of a
      power of two, at least 16.
    * dot_c9: factors of a (b) have two dimensions, the 16-bit type of the
      product, K columns, and rows that divide the columns (rows) of c into groups
      of a power of two, no smaller than a warp's block of its layout; rows start
      at multiples of 4 bytes.
    * dot_c10: only a 16-bit buffer whose columns run along K is packed, and only
      where the other operand is quantised and has its columns along K too.
    * dot_c11: operands that are both f8E4M3FN are buffers whose columns run along
      K, without factors; their scales are f8E8M0FNU, one for a multiple of 32
      columns, with rows that start at multiples of 4 bytes.
    * dot_c12: `narrow` needs one operand of f16 and one of f8E4M3FN without
      scales, whose columns do not run along K. (Of a K of an odd multiple of 16
      the last half of a step is zeros.)

    Examples:
    ```mlir
    %s = tilegpu.dot %q, %k, %zero {b_transposed}
      : !tilegpu.buffer<16x512xbf16, stride = 1040>, !tilegpu.buffer<64x512xbf16, stride = 1040>,
        tensor<16x64xf32, #acc>
    %o = tilegpu.dot %p, %v scaled by %vs, %o0
      : tensor<16x64xbf16, #opA>, !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>
        by !tilegpu.buffer<64x7xf8E8M0FNU, stride = 8>, tensor<16x448xf32, #packed>
    %s1 = tilegpu.dot %q8, %k8 scaled by %ks, %zero {b_transposed}
      : !tilegpu.buffer<16x448xf8E4M3FN, stride = 464>, !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>
        by !tilegpu.buffer<64x7xf8E8M0FNU, stride = 8>, tensor<16x64xf32, #acc>
    %o1 = tilegpu.dot %p1 times %r, %v, %o0
      : !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<7x64xf16, stride = 144>,
        !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, tensor<16x448xf32, #packed>
    ```
  }];
  // c before what is optional: its type is the result's.
  let arguments = (ins Arg<TileGPU_Operand, "", [SharedRead]>:$a,
                       Arg<TileGPU_Operand, "", [SharedRead]>:$b, TileGPU_Tile:$c,
                       Arg<Optional<TileGPU_Buffer>, "", [SharedRead]>:$a_scales,
                       Arg<Optional<TileGPU_Buffer>, "", [SharedRead]>:$b_scales,
                       Arg<Optional<TileGPU_Buffer>, "", [SharedRead]>:$a_factors,
                       Arg<Optional<TileGPU_Buffer>, "", [SharedRead]>:$b_factors,
                       UnitAttr:$a_transposed, UnitAttr:$b_transposed,
                       UnitAttr:$a_packed, UnitAttr:$b_packed, UnitAttr:$narrow);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = [{
    $a (`scaled` `by` $a_scales^)? (`times` $a_factors^)? `,`
    $b (`scaled` `by` $b_scales^)? (`times` $b_factors^)? `,` $c attr-dict
    `:` type($a) (`by` qualified(type($a_scales))^)? (`times` qualified(type($a_factors))^)? `,`
    type($b) (`by` qualified(type($b_scales))^)? (`times` qualified(type($b_factors))^)? `,` type($c)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c,
                   "bool":$aTransposed, "bool":$bTransposed), [{
      build($_builder, $_state, c.getType(), a, b, c, ::mlir::Value(), ::mlir::Value(), ::mlir::Value(),
            ::mlir::Value(), aTransposed, bTransposed, false, false, false);
    }]>];
  let extraClassDeclaration = [{
    /// Both operands are f8E4M3FN.
    bool isFP8();
    /// How elements stand along K: packing of the quantised operand whose
    /// columns run along K; 0 if there is none.
    int getPackK();
    /// M x N x K.
    int64_t getK();
  }];
  let hasVerifier = 1;
}

def TileGPU_ScaleOp : TileGPU_Op<"scale", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "rows or columns of a tile times a factor each";
  let description = [{
    `result[i, j] = tile[i, j] * factor[i]` along 1, `* factor[j]` along 0: the
    product of the tile and the factors broadcast along the axis. A warp all of
    whose factors are one does not multiply.

    Constraints:
    * scale_c1: the tile has two dimensions of f32, the axis is 0 or 1.
    * scale_c2: the factors are f32, one for each index of the other dimension.
    * scale_c3: the factors are laid out as the tile without the axis.

    Example:
    ```mlir
    %o1 = tilegpu.scale %o0 by %a along 1 : tensor<16x64xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins TileGPU_AnyTile:$tile, TileGPU_AnyTile:$factor, I64Attr:$axis);
  let results = (outs TileGPU_AnyTile:$result);
  let assemblyFormat = "$tile `by` $factor `along` $axis attr-dict `:` type($tile) `,` type($factor)";
  let hasVerifier = 1;
}

def TileGPU_LoadQuantisedOp : TileGPU_SharedOp<"load_quantised"> {
  let summary = "quantised rows as the operand of a dot";
  let description = [{
    `result[r, i] = payload[r, i] * scales[r, i / group]`, without scales the
    payload alone, in the result's type. It stands for the buffers until
    `tile-to-tilegpu` makes them operands of `tilegpu.dot`; it is not
    converted by itself.

    Constraints:
    * load_quantised_c1: payload and result have the same shape, of two
      dimensions; the payload is f8E4M3FN or f4E2M1FN, the result bf16 or f16.
    * load_quantised_c2: the scales are such as `dot` takes (dot_c8).

    Example:
    ```mlir
    %k = tilegpu.load_quantised %payload by %scales
      : !tilegpu.buffer<16x64xf8E4M3FN, stride = 592> by !tilegpu.buffer<16x1xf8E8M0FNU, stride = 8>
        -> tensor<16x64xbf16, #rows>
    ```
  }];
  let arguments = (ins Arg<TileGPU_Buffer, "", [SharedRead]>:$payload,
                       Arg<Optional<TileGPU_Buffer>, "", [SharedRead]>:$scales);
  let results = (outs TileGPU_Tile:$tile);
  let assemblyFormat = [{
    $payload (`by` $scales^)? attr-dict
    `:` qualified(type($payload)) (`by` qualified(type($scales))^)? `->` type($tile)
  }];
  let hasVerifier = 1;
}

def TileGPU_DequantOp : TileGPU_SharedOp<"dequant"> {
  let summary = "quantised payload and group scales to 16 bits";
  let description = [{
    `result[r, i] = payload[r, i] * scale[r, i / group]`, rounded to the nearest
    even; the product is exact in f32 for power-of-two scales. A ue8m0 byte e is
    2^(e - 127), byte 255 is NaN; e4m3 is the OCP e4m3fn. `unscaled`: the
    payload alone, exact; scales are not read. Scales of the result's element
    type are factors of the kernel's own in the place of the format's: the
    payload, exact in that type, is multiplied in it and rounded once (PTX ISA,
    "Half Precision Floating-Point Instructions: mul"). All threads of the kernel
    share the work; no barrier is implied before or after.

    Constraints:
    * dequant_c1: the format is known.
    * dequant_c2: `payload` has two dimensions, 8-bit elements, the format's
      payload bytes a row, and rows that start at multiples of 16 bytes.
    * dequant_c3: `scales` has as many rows, and a row holds the format's scales:
      8-bit elements, at least as many as groups, or f32, as many as groups; or
      factors of the result's element type, at least as many as groups.
    * dequant_c4: `result` is bf16 or f16, has as many rows, the format's nope
      elements a row, and rows that start at multiples of 16 bytes.
    * dequant_c5: factors are not `unscaled`, and the format's payload is e4m3.

    Example:
    ```mlir
    tilegpu.dequant "dsv4" %nope, %scales -> %keys
      : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x8xi8>
        -> !tilegpu.buffer<64x448xbf16, stride = 912>
    ```
  }];
  let arguments = (ins StrAttr:$format, Arg<TileGPU_Buffer, "", [SharedRead]>:$payload,
                       Arg<TileGPU_Buffer, "", [SharedRead]>:$scales,
                       Arg<TileGPU_Buffer, "", [SharedWrite]>:$result,
                       UnitAttr:$unscaled);
  let assemblyFormat = [{
    $format $payload `,` $scales `->` $result attr-dict
    `:` qualified(type($payload)) `,` qualified(type($scales)) `->` qualified(type($result))
  }];
  let extraClassDeclaration = [{
    /// Whether `scales` holds factors of the kernel's own.
    bool hasFactors();
  }];
  let hasVerifier = 1;
}

def TileGPU_ReduceWarpOp : TileGPU_Op<"reduce_warp", [Pure]> {
  let summary = "combines the elements along a dimension inside each warp";
  let description = [{
    Combines registers, then lanes by shuffles. If no two warps hold different
    elements along the dimension it is dropped and the layout is `slice(axis)`.
    Otherwise it stays, with one column for each of the warps that share it, in
    the order of their bits: see `reduceWarpLayout`.

    Constraints:
    * reduce_warp_c1: the element is a float for `addf`, `maximumf` and
      `minimumf`, an integer for `addi` and `maxsi`.
    * reduce_warp_c2: 0 <= axis < rank.
    * reduce_warp_c3: the layout can be exchanged along the axis by bits
      (`DistributedLayout::exchangeAlong`).
    * reduce_warp_c4: the result has the same element and the shape and layout
      of `reduceWarpLayout`.

    Example:
    ```mlir
    %max = tilegpu.reduce_warp maximumf %x along 1 : tensor<16x64xf32, #acc> -> tensor<16x4xf32, #part>
    ```
  }];
  let arguments = (ins Tile_ReduceKindAttr:$kind, TileGPU_Tile:$source, I64Attr:$axis);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "custom<ReduceKind>($kind) $source `along` $axis attr-dict `:` type($source) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def TileGPU_ExtractSliceOp : TileGPU_Op<"extract_slice", [Pure]> {
  let summary = "a window of a tensor, by choosing registers";
  let description = [{
    `result[i] = source[offsets + i]`. Every thread holds its part of the window
    already, in the same registers as all others (`windowRegisters`).

    Constraints:
    * extract_slice_c1: the window lies inside the source: one offset a
      dimension, not negative, and offset plus the result's size at most the
      source's.
    * extract_slice_c2: the element types agree.
    * extract_slice_c3: the layouts have the same lanes and warps and registers
      that add to them (`DistributedLayout::registersAdd`), and a register of
      the source holds what each of the result's holds.

    Example:
    ```mlir
    %block = tilegpu.extract_slice %sum[0, 128] : tensor<16x512xf32, #wide> -> tensor<16x128xf32, #block>
    ```
  }];
  let arguments = (ins TileGPU_Tile:$source, DenseI64ArrayAttr:$offsets);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source `` $offsets attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_InsertSliceOp : TileGPU_Op<"insert_slice", [Pure, AllTypesMatch<["dest", "result"]>]> {
  let summary = "a tensor with a window replaced, by choosing registers";
  let description = [{
    `result[offsets + i] = source[i]`, and `dest` elsewhere; the mirror of
    `tilegpu.extract_slice`.

    Constraints:
    * insert_slice_c1: the window, of the source's size, lies inside `dest`.
    * insert_slice_c2: the element types agree.
    * insert_slice_c3: the layouts fit as in extract_slice_c3.

    Example:
    ```mlir
    %sum1 = tilegpu.insert_slice %block into %sum[0, 128] : tensor<16x128xf32, #block> into tensor<16x512xf32, #wide>
    ```
  }];
  let arguments = (ins TileGPU_Tile:$source, TileGPU_Tile:$dest, DenseI64ArrayAttr:$offsets);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source `into` $dest `` $offsets attr-dict `:` type($source) `into` type($dest)";
  let hasVerifier = 1;
}

def TileGPU_PackColumnsOp : TileGPU_Op<"pack_columns", [Pure]> {
  let summary = "columns in the order in which a quantised partner has them along K";
  let description = [{
    A `dot` takes the elements of a quantised operand along K in the order in
    which `ldmatrix` brings them (docs/Layouts.md, "Packed orders"). This puts the
    columns of its partner, 8 << pack at a time, into that order: element k of a
    step is then column k, and a buffer of them is read by `ldmatrix` as it
    stands (`a_packed`, `b_packed` of `dot`). No register moves.

    Constraints:
    * pack_columns_c1: pack is 1 or 2, and a block of the layout has whole groups
      of 8 << pack columns.
    * pack_columns_c2: the result has the shape and element type of the source,
      and the layout of `packedColumns`.

    Example:
    ```mlir
    %p = tilegpu.pack_columns %q {pack = 1 : i64} : tensor<16x64xf16, #rows>
      -> tensor<16x64xf16, #tilegpu.layout<reg = [[0, 1], [0, 8], [0, 2]], lane = [[0, 4], [0, 16], [0, 32], [1, 0], [2, 0]],
                                           warp = [[4, 0], [8, 0]], reps = [1, 1]>>
    ```
  }];
  let arguments = (ins TileGPU_Tile:$source, I64Attr:$pack);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def TileGPU_ConvertLayoutOp : TileGPU_Op<"convert_layout", [Pure]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Conversions that move registers only (`registersOnly`), or transpose 8 x 8
    matrices of 16 bits (`matrixTransposes`, by `movmatrix`), are lowered as they
    are; others must have become a store_shared, a sync and a load_shared before
    conversion.

    Constraints:
    * convert_layout_c1: shape and element type stay, and so does the number of
      warps.

    Example:
    ```mlir
    %p2 = tilegpu.convert_layout %p : tensor<16x64xbf16, #acc> -> tensor<16x64xbf16, #opA>
    ```
  }];
  let arguments = (ins TileGPU_Tile:$source);
  let results = (outs TileGPU_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` qualified(type($result))";
  let hasVerifier = 1;
}
#endif
