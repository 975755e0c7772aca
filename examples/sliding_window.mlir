// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sliding-window attention without a list of candidates: indices[t] = (first slot
// of the sequence, position p of row t), and row t attends to the WINDOW tokens before p:
//   C(t) = { first + j : max(0, p - WINDOW) <= j < p }
//   out[t, h] = sum_{c in C(t)} softmax_c(sm_scale <q[t, h], key(c)>) value(c),  0 where C(t) is empty
// One program computes BH heads of one row. The maximum starts at -1e30: a tile of skipped ids gives no NaN.

!ids = tensor<?xi32, #tile.dims<BN>>
!ok  = tensor<?xi1, #tile.dims<BN>>
!row = tensor<?xf32, #tile.dims<BH>>
!s   = tensor<?x?xf32, #tile.dims<BH, BN>>
!p   = tensor<?x?xbf16, #tile.dims<BH, BN>>
!qn  = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr  = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!kn  = tensor<?x?xbf16, #tile.dims<BN, NOPE>>
!kr  = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!on  = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or  = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!vq  = !tile.view<[B, S, H, D], bf16>
!vi  = !tile.view<[B, S, TWO], i32>

tile.kernel @decode params(FMT : format, WINDOW : index = 128, BH : index = 16, BN : index = 32, WARPS : index = 4,
                           HAS_LENGTH : i1 = false, HAS_SINK : i1 = false, SPLIT : i1 = false, LSE : index = 0,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope) warps(WARPS)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vi, %out : !vq, %sm_scale : f32) {
  tile.require affine_set<(w) : (w - 1 >= 0)>(WINDOW), "a window has at least one token"
  tile.require affine_set<(r) : (r - 16 >= 0)>(ROPE), "the cache format has a rope part"
  tile.require affine_set<(a, b, c, d) : (a == 0, b == 0, c == 0, d == 0)>(HAS_LENGTH, HAS_SINK, SPLIT, LSE),
    "no lengths, sinks, splits or lse here"
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %low_ = arith.constant -1.0e30 : f32
  %tiny_ = arith.constant 1.0e-37 : f32
  %skip_ = arith.constant -1 : i32
  %log2e = arith.constant 1.44269504088896341 : f32
  %BH = tile.param BH : index
  %BN = tile.param BN : index
  %NOPE = tile.param NOPE : index
  %WINDOW = tile.param WINDOW : index
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %pid = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %head_tile = arith.remui %pid, %head_tiles : index
  %row = arith.divui %pid, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %BH : index
  // The window [begin, p) in the sequence.
  %first_ = tile.load %indices[%b, %t, %c0] : !vi -> i32
  %p32 = tile.load %indices[%b, %t, %c1] : !vi -> i32
  %p = arith.index_cast %p32 : i32 to index
  %start = arith.subi %p, %WINDOW : index
  %begin = arith.maxsi %start, %c0 : index
  %first = tile.full %first_ : i32 -> !ids
  %end = tile.full %p32 : i32 -> !ids
  %skip = tile.full %skip_ : i32 -> !ids
  %iota = tile.iota : !ids

  %qn = tile.load %q[%b, %t, %h, %c0] : !vq -> !qn
  %qr = tile.load %q[%b, %t, %h, %NOPE] : !vq -> !qr
  %low = tile.full %low_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or
  %scale_ = arith.mulf %sm_scale, %log2e : f32
  %scale = tile.full %scale_ : f32 -> !s
  %m, %l, %on, %or = scf.for %n = %begin to %p step %BN
      iter_args(%m0 = %low, %l0 = %zero, %on0 = %on_zero, %or0 = %or_zero) -> (!row, !row, !on, !or) {
    %n_ = arith.index_cast %n : index to i32
    %n32 = tile.full %n_ : i32 -> !ids
    %j = arith.addi %n32, %iota : !ids
    %slot = arith.addi %first, %j : !ids
    %inside = arith.cmpi slt, %j, %end : !ids
    %ids = arith.select %inside, %slot, %skip : !ok, !ids
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !tile.rows<FMT, [BN]>, !ok
    %kn = tile.dequant %rows nope : !tile.rows<FMT, [BN]> -> !kn
    %kr = tile.dequant %rows rope : !tile.rows<FMT, [BN]> -> !kr
    %knT = tile.transpose %kn : !kn -> tensor<?x?xbf16, #tile.dims<NOPE, BN>>
    %krT = tile.transpose %kr : !kr -> tensor<?x?xbf16, #tile.dims<ROPE, BN>>
    %s0 = tile.dot %qn, %knT, %s_zero : !qn, tensor<?x?xbf16, #tile.dims<NOPE, BN>>, !s
    %s1 = tile.dot %qr, %krT, %s0 : !qr, tensor<?x?xbf16, #tile.dims<ROPE, BN>>, !s
    %s2 = arith.mulf %s1, %scale : !s
    %okb = tile.broadcast %ok along 0 : !ok -> tensor<?x?xi1, #tile.dims<BH, BN>>
    %s = arith.select %okb, %s2, %s_ninf : tensor<?x?xi1, #tile.dims<BH, BN>>, !s
    %mt = tile.reduce maximumf %s along 1 : !s -> !row
    %m1 = arith.maximumf %m0, %mt : !row
    %dm = arith.subf %m0, %m1 : !row
    %a = math.exp2 %dm : !row
    %mb = tile.broadcast %m1 along 1 : !row -> !s
    %ds = arith.subf %s, %mb : !s
    %w = math.exp2 %ds : !s
    %wt = tile.reduce addf %w along 1 : !s -> !row
    %la = arith.mulf %l0, %a : !row
    %l1 = arith.addf %la, %wt : !row
    %w16 = arith.truncf %w : !s to !p
    %an = tile.broadcast %a along 1 : !row -> !on
    %ar = tile.broadcast %a along 1 : !row -> !or
    %on1 = arith.mulf %on0, %an : !on
    %or1 = arith.mulf %or0, %ar : !or
    %on2 = tile.dot %w16, %kn, %on1 : !p, !kn, !on
    %or2 = tile.dot %w16, %kr, %or1 : !p, !kr, !or
    scf.yield %m1, %l1, %on2, %or2 : !row, !row, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %tiny = tile.full %tiny_ : f32 -> !row
  %l_ = arith.maximumf %l, %tiny : !row
  %ln = tile.broadcast %l_ along 1 : !row -> !on
  %lr = tile.broadcast %l_ along 1 : !row -> !or
  %yn = arith.divf %on, %ln : !on
  %yr = arith.divf %or, %lr : !or
  %yn16 = arith.truncf %yn : !on to !qn
  %yr16 = arith.truncf %yr : !or to !qr
  tile.store %yn16, %out[%b, %t, %h, %c0] : !qn, !vq
  tile.store %yr16, %out[%b, %t, %h, %NOPE] : !qr, !vq
  tile.return
}
