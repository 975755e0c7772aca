// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-lower-peers --split-input-file -verify-diagnostics

tile.kernel @layouts warps(1) cluster(2) (%f : f32, %i : index) {
  %x = tile.full %f : f32 -> tensor<32xf32>
  // expected-error@+1 {{expected tiles with layouts; run tile-assign-layouts first}}
  %y = tile.load_peer %x of %i[%i] : tensor<32xf32> -> tensor<32xf32>
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], reps = [1]>
tile.kernel @roles warps(8) cluster(2) (%f : f32, %i : index) {
  tilegpu.roles
  role "a" warps(4) registers(128) {
    %x = tile.full %f : f32 -> tensor<32xf32, #l>
    // expected-error@+1 {{expected no role around it: all threads of a cluster wait for each other}}
    %y = tile.load_peer %x of %i[%i] : tensor<32xf32, #l> -> tensor<32xf32, #l>
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [], lane = [[0, 0, 1], [0, 0, 2], [0, 1, 0], [0, 2, 0], [1, 0, 0]], warp = [], reps = [1, 1, 1]>
tile.kernel @planes warps(1) cluster(2) (%f : f32, %i : index) {
  %x = tile.full %f : f32 -> tensor<2x4x4xf32, #l>
  // expected-error@+1 {{expected a tile of at most two dimensions, got 3}}
  %y = tile.load_peer %x of %i[%i, %i, %i] : tensor<2x4x4xf32, #l> -> tensor<2x4x4xf32, #l>
  tile.return
}
