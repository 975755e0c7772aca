// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse MLA prefill. An item is BH heads of one query row over all of its
// candidates (those of the first list, then those of the second); the groups of
// 16 heads of its tile share each gathered row. One program computes one item;
// with PERSISTENT as many programs as run at once share all items, and with
// roles the rows of the next one come while the last one ends. The recurrence
// stands in steps/attend.mlir.

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

// kernels/steps
func.func private @length(!vlen, index, index, index) -> index
func.func private @query_f16(!vq, index, index, index) -> (!qn, !qr, !row)
func.func private @attend(!qn, !qr, !row, !tile.pool<FMT>, !vidx, index, index, index, index, f32,
                          !row, !s, !on, !or) -> (!row, !s, !on, !or)
func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_output(!on, !or, !row, !vout, index, index, index)
func.func private @store_lse(!row, !vlse, index, index, index)

tile.kernel @prefill params(FMT : format, EXTRA : format = "dsv4", HAS_EXTRA : i1 = false,
                            BH : index = 32, BN : index = 32, WARPS : index = 8,
                            HAS_LENGTH : i1 = true, HAS_EXTRA_LENGTH : i1 = true, HAS_SINK : i1 = false,
                            LSE : index = 0, FP8 : index = 0, ROLES : roles = none, BULK : i1 = false,
                            PERSISTENT : i1 = false, CONVERTS : i1 = ROLES.converts,
                            NOPE : index = FMT.nope, ROPE : index = FMT.rope, V_ROPE : i1 = FMT.rope_in_value,
                            GROUPS : index = FMT.groups, SCALE_F32 : i1 = FMT.scale_f32, SCALE_E4M3 : i1 = FMT.scale_e4m3,
                            EXTRA_GROUPS : index = EXTRA.groups, EXTRA_SCALE_F32 : i1 = EXTRA.scale_f32,
                            EXTRA_SCALE_E4M3 : i1 = EXTRA.scale_e4m3) warps(WARPS) roles(ROLES)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vidx, %lengths : !vlen,
     %extra_kv : !tile.pool<EXTRA>, %extra_indices : !vext, %extra_lengths : !vlen,
     %sink : !vrow, %out : !vout, %lse : !vlse, %sm_scale : f32) {
  tile.require affine_set<(n) : (n mod 16 == 0, n - 16 >= 0)>(BN), "a candidate tile is whole mma rows"
  tile.require affine_set<(h) : (h mod 16 == 0, h - 16 >= 0)>(BH), "a head tile is whole mma rows"
  tile.require affine_set<(x, c) : (2 - 2 * c - x >= 0)>(FP8, CONVERTS), "keys that are converted once are multiplied in f16"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(FP8), "products are of f16 (0), scores of e4m3 (1), or scores and values (2)"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(LSE), "lse is 0 (none), 1 (base 2) or 2 (base e)"

  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %BH = tile.param BH : index
  %HAS_EXTRA = tile.param HAS_EXTRA : i1

  // An item is a head tile of a row: item = row * head tiles + head tile. One
  // program does the item of its number, or every so many from there on.
  %c1 = arith.constant 1 : index
  %PERSISTENT = tile.param PERSISTENT : i1
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %first = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %end, %stride = scf.if %PERSISTENT -> (index, index) {
    %B = tile.dim %q, 0 : !vq
    %rows = arith.muli %B, %S : index
    %items = arith.muli %rows, %head_tiles : index
    %programs = tile.num_programs 0 : index
    scf.yield %items, %programs : index, index
  } else {
    %behind = arith.addi %first, %c1 overflow<nsw> : index
    scf.yield %behind, %c1 : index, index
  }
  scf.for %item = %first to %end step %stride {
    %head_tile = arith.remui %item, %head_tiles : index
    %row = arith.divui %item, %head_tiles : index
    %b = arith.divui %row, %S : index
    %t = arith.remui %row, %S : index
    %h = arith.muli %head_tile, %BH : index

    %qn, %qr, %unit = func.call @query_f16(%q, %b, %t, %h) : (!vq, index, index, index) -> (!qn, !qr, !row)
    %ninf = tile.full %ninf_ : f32 -> !row
    %l_zero = tile.full %f0 : f32 -> !s
    %on_zero = tile.full %f0 : f32 -> !on
    %or_zero = tile.full %f0 : f32 -> !or

    %W = tile.dim %indices, 2 : !vidx
    %length = func.call @length(%lengths, %b, %t, %W) : (!vlen, index, index, index) -> index
    %m1, %l1, %on1, %or1 = func.call @attend(%qn, %qr, %unit, %kv, %indices, %b, %t, %c0, %length, %sm_scale,
                                              %ninf, %l_zero, %on_zero, %or_zero)
        : (!qn, !qr, !row, !tile.pool<FMT>, !vidx, index, index, index, index, f32,
           !row, !s, !on, !or) -> (!row, !s, !on, !or)
    %m, %lt, %on, %or = scf.if %HAS_EXTRA -> (!row, !s, !on, !or) {
      %W2 = tile.dim %extra_indices, 2 : !vext
      %length2 = tile.call @length(%extra_lengths, %b, %t, %W2) bind(HAS_LENGTH = HAS_EXTRA_LENGTH)
          : (!vlen, index, index, index) -> index
      %m2, %l2, %on2, %or2 = tile.call @attend(%qn, %qr, %unit, %extra_kv, %extra_indices, %b, %t, %c0, %length2, %sm_scale,
                                                %m1, %l1, %on1, %or1)
          bind(FMT = EXTRA, GROUPS = EXTRA_GROUPS, SCALE_E4M3 = EXTRA_SCALE_E4M3, SCALE_F32 = EXTRA_SCALE_F32, W = W2)
          : (!qn, !qr, !row, !tile.pool<EXTRA>, !vext, index, index, index, index, f32,
             !row, !s, !on, !or) -> (!row, !s, !on, !or)
      scf.yield %m2, %l2, %on2, %or2 : !row, !s, !on, !or
    } else {
      scf.yield %m1, %l1, %on1, %or1 : !row, !s, !on, !or
    }
    %l = tile.reduce addf %lt along 1 : !s -> !row

    %z = func.call @sinks(%sink, %h) : (!vrow, index) -> !row
    %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
    func.call @store_output(%on, %or, %factor, %out, %b, %t, %h) : (!on, !or, !row, !vout, index, index, index) -> ()
    func.call @store_lse(%lse_e, %lse, %b, %t, %h) : (!row, !vlse, index, index, index) -> ()
  }
  tile.return
}
