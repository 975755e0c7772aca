// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tile-to-tilegpu --split-input-file --verify-diagnostics

tile.kernel @narrow_blocks warps(1) (%a: !tile.view<[M, K], bf16>, %b: !tile.view<[K, N], bf16>, %x: !tile.view<[G, N], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<16x32xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x64xbf16>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], bf16> -> tensor<64x32xbf16>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[G, N], f32> -> tensor<8x32xf32>
  // expected-error@+1 {{expected blocks of a multiple of 16 elements, got 8}}
  %s = tile.dot_scaled %at, %bt, %xt, %c : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<8x32xf32>, tensor<16x32xf32>
  tile.return
}

// -----

// Four warps side by side take 32 columns at once: blocks of 16 would be of two.
tile.kernel @blocks_of_some_warps warps(4) (%a: !tile.view<[M, K], f32>, %b: !tile.view<[K, N], bf16>, %x: !tile.view<[K, G], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<16x64xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], f32> -> tensor<16x32xf32>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], bf16> -> tensor<32x64xbf16>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[K, G], f32> -> tensor<32x4xf32>
  // expected-error@+1 {{expected blocks of a multiple of 32 columns, got 16}}
  %s = tile.dot_scaled %at, %bt, %xt, %c : tensor<16x32xf32>, tensor<32x64xbf16>, tensor<32x4xf32>, tensor<16x64xf32>
  tile.return
}

// -----

// Two warps one above the other take 32 rows at once.
tile.kernel @blocks_of_some_rows warps(2) (%a: !tile.view<[M, K], bf16>, %b: !tile.view<[K, N], f32>, %x: !tile.view<[G, K], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<64x8xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<64x32xbf16>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], f32> -> tensor<32x8xf32>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[G, K], f32> -> tensor<4x32xf32>
  // expected-error@+1 {{expected blocks of a multiple of 32 rows, got 16}}
  %s = tile.dot_scaled %at, %bt, %xt, %c {scale_a} : tensor<64x32xbf16>, tensor<32x8xf32>, tensor<4x32xf32>, tensor<64x8xf32>
  tile.return
}
