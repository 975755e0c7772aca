// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counters in global memory, by which the blocks of one launch wait for each
// other.
#ifndef MLATILE_DIALECT_TILE_IR_TILECOUNTEROPS_TD
#define MLATILE_DIALECT_TILE_IR_TILECOUNTEROPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"

// Reads and writes anything: no access of memory moves across.
class Tile_CounterOp<string mnemonic>
    : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def Tile_AtomicIncOp : Tile_CounterOp<"atomic_inc"> {
  let summary = "counts a block in a counter that wraps";
  let description = [{
    The block adds one to a counter, once, whatever its number of threads:

        counter = counter + 1 >= modulo ? 0 : counter + 1       (unsigned)

    It releases: all that the block has stored before is visible to a block
    that has seen the new count in `tile.wait_until`. With `relaxed` it orders
    nothing. A counter outside the view is not touched.

    A counter for `n` blocks that is counted modulo `2 n` resets itself: each
    block counts when it arrives, waits for at least `n`, and counts once more
    when it has waited. Nobody sees less than `n` before all have waited, and
    the last one leaves zero, so that the next launch may wait for another
    number of blocks.

    Constraints:
    * atomic_inc_c1: one index a dimension of the view.
    * atomic_inc_c2: the counters are i32.

    Example:
    ```mlir
    tile.atomic_inc %counters[%group] modulo %n : !tile.view<[G], i32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices,
                       Index:$modulo, UnitAttr:$relaxed);
  let assemblyFormat = [{
    (`relaxed` $relaxed^)? $view `[` $indices `]` `modulo` $modulo attr-dict
    `:` qualified(type($view))
  }];
}

def Tile_WaitUntilOp : Tile_CounterOp<"wait_until"> {
  let summary = "waits for a counter";
  let description = [{
    Returns when the counter is at least the bound (unsigned). It acquires: what
    blocks have stored before the `tile.atomic_inc` that made it so is visible
    to all of this block. A counter outside the view is not waited for.

    The block waits for others of its launch, so all of them must be able to
    run at the same time: the host launches a kernel that has this op only on a
    grid that is co-resident, and the executor reports one that is not as a
    deadlock.

    Constraints:
    * wait_until_c1: one index a dimension of the view.
    * wait_until_c2: the counters are i32.
    * wait_until_c3: no loop that gathers stands around it, since gathers are
      issued ahead of their iteration.

    Example:
    ```mlir
    tile.wait_until %counters[%group] at_least %n : !tile.view<[G], i32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices,
                       Index:$bound);
  let assemblyFormat = [{
    $view `[` $indices `]` `at_least` $bound attr-dict `:` qualified(type($view))
  }];
}

#endif
