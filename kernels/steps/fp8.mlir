// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products on the FP8 tensor cores. Scores: keys as they are stored, queries as two e4m3
// terms (one alone is off by 2^-4: docs/Accuracy.md). Scales of powers of two go
// through the mma; others multiply f32 sums of their blocks.

!row  = tensor<?xf32, #tile.dims<BH>>
!s    = tensor<?x?xf32, #tile.dims<BH, BN>>
!sT   = tensor<?x?xf32, #tile.dims<BN, BH>>
!qn   = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!qn32 = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!q8   = tensor<?x?xf8E4M3FN, #tile.dims<BH, NOPE>>
!q8T  = tensor<?x?xf8E4M3FN, #tile.dims<NOPE, BH>>
!k8   = tensor<?x?xf8E4M3FN, #tile.dims<BN, NOPE>>
!k8T  = tensor<?x?xf8E4M3FN, #tile.dims<NOPE, BN>>
!ks   = tensor<?x?xf32, #tile.dims<BN, GROUPS>>
!ksT  = tensor<?x?xf32, #tile.dims<GROUPS, BN>>
!ks8  = tensor<?x?xf8E8M0FNU, #tile.dims<BN, GROUPS>>
!ks8T = tensor<?x?xf8E8M0FNU, #tile.dims<GROUPS, BN>>
!p16  = tensor<?x?xf16, #tile.dims<BH, BN>>
!p16T = tensor<?x?xf16, #tile.dims<BN, BH>>
!ks16 = tensor<?x?xf16, #tile.dims<BN, GROUPS>>
!k16T = tensor<?x?xf16, #tile.dims<GROUPS, BN>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!onT  = tensor<?x?xf32, #tile.dims<NOPE, BH>>
!rows = !tile.rows<FMT, [BN]>

// A query of @query_f16 as e4m3 and what that leaves. Its largest element is
// 2^7 to 2^8; an error of 2^-10, half of the smallest e4m3, is 2^-17 of it.
func.func private @query_terms(%qn : !qn) -> (!q8, !q8) {
  %high = arith.truncf %qn : !qn to !q8
  %exact = arith.extf %qn : !qn to !qn32
  %near = arith.extf %high : !q8 to !qn32
  %left = arith.subf %exact, %near : !qn32
  %low = arith.truncf %left : !qn32 to !q8
  func.return %high, %low : !q8, !q8
}

// %s + the product of one term with the keys.
func.func private @scores_fp8(%q : !q8, %rows : !rows, %s : !s) -> !s {
  %SCALE_F32 = tile.param SCALE_F32 : i1
  %k = tile.dequant %rows payload : !rows -> !k8
  %kT = tile.transpose %k : !k8 -> !k8T
  %sum = scf.if %SCALE_F32 -> !s {
    %ks = tile.dequant %rows scale : !rows -> !ks
    %ksT = tile.transpose %ks : !ks -> !ksT
    %sn = tile.dot_scaled %q, %kT, %ksT, %s : !q8, !k8T, !ksT, !s
    scf.yield %sn : !s
  } else {
    %ks = tile.dequant %rows scale : !rows -> !ks8
    %ksT = tile.transpose %ks : !ks8 -> !ks8T
    %sn = tile.dot_scaled %q, %kT, %ksT, %s : !q8, !k8T, !ks8T, !s
    scf.yield %sn : !s
  }
  func.return %sum : !s
}

// The same transposed, for attend_swapped.mlir.
func.func private @scores_fp8_swapped(%q : !q8, %rows : !rows, %s : !sT) -> !sT {
  %SCALE_F32 = tile.param SCALE_F32 : i1
  %k = tile.dequant %rows payload : !rows -> !k8
  %qT = tile.transpose %q : !q8 -> !q8T
  %sum = scf.if %SCALE_F32 -> !sT {
    %ks = tile.dequant %rows scale : !rows -> !ks
    %sn = tile.dot_scaled %k, %qT, %ks, %s {scale_a} : !k8, !q8T, !ks, !sT
    scf.yield %sn : !sT
  } else {
    %ks = tile.dequant %rows scale : !rows -> !ks8
    %sn = tile.dot_scaled %k, %qT, %ks, %s {scale_a} : !k8, !q8T, !ks8, !sT
    scf.yield %sn : !sT
  }
  func.return %sum : !sT
}

// What is subtracted from scores whose largest are %max: probabilities up to 2^7,
// and 2^8 with their scales, leave e4m3 neither at its top (448) nor, for 14
// powers of two, at its bottom.
func.func private @reference_fp8(%max : !row) -> !row {
  %seven_ = arith.constant 7.0 : f32
  %seven = tile.full %seven_ : f32 -> !row
  %below = arith.subf %max, %seven : !row
  func.return %below : !row
}

// %o + probabilities times values, of which both are e4m3: p times its scale is
// rounded, and the payload is taken as it is.
func.func private @values_fp8(%p : !p16, %rows : !rows, %r : !ks16, %o : !on) -> !on {
  %v = tile.dequant %rows payload : !rows -> !k8
  %sum = tile.dot_scaled %p, %v, %r, %o : !p16, !k8, !ks16, !on
  func.return %sum : !on
}

func.func private @values_fp8_swapped(%p : !p16T, %rows : !rows, %r : !ks16, %o : !onT) -> !onT {
  %v = tile.dequant %rows payload : !rows -> !k8
  %vT = tile.transpose %v : !k8 -> !k8T
  %rT = tile.transpose %r : !ks16 -> !k16T
  %sum = tile.dot_scaled %vT, %p, %rT, %o {scale_a} : !k8T, !p16T, !k16T, !onT
  func.return %sum : !onT
}
