// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several query rows of one request (drafted tokens, say) share the gathered union of their lists. A row of the
// call is a request; its heads are pairs (query row r, head h) in the order r * HEADS + h. With the union U of the
// rows' lists as `indices`, and bit r of extra_indices[i] set where row r uses candidate U[i] (the second list
// of the call, of the same length, is no list of candidates here):
//   out[r, h] = sum_{c in U used by r} softmax_c(sm_scale <q[r, h], key(c)>) value(c),  0 where r uses none
// A candidate is gathered and converted once for all pairs of a tile: two rows of 8 heads fill the 16 rows of an
// mma. One program computes BH pairs of one request; query, sinks and the end of a row are steps of kernels/steps.

!ids  = tensor<?xi32, #tile.dims<BN>>
!ok   = tensor<?xi1, #tile.dims<BN>>
!pair = tensor<?xi32, #tile.dims<BH>>
!row  = tensor<?xf32, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BH, BN>>
!si   = tensor<?x?xi32, #tile.dims<BH, BN>>
!sm   = tensor<?x?xi1, #tile.dims<BH, BN>>
!p    = tensor<?x?xbf16, #tile.dims<BH, BN>>
!qn   = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!kn   = tensor<?x?xbf16, #tile.dims<BN, NOPE>>
!kr   = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!knT  = tensor<?x?xbf16, #tile.dims<NOPE, BN>>
!krT  = tensor<?x?xbf16, #tile.dims<ROPE, BN>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!rows = !tile.rows<FMT, [BN]>
!vq   = !tile.view<[B, S, H, DQK], bf16>
!vi   = !tile.view<[B, S, W], i32>
!vlen = !tile.view<[B, S, 1], i32>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>
func.func private @length(!vlen, index, index, index) -> index
func.func private @query(!vq, index, index, index) -> (!qn, !qr)
func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_output(!on, !or, !row, !vout, index, index, index)
func.func private @store_lse(!row, !vlse, index, index, index)

tile.kernel @decode params(FMT : format, HEADS : index = 8, BH : index = 16, BN : index = 32, WARPS : index = 4,
                           EXTRA : format = "dsv4", HAS_EXTRA : i1 = true, HAS_EXTRA_LENGTH : i1 = false,
                           HAS_LENGTH : i1 = false, HAS_SINK : i1 = false, SPLIT : i1 = false, LSE : index = 0,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope, V_ROPE : i1 = FMT.rope_in_value,
                           SCALE_F32 : i1 = FMT.scale_f32) warps(WARPS)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vi, %lengths : !vlen, %extra_indices : !vi, %sink : !vrow,
     %out : !vout, %lse : !vlse, %sm_scale : f32) {
  tile.require affine_set<(h) : (h - 1 >= 0)>(HEADS), "a query row has at least one head"
  tile.require affine_set<(u, s) : (u - 1 == 0, s == 0)>(HAS_EXTRA, SPLIT), "extra_indices say which rows use a candidate; no splits"
  tile.require affine_set<(r, s) : (r - 16 >= 0, s == 0)>(ROPE, SCALE_F32), "a format with a rope part and scales that keys take exactly"
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504088896341 : f32
  %skip = arith.constant -1 : i32
  %i0_ = arith.constant 0 : i32
  %i1_ = arith.constant 1 : i32
  %BH = tile.param BH : index
  %BN = tile.param BN : index
  %HEADS = tile.param HEADS : index
  %V_ROPE = tile.param V_ROPE : i1
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %pid = tile.program_id 0 : index
  %tiles = arith.ceildivui %H, %BH : index
  %tile = arith.remui %pid, %tiles : index
  %request = arith.divui %pid, %tiles : index
  %b = arith.divui %request, %S : index
  %t = arith.remui %request, %S : index
  %h = arith.muli %tile, %BH : index
  // The query row of each pair, beside its scores.
  %h32 = arith.index_cast %h : index to i32
  %heads32 = arith.index_cast %HEADS : index to i32
  %first = tile.full %h32 : i32 -> !pair
  %heads = tile.full %heads32 : i32 -> !pair
  %iota = tile.iota : !pair
  %number = arith.addi %first, %iota : !pair
  %of = arith.divui %number, %heads : !pair
  %rowb = tile.broadcast %of along 1 : !pair -> !si

  %qn, %qr = func.call @query(%q, %b, %t, %h) : (!vq, index, index, index) -> (!qn, !qr)
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %si0 = tile.full %i0_ : i32 -> !si
  %si1 = tile.full %i1_ : i32 -> !si
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or
  %scale_ = arith.mulf %sm_scale, %log2e : f32
  %scale = tile.full %scale_ : f32 -> !s
  %W = tile.dim %indices, 2 : !vi
  %length = func.call @length(%lengths, %b, %t, %W) : (!vlen, index, index, index) -> index
  %m, %l, %on, %or = scf.for %n = %c0 to %length step %BN
      iter_args(%m0 = %ninf, %l0 = %zero, %on0 = %on_zero, %or0 = %or_zero) -> (!row, !row, !on, !or) {
    %ids = tile.load %indices[%b, %t, %n] limit %length else %skip : !vi -> !ids
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !rows, !ok
    // Scores of a pair count where its query row uses the candidate.
    %users = tile.load %extra_indices[%b, %t, %n] limit %length else %i0_ : !vi -> !ids
    %usersb = tile.broadcast %users along 0 : !ids -> !si
    %shifted = arith.shrui %usersb, %rowb : !si
    %bit = arith.andi %shifted, %si1 : !si
    %uses = arith.cmpi ne, %bit, %si0 : !si
    %okb = tile.broadcast %ok along 0 : !ok -> !sm
    %counts = arith.andi %uses, %okb : !sm
    %kn = tile.dequant %rows nope : !rows -> !kn
    %kr = tile.dequant %rows rope : !rows -> !kr
    %knT = tile.transpose %kn : !kn -> !knT
    %krT = tile.transpose %kr : !kr -> !krT
    %s0 = tile.dot %qn, %knT, %s_zero : !qn, !knT, !s
    %s1 = tile.dot %qr, %krT, %s0 : !qr, !krT, !s
    %s2 = arith.mulf %s1, %scale : !s
    %s = arith.select %counts, %s2, %s_ninf : !sm, !s
    %mt = tile.reduce maximumf %s along 1 : !s -> !row
    %m1 = arith.maximumf %m0, %mt : !row
    %none = arith.cmpf oeq, %m1, %ninf : !row
    %ref = arith.select %none, %zero, %m1 : tensor<?xi1, #tile.dims<BH>>, !row
    %dm = arith.subf %m0, %ref : !row
    %a = math.exp2 %dm : !row
    %refb = tile.broadcast %ref along 1 : !row -> !s
    %ds = arith.subf %s, %refb : !s
    %w = math.exp2 %ds : !s
    %wt = tile.reduce addf %w along 1 : !s -> !row
    %la = arith.mulf %l0, %a : !row
    %l1 = arith.addf %la, %wt : !row
    %w16 = arith.truncf %w : !s to !p
    %an = tile.broadcast %a along 1 : !row -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = tile.dot %w16, %kn, %on1 : !p, !kn, !on
    %or2 = scf.if %V_ROPE -> !or {
      %ar = tile.broadcast %a along 1 : !row -> !or
      %or1 = arith.mulf %or0, %ar : !or
      %or3 = tile.dot %w16, %kr, %or1 : !p, !kr, !or
      scf.yield %or3 : !or
    } else {
      scf.yield %or0 : !or
    }
    scf.yield %m1, %l1, %on2, %or2 : !row, !row, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %z = func.call @sinks(%sink, %h) : (!vrow, index) -> !row
  %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
  func.call @store_output(%on, %or, %factor, %out, %b, %t, %h) : (!on, !or, !row, !vout, index, index, index) -> ()
  func.call @store_lse(%lse_e, %lse, %b, %t, %h) : (!row, !vlse, index, index, index) -> ()
  tile.return
}
