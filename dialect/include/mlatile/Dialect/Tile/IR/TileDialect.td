// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILE_IR_TILEDIALECT_TD
#define MLATILE_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let summary = "tiles, views and paged pools: the level a kernel is written at";
  let description = [{
    A kernel is written once, with named parameters. Its values are builtin
    tensors ("tiles") whose encoding `#tile.dims` names the dimensions, so that
    `arith`, `math` and `scf` work on them as they are. This dialect adds only
    what those lack: kernels with parameters and requirements, strided views
    and paged pools of global memory, gather by slot id, de-quantisation, dot,
    and the ops that drop, add or swap dimensions.

    Nothing here knows threads, shared memory or attention. `tile-specialise`
    binds the parameters; afterwards every tile is static and carries no
    encoding. Later passes put the encodings of another dialect (layouts) on
    the same ops, so the verifiers compare sizes always, names only where both
    sides have names, and leave other encodings alone.

    Discardable attributes: `tile.pipeline` (`#tile.pipeline`, on `scf.for`):
    how far ahead the gathers of that loop are issued; `tile.bound` (a
    dictionary, on `tile.kernel`): the values that parameters were bound to.
    Any other `tile.` attribute is an error, so that a misspelt one is found.
  }];
  let cppNamespace = "::mlatile::tile";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kPipelineAttr = "tile.pipeline";
    static constexpr ::llvm::StringLiteral kBoundAttr = "tile.bound";
    /// On a bound kernel: its roles (docs/Roles.md), if it has any.
    static constexpr ::llvm::StringLiteral kRolesAttr = "tile.roles";

    /// Called by initialize(), one file each.
    void registerAttributes();
    void registerTypes();
  }];
}

#endif
