// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// load_peer_c1
func.func @f(%x: tensor<16x32xf32>, %i: index) {
  // expected-error@+1 {{expected one index a dimension of the tile, 2, got 1}}
  %w = tile.load_peer %x of %i[%i] : tensor<16x32xf32> -> tensor<1x32xf32>
  return
}

// -----
// load_peer_c2
func.func @f(%x: tensor<16x32xf32>, %i: index) {
  // expected-error@+1 {{expected a result of the tile's rank, 2, got 1}}
  %w = tile.load_peer %x of %i[%i, %i] : tensor<16x32xf32> -> tensor<32xf32>
  return
}

// -----
// load_peer_c3
func.func @f(%x: tensor<32xf32>, %i: index) {
  // expected-error@+1 {{expected one element type of 8 to 64 bits, got 'f32' and 'bf16'}}
  %w = tile.load_peer %x of %i[%i] : tensor<32xf32> -> tensor<32xbf16>
  return
}

// -----
// load_peer_c3
func.func @f(%x: tensor<32xi1>, %i: index) {
  // expected-error@+1 {{expected one element type of 8 to 64 bits, got 'i1' and 'i1'}}
  %w = tile.load_peer %x of %i[%i] : tensor<32xi1> -> tensor<32xi1>
  return
}

// -----
// load_peer_c3
func.func @f(%x: tensor<32xindex>, %i: index) {
  // expected-error@+1 {{expected one element type of 8 to 64 bits, got 'index' and 'index'}}
  %w = tile.load_peer %x of %i[%i] : tensor<32xindex> -> tensor<32xindex>
  return
}

// -----
// load_peer_c4
func.func @f(%f: f32, %i: index) {
  scf.for %k = %i to %i step %i {
    %x = tile.full %f : f32 -> tensor<32xf32>
    // expected-error@+1 {{expected a tile that is made outside of loops, got one of 'scf.for'}}
    %w = tile.load_peer %x of %k[%i] : tensor<32xf32> -> tensor<32xf32>
  }
  return
}

// -----
// load_peer_c4
func.func @f(%x: tensor<32xf32>, %i: index) {
  %y = scf.for %k = %i to %i step %i iter_args(%a = %x) -> tensor<32xf32> {
    // expected-error@+1 {{expected a tile that is made outside of loops, got one of 'scf.for'}}
    %w = tile.load_peer %a of %k[%i] : tensor<32xf32> -> tensor<32xf32>
    scf.yield %w : tensor<32xf32>
  }
  return
}

// -----
// kernel_c9
// expected-error@+1 {{expected cluster to be an integer or an index parameter, got FMT}}
tile.kernel @k params(FMT : format) warps(4) cluster(FMT) () {
  tile.return
}

// -----
// kernel_c9
// expected-error@+1 {{expected a cluster of 1 to 8 blocks, got 9}}
tile.kernel @k warps(4) cluster(9) () {
  tile.return
}

// -----
// kernel_c9
// expected-error@+1 {{expected a cluster of 1 to 8 blocks, got 0}}
tile.kernel @k warps(4) cluster(0) () {
  tile.return
}
