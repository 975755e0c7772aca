// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands without tile-assign-layouts, or with layouts of one's own.
// RUN: mlatile-opt %s --tile-to-tilegpu --split-input-file --verify-diagnostics

tile.kernel @reduce warps(1) (%x : f32) {
  %a = tile.full %x : f32 -> tensor<16x2xf32>
  // expected-error@+1 {{expected tiles with layouts; run tile-assign-layouts first}}
  %s = tile.reduce addf %a along 1 : tensor<16x2xf32> -> tensor<16xf32>
  tile.return
}

// -----

tile.kernel @dot warps(1) (%x : bf16, %y : f32) {
  %a = tile.full %x : bf16 -> tensor<16x16xbf16>
  %c = tile.full %y : f32 -> tensor<16x16xf32>
  // expected-error@+1 {{expected tiles with layouts; run tile-assign-layouts first}}
  %s = tile.dot %a, %a, %c : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  tile.return
}

// -----

// Lane bit 0 moves along both dimensions: a shuffle would add elements twice.
#mixed = #tilegpu.layout<reg = [], lane = [[1, 1], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
#slice = #tilegpu.layout<reg = [], lane = [[1], [1], [2], [4], [8]], warp = [], reps = [1]>
tile.kernel @mixed_bases warps(1) (%x : f32) {
  %a = tile.full %x : f32 -> tensor<16x2xf32, #mixed>
  // expected-error@+1 {{cannot exchange along dimension 1}}
  %s = tile.reduce addf %a along 1 : tensor<16x2xf32, #mixed> -> tensor<16xf32, #slice>
  tile.return
}
