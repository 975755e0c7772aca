// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse MLA decode. One program computes BH heads of one query row over one
// split of its candidates; `merge` joins the splits. Formulas in base 2:
//
//   s[h, c] = scale * log2(e) * <q[h], key[c]>          (-inf if c is skipped)
//   m' = max(m, max_c s),  p = 2^(s - m'),  l' = l 2^(m - m') + sum_c p
//   o' = o 2^(m - m') + p @ value
//
// A row without a valid candidate keeps m = -inf and l = 0; the reference that
// is subtracted is then 0, so that -inf - -inf is never formed.
//
// Scales that are powers of two are multiplied into the keys, which stay exact.
// fp32 scales multiply sums of scores, and p on its way to the values, in f32.

!ids  = tensor<?xi32, #tile.dims<BN>>
!mask = tensor<?xi1, #tile.dims<BN>>
!row  = tensor<?xf32, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BH, BN>>
!qn   = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!kn   = tensor<?x?xbf16, #tile.dims<BN, NOPE>>
!knT  = tensor<?x?xbf16, #tile.dims<NOPE, BN>>
!kr   = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!ks   = tensor<?x?xf32, #tile.dims<BN, GROUPS>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!vq   = !tile.view<[B, S, H, DQK], bf16>
!vidx = !tile.view<[B, S, W], i32>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>
!po   = !tile.view<[P, R, H, DV], f32>
!pr   = !tile.view<[P, R, H], f32>

// The end of a row, from its maximum m, sum l and the sink z (a natural-log
// logit, -inf for none): the factor of the unnormalised output and the
// natural-log lse. Infinite sinks and empty rows take the selects.
func.func private @finish(%m : !row, %l : !row, %z : !row) -> (!row, !row) {
  %c0 = arith.constant 0.0 : f32
  %c1 = arith.constant 1.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %inf_ = arith.constant 0x7F800000 : f32
  %log2e_ = arith.constant 1.44269504088896341 : f32
  %ln2_ = arith.constant 0.693147180559945309 : f32
  %zero = tile.full %c0 : f32 -> !row
  %one = tile.full %c1 : f32 -> !row
  %ninf = tile.full %ninf_ : f32 -> !row
  %inf = tile.full %inf_ : f32 -> !row
  %log2e = tile.full %log2e_ : f32 -> !row
  %ln2 = tile.full %ln2_ : f32 -> !row

  // factor = 2^(m - M) / (l 2^(m - M) + 2^(z2 - M)),  M = max(m, z2)
  %z2 = arith.mulf %z, %log2e : !row
  %M = arith.maximumf %m, %z2 : !row
  %abs = math.absf %M : !row
  %infinite = arith.cmpf oeq, %abs, %inf : !row
  %ref = arith.select %infinite, %zero, %M : tensor<?xi1, #tile.dims<BH>>, !row
  %dm = arith.subf %m, %ref : !row
  %em = math.exp2 %dm : !row
  %dz = arith.subf %z2, %ref : !row
  %ez = math.exp2 %dz : !row
  %lm = arith.mulf %l, %em : !row
  %den = arith.addf %lm, %ez : !row
  %quot = arith.divf %em, %den : !row
  %factor = arith.select %infinite, %zero, %quot : tensor<?xi1, #tile.dims<BH>>, !row

  // lse = A + log(e^(L - A) + e^(z - A)),  L = (m + log2 l) ln 2,  A = max(L, z)
  %empty = arith.cmpf oeq, %l, %zero : !row
  %l1 = arith.select %empty, %one, %l : tensor<?xi1, #tile.dims<BH>>, !row
  %log = math.log2 %l1 : !row
  %sum = arith.addf %m, %log : !row
  %L = arith.mulf %sum, %ln2 : !row
  %A = arith.maximumf %L, %z : !row
  %absA = math.absf %A : !row
  %infA = arith.cmpf oeq, %absA, %inf : !row
  %refA = arith.select %infA, %zero, %A : tensor<?xi1, #tile.dims<BH>>, !row
  %dL = arith.subf %L, %refA : !row
  %eL = math.exp %dL : !row
  %dzA = arith.subf %z, %refA : !row
  %ezA = math.exp %dzA : !row
  %both = arith.addf %eL, %ezA : !row
  %logb = math.log %both : !row
  %fin = arith.addf %refA, %logb : !row
  %lse = arith.select %infA, %A, %fin : tensor<?xi1, #tile.dims<BH>>, !row
  func.return %factor, %lse : !row, !row
}

tile.kernel @decode params(FMT : format, BH : index = 16, BN : index = 32, WARPS : index = 4,
                           HAS_LENGTH : i1 = true, HAS_SINK : i1 = false,
                           SPLIT : i1 = false, LSE : index = 0,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope,
                           V_ROPE : i1 = FMT.rope_in_value, GROUPS : index = FMT.groups,
                           SCALE_F32 : i1 = FMT.scale_f32) warps(WARPS)
    (%q : !vq, %kv : !tile.pool<FMT>, %indices : !vidx, %lengths : !tile.view<[B, S, 1], i32>,
     %sink : !vrow, %out : !vout, %lse : !vlse, %part_o : !po, %part_m : !pr, %part_l : !pr,
     %sm_scale : f32, %num_splits : index) {
  tile.require affine_set<(n) : (n mod 16 == 0, n - 16 >= 0)>(BN), "a candidate tile is whole mma rows"
  tile.require affine_set<(h) : (h mod 16 == 0, h - 16 >= 0)>(BH), "a head tile is whole mma rows"
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(LSE), "lse is 0 (none), 1 (base 2) or 2 (base e)"

  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504088896341 : f32
  %skip = arith.constant -1 : i32
  %BH = tile.param BH : index
  %BN = tile.param BN : index
  %NOPE = tile.param NOPE : index
  %HAS_LENGTH = tile.param HAS_LENGTH : i1
  %HAS_SINK = tile.param HAS_SINK : i1
  %SPLIT = tile.param SPLIT : i1
  %V_ROPE = tile.param V_ROPE : i1
  %SCALE_F32 = tile.param SCALE_F32 : i1
  %LSE = tile.param LSE : index
  %ROPE = tile.param ROPE : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index

  // program = (row * head tiles + head tile) * splits + split
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %W = tile.dim %indices, 2 : !vidx
  %pid = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %BH : index
  %split = arith.remui %pid, %num_splits : index
  %pid1 = arith.divui %pid, %num_splits : index
  %head_tile = arith.remui %pid1, %head_tiles : index
  %row = arith.divui %pid1, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %BH : index

  // Candidates [begin, end) of this split; whole tiles but for the last.
  %length = scf.if %HAS_LENGTH -> index {
    %len32 = tile.load %lengths[%b, %t, %c0] : !tile.view<[B, S, 1], i32> -> i32
    %len = arith.index_cast %len32 : i32 to index
    %len0 = arith.maxsi %len, %c0 : index
    %len1 = arith.minsi %len0, %W : index
    scf.yield %len1 : index
  } else {
    scf.yield %W : index
  }
  %tiles = arith.ceildivui %W, %BN : index
  %tiles_per_split = arith.ceildivui %tiles, %num_splits : index
  %per_split = arith.muli %tiles_per_split, %BN : index
  %begin = arith.muli %split, %per_split : index
  %stop = arith.addi %begin, %per_split : index
  %end = arith.minsi %stop, %length : index

  %qn = tile.load %q[%b, %t, %h, %c0] : !vq -> !qn
  %qr = scf.if %has_rope -> !qr {
    %qr0 = tile.load %q[%b, %t, %h, %NOPE] : !vq -> !qr
    scf.yield %qr0 : !qr
  } else {
    %b0 = arith.constant 0.0 : bf16
    %qr0 = tile.full %b0 : bf16 -> !qr
    scf.yield %qr0 : !qr
  }
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or
  %scale2_ = arith.mulf %sm_scale, %log2e : f32
  %scale2 = tile.full %scale2_ : f32 -> !s

  %m, %l, %on, %or = scf.for %n = %begin to %end step %BN
      iter_args(%m0 = %ninf, %l0 = %zero, %on0 = %on_zero, %or0 = %or_zero) -> (!row, !row, !on, !or) {
    %ids = tile.load %indices[%b, %t, %n] limit %end else %skip : !vidx -> !ids
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !tile.rows<FMT, [BN]>, !mask
    %ks = tile.dequant %rows scale : !tile.rows<FMT, [BN]> -> !ks
    %kn = scf.if %SCALE_F32 -> !kn {
      %kp = tile.dequant %rows payload : !tile.rows<FMT, [BN]> -> !kn
      scf.yield %kp : !kn
    } else {
      %kp = tile.dequant %rows nope : !tile.rows<FMT, [BN]> -> !kn
      scf.yield %kp : !kn
    }
    %knT = tile.transpose %kn : !kn -> !knT
    %s0 = scf.if %SCALE_F32 -> !s {
      %ksT = tile.transpose %ks : !ks -> tensor<?x?xf32, #tile.dims<GROUPS, BN>>
      %sn = tile.dot_scaled %qn, %knT, %ksT, %s_zero : !qn, !knT, tensor<?x?xf32, #tile.dims<GROUPS, BN>>, !s
      scf.yield %sn : !s
    } else {
      %sn = tile.dot %qn, %knT, %s_zero : !qn, !knT, !s
      scf.yield %sn : !s
    }
    %s1 = scf.if %has_rope -> !s {
      %kr = tile.dequant %rows rope : !tile.rows<FMT, [BN]> -> !kr
      %krT = tile.transpose %kr : !kr -> tensor<?x?xbf16, #tile.dims<ROPE, BN>>
      %sr = tile.dot %qr, %krT, %s0 : !qr, tensor<?x?xbf16, #tile.dims<ROPE, BN>>, !s
      scf.yield %sr : !s
    } else {
      scf.yield %s0 : !s
    }
    %s2 = arith.mulf %s1, %scale2 : !s
    %okb = tile.broadcast %ok along 0 : !mask -> tensor<?x?xi1, #tile.dims<BH, BN>>
    %s = arith.select %okb, %s2, %s_ninf : tensor<?x?xi1, #tile.dims<BH, BN>>, !s

    %mt = tile.reduce maximumf %s along 1 : !s -> !row
    %m1 = arith.maximumf %m0, %mt : !row
    %none = arith.cmpf oeq, %m1, %ninf : !row
    %ref = arith.select %none, %zero, %m1 : tensor<?xi1, #tile.dims<BH>>, !row
    %dm = arith.subf %m0, %ref : !row
    %a = math.exp2 %dm : !row
    %refb = tile.broadcast %ref along 1 : !row -> !s
    %ds = arith.subf %s, %refb : !s
    %p = math.exp2 %ds : !s
    %pt = tile.reduce addf %p along 1 : !s -> !row
    %la = arith.mulf %l0, %a : !row
    %l1 = arith.addf %la, %pt : !row

    %p16 = arith.truncf %p : !s to tensor<?x?xbf16, #tile.dims<BH, BN>>
    %an = tile.broadcast %a along 1 : !row -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = scf.if %SCALE_F32 -> !on {
      %on3 = tile.dot_scaled %p, %kn, %ks, %on1 : !s, !kn, !ks, !on
      scf.yield %on3 : !on
    } else {
      %on3 = tile.dot %p16, %kn, %on1 : tensor<?x?xbf16, #tile.dims<BH, BN>>, !kn, !on
      scf.yield %on3 : !on
    }
    %or2 = scf.if %V_ROPE -> !or {
      %vr = tile.dequant %rows rope : !tile.rows<FMT, [BN]> -> !kr
      %ar = tile.broadcast %a along 1 : !row -> !or
      %or1 = arith.mulf %or0, %ar : !or
      %or3 = tile.dot %p16, %vr, %or1 : tensor<?x?xbf16, #tile.dims<BH, BN>>, !kr, !or
      scf.yield %or3 : !or
    } else {
      scf.yield %or0 : !or
    }
    scf.yield %m1, %l1, %on2, %or2 : !row, !row, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}

  scf.if %SPLIT {
    tile.store %on, %part_o[%split, %row, %h, %c0] : !on, !po
    scf.if %V_ROPE {
      tile.store %or, %part_o[%split, %row, %h, %NOPE] : !or, !po
    }
    tile.store %m, %part_m[%split, %row, %h] : !row, !pr
    tile.store %l, %part_l[%split, %row, %h] : !row, !pr
  } else {
    %z = scf.if %HAS_SINK -> !row {
      %z0 = tile.load %sink[%h] : !vrow -> !row
      scf.yield %z0 : !row
    } else {
      scf.yield %ninf : !row
    }
    %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
    %fn = tile.broadcast %factor along 1 : !row -> !on
    %yn = arith.mulf %on, %fn : !on
    %yn16 = arith.truncf %yn : !on to tensor<?x?xbf16, #tile.dims<BH, NOPE>>
    tile.store %yn16, %out[%b, %t, %h, %c0] : tensor<?x?xbf16, #tile.dims<BH, NOPE>>, !vout
    scf.if %V_ROPE {
      %fr = tile.broadcast %factor along 1 : !row -> !or
      %yr = arith.mulf %or, %fr : !or
      %yr16 = arith.truncf %yr : !or to tensor<?x?xbf16, #tile.dims<BH, ROPE>>
      tile.store %yr16, %out[%b, %t, %h, %NOPE] : tensor<?x?xbf16, #tile.dims<BH, ROPE>>, !vout
    }
    %want_lse = arith.cmpi ne, %LSE, %c0 : index
    scf.if %want_lse {
      %base2 = arith.cmpi eq, %LSE, %c1 : index
      %log2e_row = tile.full %log2e : f32 -> !row
      %lse_2 = arith.mulf %lse_e, %log2e_row : !row
      %stored = arith.select %base2, %lse_2, %lse_e : !row
      tile.store %stored, %lse[%b, %t, %h] : !row, !vlse
    }
  }
  tile.return
}

// Joins the splits of BH heads of one row, BD value columns at a time, in the
// order of the splits:  M = max m_i,  l = sum l_i 2^(m_i - M),  o likewise.
!od = tensor<?x?xf32, #tile.dims<BH, BD>>
!yd = tensor<?x?xbf16, #tile.dims<BH, BD>>

tile.kernel @merge params(BH : index = 16, BD : index = 64, WARPS : index = 4, HAS_SINK : i1 = false, LSE : index = 0) warps(WARPS)
    (%part_o : !po, %part_m : !pr, %part_l : !pr, %sink : !vrow, %out : !vout, %lse : !vlse,
     %num_splits : index) {
  tile.require affine_set<(x) : (x >= 0, 2 - x >= 0)>(LSE), "lse is 0 (none), 1 (base 2) or 2 (base e)"
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504088896341 : f32
  %BH = tile.param BH : index
  %BD = tile.param BD : index
  %HAS_SINK = tile.param HAS_SINK : i1
  %LSE = tile.param LSE : index

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

  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %o_zero = tile.full %f0 : f32 -> !od
  %m, %l, %o = scf.for %i = %c0 to %num_splits step %c1
      iter_args(%m0 = %ninf, %l0 = %zero, %o0 = %o_zero) -> (!row, !row, !od) {
    %mi = tile.load %part_m[%i, %row, %h] else %ninf_ : !pr -> !row
    %li = tile.load %part_l[%i, %row, %h] : !pr -> !row
    %oi = tile.load %part_o[%i, %row, %h, %d] : !po -> !od
    %m1 = arith.maximumf %m0, %mi : !row
    %none = arith.cmpf oeq, %m1, %ninf : !row
    %ref = arith.select %none, %zero, %m1 : tensor<?xi1, #tile.dims<BH>>, !row
    %d0 = arith.subf %m0, %ref : !row
    %a0 = math.exp2 %d0 : !row
    %di = arith.subf %mi, %ref : !row
    %ai = math.exp2 %di : !row
    %l0a = arith.mulf %l0, %a0 : !row
    %lia = arith.mulf %li, %ai : !row
    %l1 = arith.addf %l0a, %lia : !row
    %a0b = tile.broadcast %a0 along 1 : !row -> !od
    %aib = tile.broadcast %ai along 1 : !row -> !od
    %o0a = arith.mulf %o0, %a0b : !od
    %oia = arith.mulf %oi, %aib : !od
    %o1 = arith.addf %o0a, %oia : !od
    scf.yield %m1, %l1, %o1 : !row, !row, !od
  }

  %z = scf.if %HAS_SINK -> !row {
    %z0 = tile.load %sink[%h] : !vrow -> !row
    scf.yield %z0 : !row
  } else {
    scf.yield %ninf : !row
  }
  %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
  %f = tile.broadcast %factor along 1 : !row -> !od
  %y = arith.mulf %o, %f : !od
  %y16 = arith.truncf %y : !od to !yd
  tile.store %y16, %out[%b, %t, %h, %d] : !yd, !vout
  %first = arith.cmpi eq, %column_tile, %c0 : index
  %want_lse = arith.cmpi ne, %LSE, %c0 : index
  %store_lse = arith.andi %first, %want_lse : i1
  scf.if %store_lse {
    %base2 = arith.cmpi eq, %LSE, %c1 : index
    %log2e_row = tile.full %log2e : f32 -> !row
    %lse_2 = arith.mulf %lse_e, %log2e_row : !row
    %stored = arith.select %base2, %lse_2, %lse_e : !row
    tile.store %stored, %lse[%b, %t, %h] : !row, !vlse
  }
  tile.return
}
