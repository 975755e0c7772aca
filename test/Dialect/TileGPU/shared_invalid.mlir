// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

func.func @alloc_c1() {
  // expected-error@+1 {{expected an offset that is a multiple of 16 and not negative, got 8}}
  %b = tilegpu.alloc "b" {offset = 8 : i64} : !tilegpu.buffer<8xf32>
  return
}

// -----

func.func @alloc_c1_negative() {
  // expected-error@+1 {{expected an offset that is a multiple of 16 and not negative, got -16}}
  %b = tilegpu.alloc "b" {offset = -16 : i64} : !tilegpu.buffer<8xf32>
  return
}

// -----

func.func @stage_c1(%r: !tilegpu.ring<2, !tilegpu.buffer<8xf32>>, %i: i32) {
  // expected-error@+1 {{expected the ring's buffer type '!tilegpu.buffer<8xf32>', got '!tilegpu.buffer<8xi32>'}}
  %b = tilegpu.stage %r[%i] : !tilegpu.ring<2, !tilegpu.buffer<8xf32>> -> !tilegpu.buffer<8xi32>
  return
}

// -----

func.func @stage_c2(%r: !tilegpu.ring<2, !tilegpu.buffer<8xf32>>) {
  %i = arith.constant 2 : i32
  // expected-error@+1 {{expected an index between 0 and 1, got 2}}
  %b = tilegpu.stage %r[%i] : !tilegpu.ring<2, !tilegpu.buffer<8xf32>> -> !tilegpu.buffer<8xf32>
  return
}

// -----

func.func @view_c1_rows(%b: !tilegpu.buffer<8x64xi8>) {
  // expected-error@+1 {{expected the rows and row stride of '!tilegpu.buffer<8x64xi8>', got '!tilegpu.buffer<4x16xf32>'}}
  %v = tilegpu.view %b + 0 : !tilegpu.buffer<8x64xi8> -> !tilegpu.buffer<4x16xf32, stride = 64>
  return
}

// -----

func.func @view_c1_stride(%b: !tilegpu.buffer<8x64xi8>) {
  // expected-error@+1 {{expected the rows and row stride of}}
  %v = tilegpu.view %b + 0 : !tilegpu.buffer<8x64xi8> -> !tilegpu.buffer<8x8xf32, stride = 32>
  return
}

// -----

func.func @view_c2(%b: !tilegpu.buffer<8x64xi8>) {
  // expected-error@+1 {{expected an offset that is a multiple of 16 and not negative, got 8}}
  %v = tilegpu.view %b + 8 : !tilegpu.buffer<8x64xi8> -> !tilegpu.buffer<8x8xf32, stride = 64>
  return
}

// -----

func.func @view_c3(%b: !tilegpu.buffer<8x64xi8, stride = 80>) {
  // expected-error@+1 {{expected 32 bytes at offset 48 to lie inside the source's row of 64}}
  %v = tilegpu.view %b + 48 : !tilegpu.buffer<8x64xi8, stride = 80> -> !tilegpu.buffer<8x8xf32, stride = 80>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [0], [0]], warp = [], reps = [1]>
func.func @store_shared_c1(%t: tensor<8xf32, #one>, %b: !tilegpu.buffer<16xf32>) {
  // expected-error@+1 {{expected tensor and buffer of one shape, got [8] and [16]}}
  tilegpu.store_shared %t, %b : tensor<8xf32, #one>, !tilegpu.buffer<16xf32>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [0], [0]], warp = [], reps = [1]>
func.func @store_shared_c2(%t: tensor<8xf32, #one>, %b: !tilegpu.buffer<8xi32>) {
  // expected-error@+1 {{expected tensor and buffer of one element type, got 'f32' and 'i32'}}
  tilegpu.store_shared %t, %b : tensor<8xf32, #one>, !tilegpu.buffer<8xi32>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [0], [0]], warp = [], reps = [1]>
func.func @load_shared_c1(%b: !tilegpu.buffer<1x8xf32>) {
  // expected-error@+1 {{expected tensor and buffer of one shape, got [8] and [1, 8]}}
  %t = tilegpu.load_shared %b : !tilegpu.buffer<1x8xf32> -> tensor<8xf32, #one>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [0], [0]], warp = [], reps = [1]>
func.func @load_shared_c2(%b: !tilegpu.buffer<8xbf16>) {
  // expected-error@+1 {{expected tensor and buffer of one element type, got 'f32' and 'bf16'}}
  %t = tilegpu.load_shared %b : !tilegpu.buffer<8xbf16> -> tensor<8xf32, #one>
  return
}

// -----

// A tensor of a size that is not known is none of this level.
func.func @no_size(%b: !tilegpu.buffer<8xf32>) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of any type values}}
  %t = tilegpu.load_shared %b : !tilegpu.buffer<8xf32> -> tensor<?xf32>
  return
}

// -----

#four = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @store_shared_c3(%t: tensor<32xf4E2M1FN, #four>, %b: !tilegpu.buffer<32xf4E2M1FN>) {
  // expected-error@+1 {{expected elements of at least 8 bits, got 'f4E2M1FN'}}
  tilegpu.store_shared %t, %b : tensor<32xf4E2M1FN, #four>, !tilegpu.buffer<32xf4E2M1FN>
  return
}

// -----

#four = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @load_shared_c3(%b: !tilegpu.buffer<32xf4E2M1FN>) {
  // expected-error@+1 {{expected elements of at least 8 bits, got 'f4E2M1FN'}}
  %t = tilegpu.load_shared %b : !tilegpu.buffer<32xf4E2M1FN> -> tensor<32xf4E2M1FN, #four>
  return
}

// -----

func.func @load_peer_c1(%b: !tilegpu.buffer<16x32xf32>, %i: index) {
  // expected-error@+1 {{expected one index a dimension of the buffer, 2, got 1}}
  %t = tilegpu.load_peer %b of %i[%i] : !tilegpu.buffer<16x32xf32> -> tensor<16x32xf32>
  return
}

// -----

func.func @load_peer_c2(%b: !tilegpu.buffer<16x32xf32>, %i: index) {
  // expected-error@+1 {{expected a result of the buffer's rank, 2, got 1}}
  %t = tilegpu.load_peer %b of %i[%i, %i] : !tilegpu.buffer<16x32xf32> -> tensor<32xf32>
  return
}

// -----

func.func @load_peer_c3(%b: !tilegpu.buffer<32xf32>, %i: index) {
  // expected-error@+1 {{expected elements of 'f32', got 'i32'}}
  %t = tilegpu.load_peer %b of %i[%i] : !tilegpu.buffer<32xf32> -> tensor<32xi32>
  return
}

// -----

func.func @load_peer_c4(%b: !tilegpu.buffer<32xf4E2M1FN>, %i: index) {
  // expected-error@+1 {{expected elements of at least 8 bits, got 'f4E2M1FN'}}
  %t = tilegpu.load_peer %b of %i[%i] : !tilegpu.buffer<32xf4E2M1FN> -> tensor<32xf4E2M1FN>
  return
}
