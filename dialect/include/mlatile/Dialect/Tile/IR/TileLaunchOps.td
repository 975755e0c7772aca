// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order between a launch and the one behind it in its stream.
#ifndef MLATILE_DIALECT_TILE_IR_TILELAUNCHOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILELAUNCHOPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"

// Reads and writes anything: no access of memory moves across.
class Tile_LaunchOrderOp<string mnemonic>
    : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_LaunchDependentsOp : Tile_LaunchOrderOp<"launch_dependents"> {
  let summary = "lets a dependent launch begin";
  let description = [{
    A launch that the host made dependent on this one (programmatic dependent
    launch) may begin once every block has executed this op or has ended. It
    makes nothing visible: the dependent launch reads what this one writes
    behind `tile.wait_dependencies`, wherever this op stands, so that early is
    right. Without such a launch it does nothing; without this op a dependent
    launch begins when all blocks have ended.

    Constraints:
    * launch_dependents_c1: no loop stands around it.

    Example:
    ```mlir
    tile.kernel @first warps(4) () {
      tile.launch_dependents
      tile.return
    }
    ```
  }];
}

def Tile_WaitDependenciesOp : Tile_LaunchOrderOp<"wait_dependencies"> {
  let summary = "waits for the launches before this one";
  let description = [{
    Returns when every launch that this one depends on has ended and all its
    writes are visible. Only a launch that the host made dependent (programmatic
    dependent launch) can run before that; in any other it returns at once.
    What stands before it, a prologue, must not read what an earlier launch
    writes, nor write what one reads or writes.

    Constraints:
    * wait_dependencies_c1: no loop stands around it.

    Example:
    ```mlir
    tile.kernel @second warps(4) () {
      tile.wait_dependencies
      tile.return
    }
    ```
  }];
}

#endif
