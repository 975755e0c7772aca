// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of steps: functions over the names of parameters.
#ifndef MLATILE_DIALECT_TILE_IR_TILECALLOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILECALLOPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Tile_CallOp : Tile_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a step, with other names for those it uses";
  let description = [{
    A step is a function over names of parameters: `!tile.pool<FMT>`,
    `tensor<?xf32, #tile.dims<BH>>`, `tile.param SPLIT`. The call computes what
    the body of the step computes after every name that `bind` lists has been
    replaced, in all types, in `tile.param` and in the calls of the body; the
    other names mean the same in the step as in the caller. `tile-inline-calls`
    puts that body in the place of the call.

    `func.call` is a call that binds nothing.

    Constraints:
    * call_c1: the callee is a function of the module.
    * call_c2: if it has a body, that is one block which ends in `func.return`.
    * call_c3: no step calls itself, directly or through others.
    * call_c4: the bound names are distinct, and the step, or one that it calls,
      uses each (checked where all of these have bodies).
    * call_c5: operands and results have, after the replacement, the number and
      the types of the step's.
    * call_c6: after the replacement every name in a step is what the rules of
      kernels (kernel_c6, param_c1, param_c2, dequant_c3) ask of it: an integer
      for a dimension, and so on; in a kernel, a parameter of it. Reported at
      the call.

    Example: one step for two caches.
    ```mlir
    func.func private @fetch(%kv: !tile.pool<FMT>, %ids: tensor<?xi32, #tile.dims<BN>>)
        -> !tile.rows<FMT, [BN]> {
      %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>>
          -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
      return %rows : !tile.rows<FMT, [BN]>
    }
    tile.kernel @k params(FMT : format, EXTRA : format, BN : index) warps(4)
        (%kv: !tile.pool<FMT>, %extra: !tile.pool<EXTRA>) {
      %ids = tile.iota : tensor<?xi32, #tile.dims<BN>>
      %few = tile.iota : tensor<16xi32>
      %a = tile.call @fetch(%kv, %ids)
          : (!tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>>) -> !tile.rows<FMT, [BN]>
      %b = tile.call @fetch(%extra, %few) bind(FMT = EXTRA, BN = 16)
          : (!tile.pool<EXTRA>, tensor<16xi32>) -> !tile.rows<EXTRA, [16]>
      tile.return
    }
    ```
    Error: with `bind(FMT = EXTRA)` alone the second call's operand 1 is
    refused: BN is still a name.
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<AnyType>:$operands,
    OptionalAttr<TypedArrayAttrBase<Tile_BindingAttr, "bindings">>:$bindings);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` (`bind` `(` custom<Bindings>($bindings)^ `)`)?
    attr-dict `:` functional-type($operands, $results)
  }];
}

#endif
