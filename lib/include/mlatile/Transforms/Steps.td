// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TRANSFORMS_STEPS_TD
#define MLATILE_TRANSFORMS_STEPS_TD

include "mlir/Pass/PassBase.td"

def LinkSteps : Pass<"tile-link-steps", "::mlir::ModuleOp"> {
  let summary = "give declared steps their definitions, from files of steps";
  let description = [{
    A kernel file declares the steps that it takes from files: a private
    `func.func` without a body. The definition of each is cloned in its place,
    and so is what it calls, from the first of these that defines it: the folder
    of the option, `steps/` in each folder of `$MLATILE_KERNEL_PATH`, the steps
    built in (`kernels/steps/`). A function that the step's own file defines
    comes from there.

    Precondition: none. Postcondition: no private function is without a body.

    A file of steps holds private functions only. Errors: no file defines the
    step (the message lists where it was looked for); two files of a folder do;
    declaration and definition have different types; a definition calls a
    function of its file that the module defines otherwise.

    Before:
    ```mlir
    func.func private @double(tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>
    tile.kernel @k params(N : index) warps(1) (...) { ... func.call @double(%x) ... }
    ```
    After:
    ```mlir
    func.func private @double(%x: tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>> {
      %y = arith.addf %x, %x : tensor<?xf32, #tile.dims<N>>
      return %y : tensor<?xf32, #tile.dims<N>>
    }
    tile.kernel @k params(N : index) warps(1) (...) { ... func.call @double(%x) ... }
    ```
  }];
  let options = [
    Option<"steps", "steps", "std::string", /*default=*/"",
           "a folder of steps that is looked at first">];
  let dependentDialects = ["::mlatile::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def InlineCalls : Pass<"tile-inline-calls", "::mlir::ModuleOp"> {
  let summary = "put the bodies of steps in the place of tile.call";
  let description = [{
    In every kernel a `tile.call` becomes the body of its step, with the names
    of `bind` replaced in types, in `tile.param` (by a constant, if the name is
    bound to a value) and in the calls of the body, which are inlined in turn.
    Locations keep both places, the step's line and the call's. Steps that
    nobody calls any more are erased.

    Precondition: steps have bodies (`-tile-link-steps`). A `func.call` in a
    kernel is left to `-inline`.
    Postcondition: no kernel has a `tile.call`.

    Before:
    ```mlir
    func.func private @width() -> index {
      %n = tile.param N : index
      return %n : index
    }
    tile.kernel @k params(A : index) warps(1) () {
      %a = tile.call @width() bind(N = A) : () -> index
      %b = tile.call @width() bind(N = 16) : () -> index
      ...
    ```
    After:
    ```mlir
    tile.kernel @k params(A : index) warps(1) () {
      %a = tile.param A : index
      %b = arith.constant 16 : index
      ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
