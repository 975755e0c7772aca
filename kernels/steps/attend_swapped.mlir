// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recurrence of attend.mlir over a list of candidates, transposed:
// candidates on the rows, heads on the columns of both products.
//
//   s[c, h] = scale * log2(e) * <key[c], q[h]>,  p[c, h] = 2^(s - m'[h]),  o[d, h] = sum_c value[c, d] p[c, h]
//
// A warp has all candidates of its heads, so the statistics stay in the warp.

!ids  = tensor<?xi32, #tile.dims<BN>>
!mask = tensor<?xi1, #tile.dims<BN>>
!cand = tensor<?xf32, #tile.dims<BN>>
!row  = tensor<?xf32, #tile.dims<BH>>
!rowm = tensor<?xi1, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BN, BH>>
!sm   = tensor<?x?xi1, #tile.dims<BN, BH>>
!p16  = tensor<?x?xf16, #tile.dims<BN, BH>>
!pb   = tensor<?x?xbf16, #tile.dims<BN, BH>>
!qn   = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!qnT  = tensor<?x?xf16, #tile.dims<NOPE, BH>>
!qrT  = tensor<?x?xbf16, #tile.dims<ROPE, BH>>
!q8   = tensor<?x?xf8E4M3FN, #tile.dims<BH, NOPE>>
!kn   = tensor<?x?xf16, #tile.dims<BN, NOPE>>
!knT  = tensor<?x?xf16, #tile.dims<NOPE, BN>>
!kr   = tensor<?x?xbf16, #tile.dims<BN, ROPE>>
!krT  = tensor<?x?xbf16, #tile.dims<ROPE, BN>>
!ks   = tensor<?x?xf32, #tile.dims<BN, GROUPS>>
!ks16 = tensor<?x?xf16, #tile.dims<BN, GROUPS>>
!ksT  = tensor<?x?xf32, #tile.dims<GROUPS, BN>>
!on   = tensor<?x?xf32, #tile.dims<NOPE, BH>>
!or   = tensor<?x?xf32, #tile.dims<ROPE, BH>>
!rows = !tile.rows<FMT, [BN]>
!vidx = !tile.view<[B, S, W], i32>

func.func private @relative_scales(!ks) -> (!ks, !cand, !cand)
func.func private @query_terms(!qn) -> (!q8, !q8)
func.func private @scores_fp8_swapped(!q8, !rows, !s) -> !s
func.func private @reference_fp8(!row) -> !row
func.func private @values_fp8_swapped(!p16, !rows, !ks16, !on) -> !on

// Candidates %begin .. %end - 1 of row (%b, %t) of one list; %unit: of the
// query, what its scores are multiplied by.
func.func private @attend_swapped(%qn : !qn, %qr : !qr, %unit : !row, %kv : !tile.pool<FMT>, %indices : !vidx,
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
  %qnT = tile.transpose %qn : !qn -> !qnT
  %qrT = tile.transpose %qr : !qr -> !qrT
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %s_zero = tile.full %f0 : f32 -> !s
  %s_ninf = tile.full %ninf_ : f32 -> !s
  %scale2_ = arith.mulf %sm_scale, %log2e : f32
  %scale2_row = tile.full %scale2_ : f32 -> !row
  %scale2_unit = arith.mulf %scale2_row, %unit : !row
  %scale2 = tile.broadcast %scale2_unit along 0 : !row -> !s

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
    %ub = tile.broadcast %u along 1 : !cand -> !s
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
    %s0 = scf.if %fp8 -> !s {
      %sl = func.call @scores_fp8_swapped(%q_low, %rows, %s_zero) : (!q8, !rows, !s) -> !s
      %sh = func.call @scores_fp8_swapped(%q_high, %rows, %sl) : (!q8, !rows, !s) -> !s
      scf.yield %sh : !s
    } else {
      %sw = scf.if %in_keys -> !s {
        %sn = tile.dot %kn, %qnT, %s_zero : !kn, !qnT, !s
        scf.yield %sn : !s
      } else {
        %sn = tile.dot_scaled %kn, %qnT, %ks, %s_zero {scale_a} : !kn, !qnT, !ks, !s
        scf.yield %sn : !s
      }
      scf.yield %sw : !s
    }
    %s1 = scf.if %has_rope -> !s {
      %kr = tile.dequant %rows rope : !rows -> !kr
      %sw = scf.if %in_units -> !s {
        %sr = tile.dot %kr, %qrT, %s_zero : !kr, !qrT, !s
        %both = math.fma %s0, %ub, %sr : !s
        scf.yield %both : !s
      } else {
        %sr = tile.dot %kr, %qrT, %s0 : !kr, !qrT, !s
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
    %okb = tile.broadcast %ok along 1 : !mask -> !sm
    %s = arith.select %okb, %s2, %s_ninf : !sm, !s
    %log_ub = tile.broadcast %log_u along 1 : !cand -> !s
    %weighted = arith.addf %s, %log_ub : !s

    %most = tile.reduce maximumf %weighted along 0 : !s -> !row
    %mt = scf.if %fp8_values -> !row {
      %below = func.call @reference_fp8(%most) : (!row) -> !row
      scf.yield %below : !row
    } else {
      scf.yield %most : !row
    }
    %m1 = arith.maximumf %m0, %mt : !row
    %none = arith.cmpf oeq, %m1, %ninf : !row
    %ref = arith.select %none, %zero, %m1 : !rowm, !row
    %dm = arith.subf %m0, %ref : !row
    %a = math.exp2 %dm : !row
    %refb = tile.broadcast %ref along 0 : !row -> !s
    %ds = arith.subf %s, %refb : !s
    %pu = math.exp2 %ds : !s
    %p = scf.if %SCALE_E4M3 -> !s {
      scf.yield %pu : !s
    } else {
      %pw = arith.mulf %pu, %ub : !s
      scf.yield %pw : !s
    }
    %ab = tile.broadcast %a along 0 : !row -> !s
    %l1 = math.fma %l0, %ab, %pu : !s

    %p16 = arith.truncf %p : !s to !p16
    %pb = arith.truncf %pu : !s to !pb
    %knT = tile.transpose %kn : !kn -> !knT
    %an = tile.broadcast %a along 0 : !row -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = scf.if %fp8_values -> !on {
      %o8 = func.call @values_fp8_swapped(%p16, %rows, %r16, %on1) : (!p16, !rows, !ks16, !on) -> !on
      scf.yield %o8 : !on
    } else {
      %ow = scf.if %in_keys -> !on {
        %on3 = tile.dot %knT, %p16, %on1 : !knT, !p16, !on
        scf.yield %on3 : !on
      } else {
        %rT = tile.transpose %r : !ks -> !ksT
        %on3 = tile.dot_scaled %knT, %p, %rT, %on1 {scale_a} : !knT, !s, !ksT, !on
        scf.yield %on3 : !on
      }
      scf.yield %ow : !on
    }
    %or2 = scf.if %V_ROPE -> !or {
      %vr = tile.dequant %rows rope : !rows -> !kr
      %ar = tile.broadcast %a along 0 : !row -> !or
      %or1 = arith.mulf %or0, %ar : !or
      %vrT = tile.transpose %vr : !kr -> !krT
      %or3 = tile.dot %vrT, %pb, %or1 : !krT, !pb, !or
      scf.yield %or3 : !or
    } else {
      scf.yield %or0 : !or
    }
    scf.yield %m1, %l1, %on2, %or2 : !row, !s, !on, !or
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  func.return %m, %l, %on, %or : !row, !s, !on, !or
}
