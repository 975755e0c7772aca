// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decode in the swapped arrangement: candidates on the M side of the dots, heads
// on the N side, and the warps side by side along the heads:
//
//   s[c, h] = scale * log2(e) * <key[c], q[h]>,   o[d, h] = sum_c value[c, d] p[c, h]
//
// A warp holds all candidates of its heads, so the softmax (along dimension 0)
// stays inside of it. The arguments are those of kernels/decode.mlir; neither
// splits nor sink nor lse.

!ids  = tensor<?xi32, #tile.dims<BN>>
!mask = tensor<?xi1, #tile.dims<BN>>
!head = tensor<?xf32, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BN, BH>>
!qn   = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!qnT  = tensor<?x?xbf16, #tile.dims<NOPE, BH>>
!qrT  = tensor<?x?xbf16, #tile.dims<ROPE, BH>>
!kn   = tensor<?x?xbf16, #tile.dims<BN, NOPE>>
!kr   = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!knT  = tensor<?x?xbf16, #tile.dims<NOPE, BN>>
!krT  = tensor<?x?xbf16, #tile.dims<ROPE, BN>>
!on   = tensor<?x?xf32, #tile.dims<NOPE, BH>>
!or   = tensor<?x?xf32, #tile.dims<ROPE, BH>>
!vq   = !tile.view<[B, S, H, DQK], bf16>
!vidx = !tile.view<[B, S, W], i32>
!vout = !tile.view<[B, S, H, DV], bf16>

tile.kernel @decode params(FMT : format, BH : index = 32, BN : index = 16,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope) warps(4)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vidx, %out : !vout, %sm_scale : f32) {
  tile.require affine_set<(n) : (n mod 16 == 0, n - 16 >= 0)>(BN), "a candidate tile is whole mma rows"
  tile.require affine_set<(h) : (h mod 32 == 0, h - 32 >= 0)>(BH), "four warps have whole mma columns"

  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504088896341 : f32
  %skip = arith.constant -1 : i32
  %BH = tile.param BH : index
  %BN = tile.param BN : index
  %NOPE = tile.param NOPE : index

  // program = row * head tiles + head tile
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %W = tile.dim %indices, 2 : !vidx
  %pid = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %head_tile = arith.remui %pid, %head_tiles : index
  %row = arith.divui %pid, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %BH : index

  %qn = tile.load %q[%b, %t, %h, %c0] : !vq -> !qn
  %qr = tile.load %q[%b, %t, %h, %NOPE] : !vq -> !qr
  %qnT = tile.transpose %qn : !qn -> !qnT
  %qrT = tile.transpose %qr : !qr -> !qrT
  %ninf = tile.full %ninf_ : f32 -> !head
  %zero = tile.full %f0 : f32 -> !head
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or
  %scale2_ = arith.mulf %sm_scale, %log2e : f32
  %scale2 = tile.full %scale2_ : f32 -> !s

  %m, %l, %on, %or = scf.for %n = %c0 to %W step %BN
      iter_args(%m0 = %ninf, %l0 = %zero, %on0 = %on_zero, %or0 = %or_zero) -> (!head, !head, !on, !or) {
    %ids = tile.load %indices[%b, %t, %n] limit %W else %skip : !vidx -> !ids
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !tile.rows<FMT, [BN]>, !mask
    %kn = tile.dequant %rows nope : !tile.rows<FMT, [BN]> -> !kn
    %kr = tile.dequant %rows rope : !tile.rows<FMT, [BN]> -> !kr

    %s0 = tile.dot %kn, %qnT, %s_zero {warps = array<i64: 1, 4>} : !kn, !qnT, !s
    %s1 = tile.dot %kr, %qrT, %s0 {warps = array<i64: 1, 4>} : !kr, !qrT, !s
    %s2 = arith.mulf %s1, %scale2 : !s
    %okb = tile.broadcast %ok along 1 : !mask -> tensor<?x?xi1, #tile.dims<BN, BH>>
    %s = arith.select %okb, %s2, %s_ninf : tensor<?x?xi1, #tile.dims<BN, BH>>, !s

    %mt = tile.reduce maximumf %s along 0 : !s -> !head
    %m1 = arith.maximumf %m0, %mt : !head
    %none = arith.cmpf oeq, %m1, %ninf : !head
    %ref = arith.select %none, %zero, %m1 : tensor<?xi1, #tile.dims<BH>>, !head
    %dm = arith.subf %m0, %ref : !head
    %a = math.exp2 %dm : !head
    %refb = tile.broadcast %ref along 0 : !head -> !s
    %ds = arith.subf %s, %refb : !s
    %p = math.exp2 %ds : !s
    %pt = tile.reduce addf %p along 0 : !s -> !head
    %la = arith.mulf %l0, %a : !head
    %l1 = arith.addf %la, %pt : !head

    %p16 = arith.truncf %p : !s to tensor<?x?xbf16, #tile.dims<BN, BH>>
    %knT = tile.transpose %kn : !kn -> !knT
    %krT = tile.transpose %kr : !kr -> !krT
    %an = tile.broadcast %a along 0 : !head -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = tile.dot %knT, %p16, %on1 {warps = array<i64: 1, 4>} : !knT, tensor<?x?xbf16, #tile.dims<BN, BH>>, !on
    %ar = tile.broadcast %a along 0 : !head -> !or
    %or1 = arith.mulf %or0, %ar : !or
    %or2 = tile.dot %krT, %p16, %or1 {warps = array<i64: 1, 4>} : !krT, tensor<?x?xbf16, #tile.dims<BN, BH>>, !or
    scf.yield %m1, %l1, %on2, %or2 : !head, !head, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}

  // A row without a valid candidate has l = 0: its output is zero.
  %one_ = arith.constant 1.0 : f32
  %one = tile.full %one_ : f32 -> !head
  %empty = arith.cmpf oeq, %l, %zero : !head
  %l2 = arith.select %empty, %one, %l : tensor<?xi1, #tile.dims<BH>>, !head
  %factor = arith.divf %one, %l2 : !head
  %fn = tile.broadcast %factor along 0 : !head -> !on
  %yn = arith.mulf %on, %fn : !on
  %yn16 = arith.truncf %yn : !on to tensor<?x?xbf16, #tile.dims<NOPE, BH>>
  %ynT = tile.transpose %yn16 : tensor<?x?xbf16, #tile.dims<NOPE, BH>> -> !qn
  tile.store %ynT, %out[%b, %t, %h, %c0] : !qn, !vout
  %fr = tile.broadcast %factor along 0 : !head -> !or
  %yr = arith.mulf %or, %fr : !or
  %yr16 = arith.truncf %yr : !or to tensor<?x?xbf16, #tile.dims<ROPE, BH>>
  %yrT = tile.transpose %yr16 : tensor<?x?xbf16, #tile.dims<ROPE, BH>> -> !qr
  tile.store %yrT, %out[%b, %t, %h, %NOPE] : !qr, !vout
  tile.return
}
