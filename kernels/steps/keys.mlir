// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!cand  = tensor<?xf32, #tile.dims<BN>>
!candi = tensor<?xi32, #tile.dims<BN>>
!ks    = tensor<?x?xf32, #tile.dims<BN, GROUPS>>

// Scales of keys, made fit for values in f16. Each candidate has a unit u, a
// power of two: its largest scale, rounded down (2^-110 to 2^113, so that the
// largest scale over u is in f16 and 2^-113, p of its candidate, far in f32).
// Returns the scales over u, u and log2 u.
//
// Where keys are converted once, with these scales in them, u is 2^-6 of that,
// and up to 2^121: numbers up to 448 times 128 are in f16, and small scales of a
// row stay exact for longer. Scales of e4m3 are multiplied into keys as they are: u is 2^-7 to
// 2^8 there, and only the reference follows it.
//
// A probability times u never leaves f16 if the reference that is subtracted
// from scores is the largest of score + log2 u, not of score. Nor does one alone
// where u is at least 2^-7.
func.func private @relative_scales(%ks : !ks) -> (!ks, !cand, !cand) {
  %exponent_ = arith.constant 0x7F800000 : i32
  %least_wide = arith.constant 0x08800000 : i32
  %most_once = arith.constant 0x7F000000 : i32
  %most_each = arith.constant 0x78000000 : i32
  %least_e4m3 = arith.constant 0x3C000000 : i32
  %most_e4m3 = arith.constant 0x43800000 : i32
  %twice_ = arith.constant 0x7F000000 : i32
  %six_ = arith.constant 0x03000000 : i32
  %zero_ = arith.constant 0 : i32
  %bias_ = arith.constant 127 : i32
  %shift_ = arith.constant 23 : i32
  %CONVERTS = tile.param CONVERTS : i1
  %SCALE_E4M3 = tile.param SCALE_E4M3 : i1
  %least_ = arith.select %SCALE_E4M3, %least_e4m3, %least_wide : i32
  %most_wide = arith.select %CONVERTS, %most_once, %most_each : i32
  %most_ = arith.select %SCALE_E4M3, %most_e4m3, %most_wide : i32
  %finer_e4m3 = arith.select %SCALE_E4M3, %zero_, %six_ : i32
  %finer_ = arith.select %CONVERTS, %finer_e4m3, %zero_ : i32
  %exponent = tile.full %exponent_ : i32 -> !candi
  %least = tile.full %least_ : i32 -> !candi
  %most = tile.full %most_ : i32 -> !candi
  %twice = tile.full %twice_ : i32 -> !candi
  %finer = tile.full %finer_ : i32 -> !candi
  %bias = tile.full %bias_ : i32 -> !candi
  %shift = tile.full %shift_ : i32 -> !candi

  %size = math.absf %ks : !ks
  %max = tile.reduce maximumf %size along 1 : !ks -> !cand
  %bits = arith.bitcast %max : !cand to !candi
  %e0 = arith.andi %bits, %exponent : !candi
  %e1 = arith.maxsi %e0, %least : !candi
  %e2 = arith.minsi %e1, %most : !candi
  %e = arith.subi %e2, %finer : !candi
  %unit = arith.bitcast %e : !candi to !cand
  %inverse_bits = arith.subi %twice, %e : !candi
  %inverse = arith.bitcast %inverse_bits : !candi to !cand
  %number = arith.shrui %e, %shift : !candi
  %log = arith.subi %number, %bias : !candi
  %log_f = arith.sitofp %log : !candi to !cand
  %inverse_b = tile.broadcast %inverse along 1 : !cand -> !ks
  %relative = arith.mulf %ks, %inverse_b : !ks
  func.return %relative, %unit, %log_f : !ks, !cand, !cand
}
