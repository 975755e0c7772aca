// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What blocks of one cluster read of each other.
#ifndef MLATILE_DIALECT_TILE_IR_TILECLUSTEROPS_TD
#define MLATILE_DIALECT_TILE_IR_TILECLUSTEROPS_TD

include "mlatile/Dialect/Tile/IR/TileOpBase.td"

def Tile_LoadPeerOp : Tile_Op<"load_peer", [Pure]> {
  let summary = "a window of the tile that another block of the cluster has";
  let description = [{
    All blocks of a cluster (`cluster(...)` of the kernel) run the same program,
    so that each of them has a tile under the name of the operand. The result is
    a window, which starts at the indices, of the one that block `rank` has:

        result[i, j] = tile of block (rank mod cluster)[indices[0] + i, indices[1] + j]

    Elements outside the tile (a negative index, or one past its size) are zero.
    The rank of a block is its `tile.program_id 0` modulo the cluster's size, so
    that the blocks of a cluster are neighbours in the grid. A block's own rank,
    and a kernel without a cluster, read the block's own tile.

    The blocks wait for each other before the first window is read and before
    they end. So all blocks of a cluster execute the place where the tile is made
    equally often: if an `scf.if` stands around it, its condition is the same in
    all of them. Windows may be read anywhere behind it, by some blocks only too.

    Constraints:
    * load_peer_c1: one index a dimension of the tile.
    * load_peer_c2: the result has the tile's rank.
    * load_peer_c3: the result's element type is the tile's, an integer or float
      of 8 to 64 bits.
    * load_peer_c4: the tile is made outside of loops.

    Example:
    ```mlir
    tile.kernel @neighbour params(CLUSTER : index = 2, BN : index = 32) warps(4) cluster(CLUSTER)
        (%x: !tile.view<[T, N], f32>, %y: !tile.view<[T, N], f32>) {
      %t = tile.program_id 0 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %own = tile.load %x[%t, %c0] : !tile.view<[T, N], f32> -> tensor<?xf32, #tile.dims<BN>>
      %next = arith.addi %t, %c1 : index
      %other = tile.load_peer %own of %next[%c0]
          : tensor<?xf32, #tile.dims<BN>> -> tensor<?xf32, #tile.dims<BN>>
      tile.store %other, %y[%t, %c0] : tensor<?xf32, #tile.dims<BN>>, !tile.view<[T, N], f32>
      tile.return
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Index:$rank, Variadic<Index>:$indices);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = [{
    $tile `of` $rank `[` $indices `]` attr-dict `:` type($tile) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
