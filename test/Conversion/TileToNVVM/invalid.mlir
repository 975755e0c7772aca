// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --verify-diagnostics --convert-tile-to-nvvm

#two = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], reps = [1]>
#other = #tilegpu.layout<reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
tile.kernel @threads warps(1) (%src: !tile.view<[T], f32>) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<64xf32, #two>
  // expected-error @+2 {{moves elements between threads and should have gone through shared memory before}}
  // expected-error @+1 {{failed to legalize operation 'tilegpu.convert_layout'}}
  %b = tilegpu.convert_layout %a : tensor<64xf32, #two> -> tensor<64xf32, #other>
  tile.store %b, %src[%zero] : tensor<64xf32, #other>, !tile.view<[T], f32>
  tile.return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#rows = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [], reps = [1]>
tile.kernel @slice warps(1) (%src: !tile.view<[T], f32>, %dst: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<16xf32, #rows>
  // expected-error @+2 {{expected the operand in the result's layout without dimension 1}}
  // expected-error @+1 {{failed to legalize operation 'tile.broadcast'}}
  %b = tile.broadcast %a along 1 : tensor<16xf32, #rows> -> tensor<16x8xf32, #acc>
  tile.store %b, %dst[%zero, %zero] : tensor<16x8xf32, #acc>, !tile.view<[T, N], f32>
  tile.return
}

// -----

// An operation without a pattern is named.
tile.kernel @unknown warps(1) (%src: !tile.view<[T], f32>, %x: f32) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{failed to legalize operation 'math.erf'}}
  %e = math.erf %x : f32
  tile.store %e, %src[%zero] : f32, !tile.view<[T], f32>
  tile.return
}

// -----

// expected-error @+2 {{expected at most 101376 bytes of shared memory on sm_120a, got 200000}}
// expected-error @+1 {{failed to legalize operation 'tile.kernel'}}
tile.kernel @arena warps(1) () attributes {tilegpu.shared_bytes = 200000 : i64} {
  tile.return
}

// -----

// Tiles need a layout.
tile.kernel @plain warps(1) (%src: !tile.view<[T], f32>, %x: f32) {
  %zero = arith.constant 0 : index
  // expected-error @+2 {{expected tensors with layouts of their shapes}}
  // expected-error @+1 {{failed to legalize operation 'tile.full'}}
  %a = tile.full %x : f32 -> tensor<64xf32>
  tile.store %a, %src[%zero] : tensor<64xf32>, !tile.view<[T], f32>
  tile.return
}

// -----

// expected-error @+2 {{expected a name of letters, digits, '_' and '$', got 'llvm.nvvm.barrier0'}}
// expected-error @+1 {{failed to legalize operation 'tile.kernel'}}
tile.kernel @"llvm.nvvm.barrier0" warps(1) () {
  tile.return
}

// -----

tile.kernel @window warps(1) cluster(2) (%i : index) {
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<64xf32>
  // expected-error @+2 {{expected a tile with a layout}}
  // expected-error @+1 {{failed to legalize operation 'tilegpu.load_peer'}}
  %t = tilegpu.load_peer %b of %i[%i] : !tilegpu.buffer<64xf32> -> tensor<64xf32>
  tile.return
}

// -----

// expected-error @+2 {{expected a number of blocks in a cluster; is the kernel specialised?}}
// expected-error @+1 {{failed to legalize operation 'tile.kernel'}}
tile.kernel @named params(C : index = 2) warps(1) cluster(C) () {
  tile.return
}
