// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse MLA decode. One program computes BH heads of one query row over one
// split of its candidates (those of the first list, then those of the second).
// The splits are joined by `merge` in a launch of its own, which may depend on
// this one (DEPENDENT), or here, where each program joins some heads and columns
// of its row and head tile: after it has waited for their partial results
// (SLICES), or out of the tiles of a cluster of CLUSTER splits. The recurrence
// stands in steps/attend.mlir, the joining in steps/merge.mlir and
// steps/merge_peers.mlir.

!row  = tensor<?xf32, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BH, BN>>
!qn   = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!vq   = !tile.view<[B, S, H, DQK], bf16>
!vidx = !tile.view<[B, S, W], i32>
!vext = !tile.view<[B, S, W2], i32>
!vlen = !tile.view<[B, S, 1], i32>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>
!po   = !tile.view<[R, P, H, DV], f16>
!pr   = !tile.view<[R, P, H], f32>
!vcnt = !tile.view<[C], i32>

// kernels/steps
func.func private @length(!vlen, index, index, index) -> index
func.func private @query_f16(!vq, index, index, index) -> (!qn, !qr, !row)
func.func private @attend(!qn, !qr, !row, !tile.pool<FMT>, !vidx, index, index, index, index, f32,
                          !row, !s, !on, !or) -> (!row, !s, !on, !or)
func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_output(!on, !or, !row, !vout, index, index, index)
func.func private @store_lse(!row, !vlse, index, index, index)
func.func private @store_partial(!row, !row, !on, !or, !po, !pr, !pr, !pr, index, index, index)
func.func private @merge_peers(!row, !row, !on, !or, !vrow, !vout, !vlse, index, index, index, index)
func.func private @peer_slices() -> index
func.func private @merge_tile(!po, !pr, !pr, !pr, !vrow, !vout, !vlse, index, index, index, index, index, index)

tile.kernel @decode params(FMT : format, EXTRA : format = "dsv4", HAS_EXTRA : i1 = false,
                           BH : index = 16, BN : index = 32, WARPS : index = 4,
                           HAS_LENGTH : i1 = true, HAS_EXTRA_LENGTH : i1 = true, HAS_SINK : i1 = false,
                           SPLIT : i1 = false, DEPENDENT : i1 = false, SLICES : i1 = false, LSE : index = 0, FP8 : index = 0,
                           ROLES : roles = none, BULK : i1 = false,
                           MERGE_BD : index = 512, AT_ONCE : index = 8, CLUSTER : index = 1, JOIN : index = 16,
                           CONVERTS : i1 = ROLES.converts,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope, V_ROPE : i1 = FMT.rope_in_value,
                           GROUPS : index = FMT.groups, SCALE_F32 : i1 = FMT.scale_f32, SCALE_E4M3 : i1 = FMT.scale_e4m3,
                           EXTRA_GROUPS : index = EXTRA.groups, EXTRA_SCALE_F32 : i1 = EXTRA.scale_f32,
                            EXTRA_SCALE_E4M3 : i1 = EXTRA.scale_e4m3) warps(WARPS) cluster(CLUSTER) roles(ROLES)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vidx, %lengths : !vlen,
     %extra_kv : !tile.pool<EXTRA>, %extra_indices : !vext, %extra_lengths : !vlen,
     %sink : !vrow, %out : !vout, %lse : !vlse, %part_o : !po, %part_u : !pr, %part_m : !pr, %part_l : !pr,
     %counters : !vcnt, %sm_scale : f32, %num_splits : index) {
  tile.require affine_set<(n) : (n mod 16 == 0, n - 16 >= 0)>(BN), "a candidate tile is whole mma rows"
  tile.require affine_set<(h) : (h mod 16 == 0, h - 16 >= 0)>(BH), "a head tile is whole mma rows"
  tile.require affine_set<(x, c) : (2 - 2 * c - x >= 0)>(FP8, CONVERTS), "keys that are converted once are multiplied in f16"
  tile.require affine_set<(h, j) : (h - j >= 0, j - 1 >= 0)>(BH, JOIN), "heads that are joined are of one head tile"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(FP8), "products are of f16 (0), scores of e4m3 (1), or scores and values (2)"
  tile.require affine_set<(n) : (n - 1 >= 0, 32 - n >= 0)>(AT_ONCE), "between 1 and 32 splits are joined at a time"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(LSE), "lse is 0 (none), 1 (base 2) or 2 (base e)"

  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %BH = tile.param BH : index
  %BN = tile.param BN : index
  %NOPE = tile.param NOPE : index
  %HAS_EXTRA = tile.param HAS_EXTRA : i1
  %SPLIT = tile.param SPLIT : i1
  %DEPENDENT = tile.param DEPENDENT : i1
  %SLICES = tile.param SLICES : i1
  %V_ROPE = tile.param V_ROPE : i1

  // Only once all programs run, so that `merge` takes no place of theirs.
  scf.if %DEPENDENT {
    tile.launch_dependents
  }

  // The splits of a row and head tile are the blocks of a cluster.
  %CLUSTER = tile.param CLUSTER : index
  %c1 = arith.constant 1 : index
  %peers = arith.cmpi ugt, %CLUSTER, %c1 : index
  %splits = arith.select %peers, %CLUSTER, %num_splits : index

  // program = (row * head tiles + head tile) * splits + split
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %pid = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %split = arith.remui %pid, %splits : index
  %pid1 = arith.divui %pid, %splits : index
  %head_tile = arith.remui %pid1, %head_tiles : index
  %row = arith.divui %pid1, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %BH : index

  // Tiles [first, last) of this split, of both lists one after the other.
  %W = tile.dim %indices, 2 : !vidx
  %tiles1 = arith.ceildivui %W, %BN : index
  %tiles = scf.if %HAS_EXTRA -> index {
    %W2 = tile.dim %extra_indices, 2 : !vext
    %tiles2 = arith.ceildivui %W2, %BN : index
    %both = arith.addi %tiles1, %tiles2 : index
    scf.yield %both : index
  } else {
    scf.yield %tiles1 : index
  }
  %per_split = arith.ceildivui %tiles, %splits : index
  %first = arith.muli %split, %per_split : index
  %last = arith.addi %first, %per_split : index

  %qn, %qr, %unit = func.call @query_f16(%q, %b, %t, %h) : (!vq, index, index, index) -> (!qn, !qr, !row)
  %ninf = tile.full %ninf_ : f32 -> !row
  %l_zero = tile.full %f0 : f32 -> !s
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or

  %length = func.call @length(%lengths, %b, %t, %W) : (!vlen, index, index, index) -> index
  %begin = arith.muli %first, %BN : index
  %stop = arith.muli %last, %BN : index
  %end = arith.minsi %stop, %length : index
  %m1, %l1, %on1, %or1 = func.call @attend(%qn, %qr, %unit, %kv, %indices, %b, %t, %begin, %end, %sm_scale,
                                           %ninf, %l_zero, %on_zero, %or_zero)
      : (!qn, !qr, !row, !tile.pool<FMT>, !vidx, index, index, index, index, f32,
         !row, !s, !on, !or) -> (!row, !s, !on, !or)
  %m, %lt, %on, %or = scf.if %HAS_EXTRA -> (!row, !s, !on, !or) {
    %W2 = tile.dim %extra_indices, 2 : !vext
    %length2 = tile.call @length(%extra_lengths, %b, %t, %W2) bind(HAS_LENGTH = HAS_EXTRA_LENGTH)
        : (!vlen, index, index, index) -> index
    %first0 = arith.subi %first, %tiles1 : index
    %last0 = arith.subi %last, %tiles1 : index
    %first2 = arith.maxsi %first0, %c0 : index
    %last2 = arith.maxsi %last0, %c0 : index
    %begin2 = arith.muli %first2, %BN : index
    %stop2 = arith.muli %last2, %BN : index
    %end2 = arith.minsi %stop2, %length2 : index
    %m2, %l2, %on2, %or2 = tile.call @attend(%qn, %qr, %unit, %extra_kv, %extra_indices, %b, %t, %begin2, %end2, %sm_scale,
                                             %m1, %l1, %on1, %or1)
        bind(FMT = EXTRA, GROUPS = EXTRA_GROUPS, SCALE_E4M3 = EXTRA_SCALE_E4M3, SCALE_F32 = EXTRA_SCALE_F32, W = W2)
        : (!qn, !qr, !row, !tile.pool<EXTRA>, !vext, index, index, index, index, f32,
           !row, !s, !on, !or) -> (!row, !s, !on, !or)
    scf.yield %m2, %l2, %on2, %or2 : !row, !s, !on, !or
  } else {
    scf.yield %m1, %l1, %on1, %or1 : !row, !s, !on, !or
  }
  %l = tile.reduce addf %lt along 1 : !s -> !row

  scf.if %peers {
    %slices = tile.call @peer_slices() bind(BD = MERGE_BD) : () -> index
    // No loop where one is enough, so that peers may end before it is stored.
    %enough = arith.cmpi ule, %slices, %CLUSTER : index
    scf.if %enough {
      tile.call @merge_peers(%m, %l, %on, %or, %sink, %out, %lse, %b, %t, %h, %split) bind(BD = MERGE_BD)
          : (!row, !row, !on, !or, !vrow, !vout, !vlse, index, index, index, index) -> ()
    } else {
      scf.for %slice = %split to %slices step %CLUSTER {
        tile.call @merge_peers(%m, %l, %on, %or, %sink, %out, %lse, %b, %t, %h, %slice) bind(BD = MERGE_BD)
            : (!row, !row, !on, !or, !vrow, !vout, !vlse, index, index, index, index) -> ()
      }
    }
  } else {
    scf.if %SPLIT {
      func.call @store_partial(%m, %l, %on, %or, %part_o, %part_u, %part_m, %part_l, %row, %split, %h)
          : (!row, !row, !on, !or, !po, !pr, !pr, !pr, index, index, index) -> ()
      scf.if %SLICES {
        // The counter of this row and head tile resets itself (tile.atomic_inc).
        %c2 = arith.constant 2 : index
        %twice = arith.muli %num_splits, %c2 : index
        tile.atomic_inc %counters[%pid1] modulo %twice : !vcnt
        tile.wait_until %counters[%pid1] at_least %num_splits : !vcnt
        tile.atomic_inc relaxed %counters[%pid1] modulo %twice : !vcnt

        %MERGE_BD = tile.param MERGE_BD : index
        %DV = tile.dim %out, 3 : !vout
        %columns = arith.ceildivui %DV, %MERGE_BD : index
        %slices = arith.muli %BH, %columns : index
        scf.for %slice = %split to %slices step %num_splits {
          %dh = arith.divui %slice, %columns : index
          %column = arith.remui %slice, %columns : index
          %mh = arith.addi %h, %dh : index
          %md = arith.muli %column, %MERGE_BD : index
          tile.call @merge_tile(%part_o, %part_u, %part_m, %part_l, %sink, %out, %lse, %num_splits, %row, %b, %t, %mh, %md)
              bind(BH = 1, BD = MERGE_BD)
              : (!po, !pr, !pr, !pr, !vrow, !vout, !vlse, index, index, index, index, index, index) -> ()
        }
      }
    } else {
      %z = func.call @sinks(%sink, %h) : (!vrow, index) -> !row
      %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
      func.call @store_output(%on, %or, %factor, %out, %b, %t, %h) : (!on, !or, !row, !vout, index, index, index) -> ()
      func.call @store_lse(%lse_e, %lse, %b, %t, %h) : (!row, !vlse, index, index, index) -> ()
    }
  }
  tile.return
}

// Joins the splits of BH heads of one row, BD value columns at a time.
tile.kernel @merge params(BH : index = 1, BD : index = 512, WARPS : index = 4, HAS_SINK : i1 = false, LSE : index = 0,
                          DEPENDENT : i1 = false, AT_ONCE : index = 8) warps(WARPS)
    (%part_o : !po, %part_u : !pr, %part_m : !pr, %part_l : !pr, %sink : !vrow, %out : !vout, %lse : !vlse,
     %num_splits : index) {
  tile.require affine_set<(n) : (n - 1 >= 0, 32 - n >= 0)>(AT_ONCE), "between 1 and 32 splits are joined at a time"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(LSE), "lse is 0 (none), 1 (base 2) or 2 (base e)"
  %BH = tile.param BH : index
  %BD = tile.param BD : index
  %DEPENDENT = tile.param DEPENDENT : i1

  // program = (row * head tiles + head tile) * column tiles + column tile
  %S = tile.dim %out, 1 : !vout
  %H = tile.dim %out, 2 : !vout
  %DV = tile.dim %out, 3 : !vout
  %pid = tile.program_id 0 : index
  %column_tiles = arith.ceildivui %DV, %BD : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %column_tile = arith.remui %pid, %column_tiles : index
  %pid1 = arith.divui %pid, %column_tiles : index
  %head_tile = arith.remui %pid1, %head_tiles : index
  %row = arith.divui %pid1, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %BH : index
  %d = arith.muli %column_tile, %BD : index

  scf.if %DEPENDENT {
    tile.wait_dependencies
  }
  func.call @merge_tile(%part_o, %part_u, %part_m, %part_l, %sink, %out, %lse, %num_splits, %row, %b, %t, %h, %d)
      : (!po, !pr, !pr, !pr, !vrow, !vout, !vlse, index, index, index, index, index, index) -> ()
  tile.return
}
