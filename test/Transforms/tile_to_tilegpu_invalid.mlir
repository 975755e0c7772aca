// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --split-input-file --verify-diagnostics

tile.kernel @fp8_step warps(1) (%q : !tile.view<[M, K], f8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], f8E4M3FN> -> tensor<16x16xf8E4M3FN>
  // expected-error@+1 {{expected a K of a multiple of 32 for f8E4M3FN, got 16}}
  %s = tile.dot %a, %a, %zero : tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>, tensor<16x16xf32>
  tile.return
}

// -----

tile.kernel @fp8_blocks warps(1) (%q : !tile.view<[M, K], f8E4M3FN>, %x : !tile.view<[M, K], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], f8E4M3FN> -> tensor<16x32xf8E4M3FN>
  %b = tile.load %q[%c0, %c0] : !tile.view<[M, K], f8E4M3FN> -> tensor<32x32xf8E4M3FN>
  %s = tile.load %x[%c0, %c0] : !tile.view<[M, K], f32> -> tensor<2x32xf32>
  // expected-error@+1 {{expected blocks of a multiple of 32 elements, got 16}}
  %d = tile.dot_scaled %a, %b, %s, %zero : tensor<16x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>, tensor<2x32xf32>, tensor<16x32xf32>
  tile.return
}

// -----

tile.kernel @integers warps(1) (%q : !tile.view<[M, K], i32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], i32> -> tensor<16x16xi32>
  // expected-error@+1 {{reduction of integers is not built yet}}
  %s = tile.reduce addi %a along 1 : tensor<16x16xi32> -> tensor<16xi32>
  tile.return
}
