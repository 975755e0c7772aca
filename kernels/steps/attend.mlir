// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recurrence over a list of candidates, heads on the rows. In base 2, with
// the unit u[c] of a candidate's scales (keys.mlir):
//
//   s[h, c] = scale * log2(e) * <q[h], key[c]>                 (-inf if c is skipped)
//   m' = max_c (s + log2 u[c]) if that is above m + 8, else m
//   a = 2^(m - m'),  p = 2^(s - m')
//   l' = l a + p,  o' = o a + p @ value
//
// l is a tile, summed over c once after the last list. m is a reference for l
// and o and not the maximum: it changes rarely, so that o is rarely rescaled; p u
// is at most 2^8. A row without a valid candidate keeps m = -inf and l = 0; the
// reference that is subtracted is then 0, so that -inf - -inf is never formed.
//
// Products are of f16, the rope part's of bf16; FP8 makes scores of e4m3 (1), or
// scores and values (2): fp8.mlir. Where a value is multiplied, its scales are
//
//   e4m3: in the key, and p as it is (u is for the reference only);
//   CONVERTS: in the key, over u, which multiplies sums of scores, and p;
//   else: in f32 on sums of scores; over u in f16 on p u, on its way to the values.

!ids  = tensor<?xi32, #tile.dims<BN>>
!mask = tensor<?xi1, #tile.dims<BN>>
!cand = tensor<?xf32, #tile.dims<BN>>
!row  = tensor<?xf32, #tile.dims<BH>>
!rowm = tensor<?xi1, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BH, BN>>
!sm   = tensor<?x?xi1, #tile.dims<BH, BN>>
!p16  = tensor<?x?xf16, #tile.dims<BH, BN>>
!pb   = tensor<?x?xbf16, #tile.dims<BH, BN>>
!qn   = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!q8   = tensor<?x?xf8E4M3FN, #tile.dims<BH, NOPE>>
!kn   = tensor<?x?xf16, #tile.dims<BN, NOPE>>
!knT  = tensor<?x?xf16, #tile.dims<NOPE, BN>>
!kr   = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!krT  = tensor<?x?xbf16, #tile.dims<ROPE, BN>>
!ks   = tensor<?x?xf32, #tile.dims<BN, GROUPS>>
!ksT  = tensor<?x?xf32, #tile.dims<GROUPS, BN>>
!ks16 = tensor<?x?xf16, #tile.dims<BN, GROUPS>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!rows = !tile.rows<FMT, [BN]>
!vidx = !tile.view<[B, S, W], i32>

func.func private @relative_scales(!ks) -> (!ks, !cand, !cand)
func.func private @query_terms(!qn) -> (!q8, !q8)
func.func private @scores_fp8(!q8, !rows, !s) -> !s
func.func private @reference_fp8(!row) -> !row
func.func private @values_fp8(!p16, !rows, !ks16, !on) -> !on

// Candidates %begin .. %end - 1 of row (%b, %t) of one list; %unit: of the
// query, what its scores are multiplied by.
func.func private @attend(%qn : !qn, %qr : !qr, %unit : !row, %kv : !tile.pool<FMT>, %indices : !vidx,
                          %b : index, %t : index, %begin : index, %end : index, %sm_scale : f32,
                          %m_ : !row, %l_ : !s, %on_ : !on, %or_ : !or) -> (!row, !s, !on, !or) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504088896341 : f32
  %skip = arith.constant -1 : i32
  %BN = tile.param BN : index
  %ROPE = tile.param ROPE : index
  %V_ROPE = tile.param V_ROPE : i1
  %SCALE_E4M3 = tile.param SCALE_E4M3 : i1
  %CONVERTS = tile.param CONVERTS : i1
  %in_keys = arith.ori %SCALE_E4M3, %CONVERTS : i1
  // Sums over keys are in units of the candidates, those over the rope part are not.
  %in_units = arith.xori %in_keys, %SCALE_E4M3 : i1
  %FP8 = tile.param FP8 : index
  %BULK = tile.param BULK : i1
  %c2 = arith.constant 2 : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index
  %fp8 = arith.cmpi ne, %FP8, %c0 : index
  %fp8_values = arith.cmpi eq, %FP8, %c2 : index
  %q_high, %q_low = func.call @query_terms(%qn) : (!qn) -> (!q8, !q8)
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %slack_ = arith.constant 8.0 : f32
  %slack = tile.full %slack_ : f32 -> !row
  %scale2_ = arith.mulf %sm_scale, %log2e : f32
  %scale2_row = tile.full %scale2_ : f32 -> !row
  %scale2_unit = arith.mulf %scale2_row, %unit : !row
  %scale2 = tile.broadcast %scale2_unit along 1 : !row -> !s

  %m, %l, %on, %or = scf.for %n = %begin to %end step %BN
      iter_args(%m0 = %m_, %l0 = %l_, %on0 = %on_, %or0 = %or_) -> (!row, !s, !on, !or) {
    %ids = tile.load %indices[%b, %t, %n] limit %end else %skip : !vidx -> !ids
    %rows, %ok = scf.if %BULK -> (!rows, !mask) {
      %rows0, %ok0 = tile.gather %kv[%ids] {bulk} : !tile.pool<FMT>, !ids -> !rows, !mask
      scf.yield %rows0, %ok0 : !rows, !mask
    } else {
      %rows0, %ok0 = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !rows, !mask
      scf.yield %rows0, %ok0 : !rows, !mask
    }
    %ks = tile.dequant %rows scale : !rows -> !ks
    %r, %u, %log_u = func.call @relative_scales(%ks) : (!ks) -> (!ks, !cand, !cand)
    %r16 = arith.truncf %r : !ks to !ks16
    %ub = tile.broadcast %u along 0 : !cand -> !s
    %kn = scf.if %SCALE_E4M3 -> !kn {
      %kp = tile.dequant %rows nope : !rows -> !kn
      scf.yield %kp : !kn
    } else {
      %kw = scf.if %CONVERTS -> !kn {
        %kp = tile.dequant %rows payload times %r16 : !rows, !ks16 -> !kn
        scf.yield %kp : !kn
      } else {
        %kp = tile.dequant %rows payload : !rows -> !kn
        scf.yield %kp : !kn
      }
      scf.yield %kw : !kn
    }
    %knT = tile.transpose %kn : !kn -> !knT
    %s0 = scf.if %fp8 -> !s {
      %sl = func.call @scores_fp8(%q_low, %rows, %s_zero) : (!q8, !rows, !s) -> !s
      %sh = func.call @scores_fp8(%q_high, %rows, %sl) : (!q8, !rows, !s) -> !s
      scf.yield %sh : !s
    } else {
      %sw = scf.if %in_keys -> !s {
        %sn = tile.dot %qn, %knT, %s_zero : !qn, !knT, !s
        scf.yield %sn : !s
      } else {
        %ksT = tile.transpose %ks : !ks -> !ksT
        %sn = tile.dot_scaled %qn, %knT, %ksT, %s_zero : !qn, !knT, !ksT, !s
        scf.yield %sn : !s
      }
      scf.yield %sw : !s
    }
    %s1 = scf.if %has_rope -> !s {
      %kr = tile.dequant %rows rope : !rows -> !kr
      %krT = tile.transpose %kr : !kr -> !krT
      %sw = scf.if %in_units -> !s {
        %sr = tile.dot %qr, %krT, %s_zero : !qr, !krT, !s
        %both = math.fma %s0, %ub, %sr : !s
        scf.yield %both : !s
      } else {
        %sr = tile.dot %qr, %krT, %s0 : !qr, !krT, !s
        scf.yield %sr : !s
      }
      scf.yield %sw : !s
    } else {
      %sw = scf.if %in_units -> !s {
        %sn = arith.mulf %s0, %ub : !s
        scf.yield %sn : !s
      } else {
        scf.yield %s0 : !s
      }
      scf.yield %sw : !s
    }
    %s2 = arith.mulf %s1, %scale2 : !s
    %okb = tile.broadcast %ok along 0 : !mask -> !sm
    %s = arith.select %okb, %s2, %s_ninf : !sm, !s
    %log_ub = tile.broadcast %log_u along 0 : !cand -> !s
    %weighted = arith.addf %s, %log_ub : !s

    %mt0 = tile.reduce maximumf %weighted along 1 : !s -> !row
    %mt = scf.if %fp8_values -> !row {
      %below = func.call @reference_fp8(%mt0) : (!row) -> !row
      scf.yield %below : !row
    } else {
      scf.yield %mt0 : !row
    }
    %limit = scf.if %fp8_values -> !row {
      scf.yield %m0 : !row
    } else {
      %most = arith.addf %m0, %slack : !row
      scf.yield %most : !row
    }
    %over = arith.cmpf ogt, %mt, %limit : !row
    %m1 = arith.select %over, %mt, %m0 : !rowm, !row
    %none = arith.cmpf oeq, %m1, %ninf : !row
    %ref = arith.select %none, %zero, %m1 : !rowm, !row
    %dm = arith.subf %m0, %ref : !row
    %a = math.exp2 %dm : !row
    %refb = tile.broadcast %ref along 1 : !row -> !s
    %ds = arith.subf %s, %refb : !s
    %pu = math.exp2 %ds : !s
    %p = scf.if %SCALE_E4M3 -> !s {
      scf.yield %pu : !s
    } else {
      %pw = arith.mulf %pu, %ub : !s
      scf.yield %pw : !s
    }
    %ab = tile.broadcast %a along 1 : !row -> !s
    %l1 = math.fma %l0, %ab, %pu : !s

    %p16 = arith.truncf %p : !s to !p16
    %pb = arith.truncf %pu : !s to !pb
    %an = tile.broadcast %a along 1 : !row -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = scf.if %fp8_values -> !on {
      %o8 = func.call @values_fp8(%p16, %rows, %r16, %on1) : (!p16, !rows, !ks16, !on) -> !on
      scf.yield %o8 : !on
    } else {
      %ow = scf.if %in_keys -> !on {
        %on3 = tile.dot %p16, %kn, %on1 : !p16, !kn, !on
        scf.yield %on3 : !on
      } else {
        %on3 = tile.dot_scaled %p16, %kn, %r16, %on1 : !p16, !kn, !ks16, !on
        scf.yield %on3 : !on
      }
      scf.yield %ow : !on
    }
    %or2 = scf.if %V_ROPE -> !or {
      %vr = tile.dequant %rows rope : !rows -> !kr
      %ar = tile.broadcast %a along 1 : !row -> !or
      %or1 = arith.mulf %or0, %ar : !or
      %or3 = tile.dot %pb, %vr, %or1 : !pb, !kr, !or
      scf.yield %or3 : !or
    } else {
      scf.yield %or0 : !or
    }
    scf.yield %m1, %l1, %on2, %or2 : !row, !s, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  func.return %m, %l, %on, %or : !row, !s, !on, !or
}
