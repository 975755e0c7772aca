// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!row  = tensor<?xf32, #tile.dims<BH>>

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
