// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels, parameters, requirements and run-time scalars.
#ifndef MLATILE_DIALECT_TILE_IR_TILEKERNELOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILEKERNELOPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Tile_KernelOp : Tile_Op<"kernel", [
    IsolatedFromAbove, SingleBlock, FunctionOpInterface, OpAsmOpInterface]> {
  let summary = "a kernel with named parameters";
  let description = [{
    One launch of the kernel runs the body once for every block of the grid,
    by `warps` warps of 32 threads together. The body speaks of whole tiles.

    `params(...)` declares the parameters (see `#tile.parameter`). Their names
    may stand as dimensions of tiles (`#tile.dims`) and rows, as formats of
    pools, and in `tile.param` and `tile.require`. Names in the dimensions of
    views may be parameters or free. The kernel is verified while its
    parameters are still names.

    With `cluster` so many neighbours in the grid, along its first axis, are a
    cluster: they run at the same time and read each other's tiles
    (`tile.load_peer`). The grid is a multiple of the cluster. Without it, or
    with 1, a block is alone.

    The names of the arguments are part of the kernel: the host packs a launch
    by them. They are read from the text (`%q` is `"q"`) into `arg_names`.

    Constraints:
    * kernel_c1: parameter names are distinct.
    * kernel_c2: a derived parameter names a `format` (for `converts`: a `roles`)
      parameter declared before it.
    * kernel_c3: `warps` is an integer from 1 to 32 or an `index` parameter.
    * kernel_c4: arguments are views, pools or scalars; no results.
    * kernel_c5: one distinct name an argument, a letter or `_` first, then
      letters, digits or `_`.
    * kernel_c6: every name in a tile's or rows' dimensions is an `index`
      parameter, every unquoted format a `format` parameter; a view dimension
      that is a parameter is an `index`.
    * kernel_c7: the body ends in `tile.return`.
    * kernel_c8: `roles` is a `roles` parameter. Bound to warps, their sum is the
      number of warps in the place of `warps`.
    * kernel_c9: `cluster` is an integer from 1 to 8 or an `index` parameter.

    Example:
    ```mlir
    tile.kernel @copy params(BH : index = 16, FMT : format,
                             NOPE : index = FMT.nope) warps(4)
        (%src: !tile.view<[T, H], bf16>, %dst: !tile.view<[T, H], bf16>) {
      %t = tile.program_id 0 : index
      %z = arith.constant 0 : index
      %x = tile.load %src[%t, %z] : !tile.view<[T, H], bf16>
           -> tensor<?xbf16, #tile.dims<BH>>
      tile.store %x, %dst[%t, %z] : tensor<?xbf16, #tile.dims<BH>>,
           !tile.view<[T, H], bf16>
      tile.return
    }
    ```
    Error: a tile `tensor<?xbf16, #tile.dims<BX>>` in that body is refused at
    its op, because `BX` is not a parameter of `@copy`.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    TypedArrayAttrBase<Tile_ParameterAttr, "kernel parameters">:$params,
    AnyAttrOf<[I64Attr, StrAttr]>:$num_warps,
    OptionalAttr<AnyAttrOf<[I64Attr, StrAttr]>>:$cluster,
    OptionalAttr<StrAttr>:$roles,
    StrArrayAttr:$arg_names,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // A kernel without parameters, with an empty body block.
    OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$numWarps,
                   "::llvm::ArrayRef<::llvm::StringRef>":$argNames,
                   "::llvm::ArrayRef<::mlir::Type>":$argTypes)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// The parameter of that name, or null.
    ParameterAttr lookupParam(::llvm::StringRef name);
    /// The name of argument `i` in the source.
    ::llvm::StringRef getArgName(unsigned i);
    /// The number of warps; none while it is a parameter.
    ::std::optional<int64_t> getWarpCount();
    /// Blocks of a cluster, 1 without one; none while it is a parameter.
    ::std::optional<int64_t> getClusterSize();

    void getAsmBlockArgumentNames(::mlir::Region &region,
                                  ::mlir::OpAsmSetValueNameFn setNameFn);
    static ::llvm::StringRef getDefaultDialect() { return ""; }
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "end of a kernel";
  let description = [{
    Ends the body of a `tile.kernel`. There are no operands: results leave a
    kernel through `tile.store`.

    Example:
    ```mlir
    tile.kernel @nothing warps(4) () {
      tile.return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_ParamOp : Tile_Op<"param", [Pure]> {
  let summary = "the value of a parameter";
  let description = [{
    Becomes a constant when the kernel is specialised, so that `scf.if` on it
    leaves only the taken branch.

    Constraints:
    * param_c1: the name is a parameter of the enclosing kernel.
    * param_c2: the result type is that of the parameter: `index` or `i1`. A
      format has no value; derive a parameter from it.

    Example:
    ```mlir
    tile.kernel @one_way params(SPLIT : i1 = false) warps(4) () {
      %split = tile.param SPLIT : i1
      tile.return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTypeOf<[Index, I1]>:$result);
  let assemblyFormat = "custom<Name>($name) attr-dict `:` type($result)";
}

def Tile_RequireOp : Tile_Op<"require", [HasParent<"KernelOp">]> {
  let summary = "a constraint on parameters, with a message";
  let description = [{
    Checked when the parameters are bound: `tile-specialise` refuses values
    outside the set with the message and the values, at this line, and erases
    the op otherwise. An `i1` parameter counts as 0 or 1. The dimensions of
    the set take the values of the listed parameters in order.

    Constraints:
    * require_c1: one parameter a dimension of the set; the set has no symbols.
    * require_c2: each is an `index` or `i1` parameter of the kernel.
    * require_c3: the message is not empty.

    Example:
    ```mlir
    tile.kernel @whole_rows params(BN : index = 32) warps(4) () {
      tile.require affine_set<(n) : (n mod 16 == 0)>(BN), "a candidate tile is whole mma rows"
      tile.return
    }
    ```
  }];
  let arguments = (ins IntegerSetAttr:$set, StrArrayAttr:$names, StrAttr:$message);
  let assemblyFormat = "$set `(` custom<Names>($names) `)` `,` $message attr-dict";
  let hasVerifier = 1;
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "index of this block in the grid";
  let description = [{
    Equal in all threads of the block, from 0 up to the grid's size.

    Constraints:
    * program_id_c1: the axis is 0, 1 or 2.

    Example:
    ```mlir
    %t = tile.program_id 0 : index
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "blocks of the grid along an axis";
  let description = [{
    The extent of the grid, so that `tile.program_id` of the same axis is below
    it: a positive number of blocks, equal in all of them. A kernel whose blocks
    each do several pieces of work goes from one to its next by it, and is right
    for any grid. PTX ISA, "Special Registers: %nctaid".

    Constraints:
    * num_programs_c1: the axis is 0, 1 or 2.

    Example:
    ```mlir
    %first = tile.program_id 0 : index
    %step = tile.num_programs 0 : index
    %second = arith.addi %first, %step : index // of the items of this program
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "extent of a dimension of a view";
  let description = [{
    A run-time value, also where the view's type gives an integer.

    Constraints:
    * dim_c1: the axis is one of the view's.

    Example:
    ```mlir
    %heads = tile.dim %q, 1 : !tile.view<[T, H, D], bf16>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_SlotsOp : Tile_Op<"slots", [Pure]> {
  let summary = "number of slots of a pool";
  let description = [{
    Pages times page size: the ids from 0 up to it are addressable.

    Example:
    ```mlir
    %n = tile.slots %kv : !tile.pool<FMT>
    ```
  }];
  let arguments = (ins Tile_PoolType:$pool);
  let results = (outs Index:$result);
  let assemblyFormat = "$pool attr-dict `:` qualified(type($pool))";
}

#endif
