// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --split-input-file --verify-diagnostics

// expected-error@+1 {{expected num_warps to be a power of two from 1 to 32; is the kernel specialised?}}
tile.kernel @unspecialised params(WARPS : index = 4) warps(WARPS) () {
  tile.return
}

// -----

// expected-error@+1 {{expected num_warps to be a power of two from 1 to 32}}
tile.kernel @three warps(3) () {
  tile.return
}

// -----

tile.kernel @dynamic params(N : index = 4) warps(4) () {
  %f0 = arith.constant 0.0 : f32
  // expected-error@+1 {{expected a static tensor of one to three dimensions, got 'tensor<?xf32, #tile.dims<N>>'}}
  %x = tile.full %f0 : f32 -> tensor<?xf32, #tile.dims<N>>
  tile.return
}

// -----

tile.kernel @four_dimensions warps(4) () {
  // expected-error@+1 {{expected a static tensor of one to three dimensions, got 'tensor<2x2x2x2xf32>'}}
  %x = arith.constant dense<0.0> : tensor<2x2x2x2xf32>
  tile.return
}

// -----

tile.kernel @too_many warps(4) (%q : !tile.view<[M, K], bf16>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<32x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<32x32xbf16>
  // expected-error@+1 {{expected at most 4 warps, got 2 x 4}}
  %s = tile.dot %a, %a, %zero {warps = array<i64: 2, 4>} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @shared_accumulator warps(4) (%q : !tile.view<[M, K], bf16>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<32x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<32x32xbf16>
  %s = tile.dot %a, %a, %zero {warps = array<i64: 2, 2>} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
  // expected-error@+1 {{expected dots that share an accumulator to arrange warps alike}}
  %t = tile.dot %a, %a, %s {warps = array<i64: 1, 4>} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
  tile.return
}

// -----

tile.kernel @not_whole_instructions warps(4) (%q : !tile.view<[M, K], bf16>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x24xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %b = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x24xbf16>
  // expected-error@+1 {{mma accumulator, dim 1: expected a multiple of 32, got 24}}
  %s = tile.dot %a, %b, %zero {warps = array<i64: 1, 4>} : tensor<16x16xbf16>, tensor<16x24xbf16>, tensor<16x24xf32>
  tile.return
}

// -----

tile.kernel @scalar warps(1) (%q : !tile.view<[M], f32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0] : !tile.view<[M], f32> -> tensor<16xf32>
  // expected-error@+1 {{reduction to a scalar is not built yet}}
  %s = tile.reduce addf %a along 0 : tensor<16xf32> -> f32
  tile.return
}

// -----

// Far more values than a thread has registers would take minutes to compile.
tile.kernel @large warps(4) (%q : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{no layout of 'tensor<512x512xf32>' over 4 warps: expected at most 1024 registers a thread, got more}}
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, N], f32> -> tensor<512x512xf32>
  tile.store %a, %q[%c0, %c0] : tensor<512x512xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// 2^32 * 2^32 is 0 in 64 bits.
tile.kernel @huge_warps warps(4) (%q : !tile.view<[M, K], bf16>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  // expected-error@+1 {{expected at most 4 warps, got 4294967296 x 4294967296}}
  %s = tile.dot %a, %a, %zero {warps = array<i64: 4294967296, 4294967296>} : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  tile.return
}
