// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TRANSFORMS_SPECIALISE_TD
#define MLATILE_TRANSFORMS_SPECIALISE_TD

include "mlir/Pass/PassBase.td"

def TileSpecialise : Pass<"tile-specialise", "::mlir::ModuleOp"> {
  let summary = "bind the parameters of a kernel";
  let description = [{
    Binds every parameter of one kernel: to the given value, else to its
    default, else (derived parameters) to the field of the bound format. Then,
    in place:

    * dimensions and formats in types become sizes and quoted formats, and
      `#tile.dims` is dropped (every tile is static);
    * `tile.param` becomes `arith.constant`, `warps(NAME)` a number;
    * each `tile.require` is checked and erased;
    * the body is canonicalised, so that an `scf.if` on a parameter keeps the
      taken branch only;
    * the kernel is verified again, now with sizes: what only some shapes get
      wrong is reported here, at its line.

    Precondition: steps that the kernel calls are inlined (`-inline`,
    `-tile-inline-calls`); the names in their types are those of the kernel.
    Postcondition: no parameter, no name in a tile, no `tile.param` or
    `tile.require` is left, and no other kernel or step in the module. The kernel keeps its name, `arg_names` and other
    attributes and gains `tile.bound`, the dictionary of the values.

    An unknown, missing, derived or ill-typed value, a violated requirement
    (reported at its line with its message and the values) and a wrong kernel
    name are errors.

    Before, with `params="FMT=dsv4 BH=32"`:
    ```mlir
    tile.kernel @k params(FMT : format, BH : index = 16, N : index = FMT.nope) warps(4)(%kv: !tile.pool<FMT>) {
      tile.require affine_set<(h) : (h mod 8 == 0)>(BH), "heads come in eights"
      %h = tile.param BH : index
      ...
    ```
    After:
    ```mlir
    tile.kernel @k warps(4)(%kv: !tile.pool<"dsv4">) attributes {tile.bound = {BH = 32 : index, FMT = "dsv4", N = 448 : index}} {
      %c32 = arith.constant 32 : index
      ...
    ```
  }];
  let options = [
    Option<"params", "params", "std::string", /*default=*/"",
           "NAME=VALUE pairs, separated by spaces or commas: FMT=dsv4,BH=16,SPLIT=true">,
    Option<"kernel", "kernel", "std::string", /*default=*/"",
           "the kernel to bind; the module's others are erased. May be left out "
           "where the module has one kernel">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
