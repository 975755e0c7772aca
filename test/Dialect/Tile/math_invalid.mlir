// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// full_c1
func.func @f(%c: f32) {
  // expected-error@+1 {{expected a result of element type 'f32', got 'bf16'}}
  %0 = tile.full %c : f32 -> tensor<8xbf16>
  return
}

// -----
// iota_c1
func.func @f() {
  // expected-error@+1 {{expected a result of rank 1 and element type i32, got 'tensor<8x8xi32>'}}
  %0 = tile.iota : tensor<8x8xi32>
  return
}

// -----
// iota_c1
func.func @f() {
  // expected-error@+1 {{expected a result of rank 1 and element type i32, got 'tensor<8xf32>'}}
  %0 = tile.iota : tensor<8xf32>
  return
}

// -----
// dot_c1
func.func @f(%a: tensor<16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{expected operands of rank 2, got 'tensor<16xbf16>', 'tensor<16x8xbf16>' and 'tensor<16x8xf32>'}}
  %0 = tile.dot %a, %b, %c : tensor<16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>
  return
}

// -----
// dot_c2
func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{expected a and b of one element type, bf16, f16 or f8E4M3FN, got 'bf16' and 'f16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xbf16>, tensor<16x8xf16>, tensor<16x8xf32>
  return
}

// -----
// dot_c2
func.func @f(%a: tensor<16x16xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{expected a and b of one element type, bf16, f16 or f8E4M3FN, got 'f32' and 'f32'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  return
}

// -----
// dot_c3
func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xbf16>) {
  // expected-error@+1 {{expected c of element type f32, got 'bf16'}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xbf16>
  return
}

// -----
// dot_c4: the transpose was forgotten
func.func @f(%a: tensor<?x?xbf16, #tile.dims<BH, D>>, %b: tensor<?x?xbf16, #tile.dims<BN, D>>, %c: tensor<?x?xf32, #tile.dims<BH, BN>>) {
  // expected-error@+1 {{expected K of b to be K of a, D, got BN}}
  %0 = tile.dot %a, %b, %c : tensor<?x?xbf16, #tile.dims<BH, D>>, tensor<?x?xbf16, #tile.dims<BN, D>>, tensor<?x?xf32, #tile.dims<BH, BN>>
  return
}

// -----
// dot_c4: a name is no size
func.func @f(%a: tensor<?x?xbf16, #tile.dims<BH, D>>, %b: tensor<512x?xbf16, #tile.dims<512, BN>>, %c: tensor<?x?xf32, #tile.dims<BH, BN>>) {
  // expected-error@+1 {{expected K of b to be K of a, D, got 512}}
  %0 = tile.dot %a, %b, %c : tensor<?x?xbf16, #tile.dims<BH, D>>, tensor<512x?xbf16, #tile.dims<512, BN>>, tensor<?x?xf32, #tile.dims<BH, BN>>
  return
}

// -----
// dot_c4
func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<32x8xf32>) {
  // expected-error@+1 {{expected M of c to be M of a, 16, got 32}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<32x8xf32>
  return
}

// -----
// dot_c4, with encodings of another dialect
func.func @f(%a: tensor<16x16xbf16, "a">, %b: tensor<16x8xbf16, "b">, %c: tensor<16x16xf32, "c">) {
  // expected-error@+1 {{expected N of c to be N of b, 8, got 16}}
  %0 = tile.dot %a, %b, %c : tensor<16x16xbf16, "a">, tensor<16x8xbf16, "b">, tensor<16x16xf32, "c">
  return
}

// -----
// dot_c5
func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{expected warps to be two positive powers of two, got [1, 3]}}
  %0 = tile.dot %a, %b, %c {warps = array<i64: 1, 3>} : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>
  return
}

// -----
// dot_c5
func.func @f(%a: tensor<16x16xbf16>, %b: tensor<16x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error@+1 {{expected warps to be two positive powers of two, got [4]}}
  %0 = tile.dot %a, %b, %c {warps = array<i64: 4>} : tensor<16x16xbf16>, tensor<16x8xbf16>, tensor<16x8xf32>
  return
}

// -----
// dot_scaled_c1
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected operands of rank 2, got 'tensor<16x64xbf16>', 'tensor<64x32xbf16>', 'tensor<32xf32>' and 'tensor<16x32xf32>'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c2
func.func @f(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>, %s: tensor<4x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected b of element type bf16, f16 or f8E4M3FN, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf32>, tensor<64x32xf32>, tensor<4x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c3
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<64x2xf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected c of element type f32 and scale of f32 or 'bf16', got 'f32' and 'f16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<64x2xf16>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c3
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x32xbf16>) {
  // expected-error@+1 {{expected c of element type f32 and scale of f32 or 'bf16', got 'bf16' and 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x32xbf16>
  return
}

// -----
// dot_scaled_c4
func.func @f(%a: tensor<16x32xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected K of b to be K of a, 32, got 64}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x32xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c4
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<32x32xf32>) {
  // expected-error@+1 {{expected M of c to be M of a, 16, got 32}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<32x32xf32>
  return
}

// -----
// dot_scaled_c4
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x64xf32>) {
  // expected-error@+1 {{expected N of c to be N of b, 32, got 64}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x64xf32>
  return
}

// -----
// dot_scaled_c5: the transpose was forgotten
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<32x4xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected one dimension of scale to be that of b, [64, 32], and the other to count blocks, got [32, 4]}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<32x4xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: no blocks
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<64x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected one dimension of scale to be that of b, [64, 32], and the other to count blocks, got [64, 32]}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<64x2xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a of element type 'f32' for blocks along N, got 'bf16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<64x2xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5
func.func @f(%a: tensor<16x64xf32>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a of element type 'bf16' for blocks along K, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf32>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: one type for a and scale
func.func @f(%a: tensor<16x64xf32>, %b: tensor<64x32xf16>, %s: tensor<64x2xf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a of element type 'f16' for blocks along N, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf32>, tensor<64x32xf16>, tensor<64x2xf16>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: sums are scaled in f32
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xbf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected scale of element type f32 for blocks along K, got 'bf16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xbf16>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c2: the first operand is scaled
func.func @f(%a: tensor<32x64xf32>, %b: tensor<64x16xbf16>, %s: tensor<32x4xf32>, %c: tensor<32x16xf32>) {
  // expected-error@+1 {{expected a of element type bf16, f16 or f8E4M3FN, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<32x64xf32>, tensor<64x16xbf16>, tensor<32x4xf32>, tensor<32x16xf32>
  return
}

// -----
// dot_scaled_c5: the first operand is scaled, and the transpose was forgotten
func.func @f(%a: tensor<32x64xbf16>, %b: tensor<64x16xbf16>, %s: tensor<4x32xf32>, %c: tensor<32x16xf32>) {
  // expected-error@+1 {{expected one dimension of scale to be that of a, [32, 64], and the other to count blocks, got [4, 32]}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<32x64xbf16>, tensor<64x16xbf16>, tensor<4x32xf32>, tensor<32x16xf32>
  return
}

// -----
// dot_scaled_c5: scales of b where a is scaled
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected one dimension of scale to be that of a, [16, 64], and the other to count blocks, got [4, 32]}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: blocks along M
func.func @f(%a: tensor<64x32xbf16>, %b: tensor<32x16xbf16>, %s: tensor<2x32xf32>, %c: tensor<64x16xf32>) {
  // expected-error@+1 {{expected b of element type 'f32' for blocks along M, got 'bf16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<2x32xf32>, tensor<64x16xf32>
  return
}

// -----
// dot_scaled_c5: blocks along K
func.func @f(%a: tensor<32x64xbf16>, %b: tensor<64x16xf32>, %s: tensor<32x4xf32>, %c: tensor<32x16xf32>) {
  // expected-error@+1 {{expected b of element type 'bf16' for blocks along K, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<32x64xbf16>, tensor<64x16xf32>, tensor<32x4xf32>, tensor<32x16xf32>
  return
}

// -----
// dot_scaled_c6: the first operand is scaled
func.func @f(%a: tensor<32x64xbf16>, %b: tensor<64x16xbf16>, %s: tensor<32x3xf32>, %c: tensor<32x16xf32>) {
  // expected-error@+1 {{expected a number of blocks that divides 64 and is less, got 3}}
  %0 = tile.dot_scaled %a, %b, %s, %c {scale_a} : tensor<32x64xbf16>, tensor<64x16xbf16>, tensor<32x3xf32>, tensor<32x16xf32>
  return
}

// -----
// dot_scaled_c6
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<3x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a number of blocks that divides 64 and is less, got 3}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<3x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c6
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<128x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a number of blocks that divides 64 and is less, got 128}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<128x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c6
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<0x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected a number of blocks that divides 64 and is less, got 0}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<0x32xf32>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c7
func.func @f(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>, %s: tensor<4x32xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected warps to be two positive powers of two, got [3, 1]}}
  %0 = tile.dot_scaled %a, %b, %s, %c {warps = array<i64: 3, 1>} : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<4x32xf32>, tensor<16x32xf32>
  return
}

// -----
// reduce_c1
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected an axis of the operand, 0 to 1, got 2}}
  %0 = tile.reduce addf %x along 2 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----
// reduce_c2
func.func @f(%x: tensor<?x?xf32, #tile.dims<BH, BN>>) {
  // expected-error@+1 {{expected a result of dimensions [BH] and element type 'f32', got 'tensor<?xf32, #tile.dims<BN>>'}}
  %0 = tile.reduce addf %x along 1 : tensor<?x?xf32, #tile.dims<BH, BN>> -> tensor<?xf32, #tile.dims<BN>>
  return
}

// -----
// reduce_c2
func.func @f(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a result of dimensions [] and element type 'f32', got 'tensor<f32>'}}
  %0 = tile.reduce addf %x along 0 : tensor<8xf32> -> tensor<f32>
  return
}

// -----
// reduce_c3
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error@+1 {{maximumf takes floats, got 'i32'}}
  %0 = tile.reduce maximumf %x along 1 : tensor<4x8xi32> -> tensor<4xi32>
  return
}

// -----
// reduce_c3
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{addi takes integers, got 'f32'}}
  %0 = tile.reduce addi %x along 1 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected addf, maximumf, minimumf, addi or maxsi, got 'mulf'}}
  %0 = tile.reduce mulf %x along 1 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----
// broadcast_c1
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a result of rank 2 and an axis of it, got rank 2 and axis 2}}
  %0 = tile.broadcast %x along 2 : tensor<4xf32> -> tensor<4x8xf32>
  return
}

// -----
// broadcast_c2: the wrong axis
func.func @f(%x: tensor<?xf32, #tile.dims<BH>>) {
  // expected-error@+1 {{expected a result of dimensions [BH] without axis 0, element type 'f32', got}}
  %0 = tile.broadcast %x along 0 : tensor<?xf32, #tile.dims<BH>> -> tensor<?x?xf32, #tile.dims<BH, BN>>
  return
}

// -----
// transpose_c1
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected operand and result of rank 2, got 'tensor<4xf32>' and 'tensor<4xf32>'}}
  %0 = tile.transpose %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
// transpose_c2
func.func @f(%x: tensor<?x?xf32, #tile.dims<BH, BN>>) {
  // expected-error@+1 {{expected a result of dimensions [BN, BH] and element type 'f32', got}}
  %0 = tile.transpose %x : tensor<?x?xf32, #tile.dims<BH, BN>> -> tensor<?x?xf32, #tile.dims<BH, BN>>
  return
}

// -----
// arith knows the names too: another name is another type
func.func @f(%x: tensor<?xf32, #tile.dims<BH>>, %y: tensor<?xf32, #tile.dims<BN>>) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%y' expects different type than prior uses}}
  %0 = arith.addf %x, %y : tensor<?xf32, #tile.dims<BH>>
  return
}

// -----
// dot_scaled_c3: scales of f8E4M3FN
func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>, %s: tensor<2x32xbf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected c of element type f32 and scale of f32, f16 or f8E8M0FNU, got 'f32' and 'bf16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xbf16>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: f16 does not scale blocks along K
func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>, %s: tensor<2x32xf16>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected scale of element type f32 or f8E8M0FNU for blocks along K, got 'f16'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xf16>, tensor<16x32xf32>
  return
}

// -----
// dot_scaled_c5: only f16 scales blocks along N of f8E4M3FN
func.func @f(%a: tensor<16x64xf32>, %b: tensor<64x32xf8E4M3FN>, %s: tensor<64x2xf32>, %c: tensor<16x32xf32>) {
  // expected-error@+1 {{expected scale of element type f16 for blocks along N of f8E4M3FN, got 'f32'}}
  %0 = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf32>, tensor<64x32xf8E4M3FN>, tensor<64x2xf32>, tensor<16x32xf32>
  return
}
