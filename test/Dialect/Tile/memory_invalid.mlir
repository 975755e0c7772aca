// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// load_c1
func.func @f(%v: !tile.view<[T, W], i32>, %i: index) {
  // expected-error@+1 {{expected one index a dimension of the view, 2, got 1}}
  %0 = tile.load %v[%i] : !tile.view<[T, W], i32> -> tensor<8xi32>
  return
}

// -----
// load_c2
func.func @f(%v: !tile.view<[W], i32>, %i: index) {
  // expected-error@+1 {{expected a tile of at most the view's rank, 1, got rank 2}}
  %0 = tile.load %v[%i] : !tile.view<[W], i32> -> tensor<8x8xi32>
  return
}

// -----
// load_c3
func.func @f(%v: !tile.view<[W], i32>, %i: index) {
  // expected-error@+1 {{expected a tile of the view's element type, 'i32', got 'f32'}}
  %0 = tile.load %v[%i] : !tile.view<[W], i32> -> tensor<8xf32>
  return
}

// -----
// load_c3
func.func @f(%v: !tile.view<[W], i32>, %i: index) {
  // expected-error@+1 {{expected a tile of the view's element type, 'i32', got 'i16'}}
  %0 = tile.load %v[%i] : !tile.view<[W], i32> -> i16
  return
}

// -----
// load_c4: the text has no type for it
func.func @f(%v: !tile.view<[W], i32>, %i: index, %pad: f32) {
  // expected-error@+1 {{expected an 'else' value of the view's element type, 'i32', got 'f32'}}
  %0 = "tile.load"(%v, %i, %pad) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>}> : (!tile.view<[W], i32>, index, f32) -> tensor<8xi32>
  return
}

// -----
func.func @f(%v: i32, %i: index) {
  // expected-error@+1 {{expected a !tile.view, got 'i32'}}
  %0 = tile.load %v[%i] : i32 -> i32
  return
}

// -----
// store_c1
func.func @f(%v: !tile.view<[T, W], i32>, %i: index, %x: tensor<8xi32>) {
  // expected-error@+1 {{expected one index a dimension of the view, 2, got 3}}
  tile.store %x, %v[%i, %i, %i] : tensor<8xi32>, !tile.view<[T, W], i32>
  return
}

// -----
// store_c2
func.func @f(%v: !tile.view<[W], i32>, %i: index, %x: tensor<8x8xi32>) {
  // expected-error@+1 {{expected a tile of at most the view's rank, 1, got rank 2}}
  tile.store %x, %v[%i] : tensor<8x8xi32>, !tile.view<[W], i32>
  return
}

// -----
// store_c3
func.func @f(%v: !tile.view<[W], bf16>, %i: index, %x: tensor<8xf32>) {
  // expected-error@+1 {{expected a tile of the view's element type, 'bf16', got 'f32'}}
  tile.store %x, %v[%i] : tensor<8xf32>, !tile.view<[W], bf16>
  return
}

// -----
// gather_c1
func.func @f(%p: !tile.pool<"dsv4">, %ids: tensor<8xi64>) {
  // expected-error@+1 {{expected the ids to be a tile of rank 1 and element type i32, got 'tensor<8xi64>'}}
  %r, %ok = tile.gather %p[%ids] : !tile.pool<"dsv4">, tensor<8xi64> -> !tile.rows<"dsv4", [8]>, tensor<8xi1>
  return
}

// -----
// gather_c2
func.func @f(%p: !tile.pool<"dsv4">, %ids: tensor<8xi32>) {
  // expected-error@+1 {{expected rows of the pool's format, '!tile.pool<"dsv4">', got '!tile.rows<"glm", [8]>'}}
  %r, %ok = tile.gather %p[%ids] : !tile.pool<"dsv4">, tensor<8xi32> -> !tile.rows<"glm", [8]>, tensor<8xi1>
  return
}

// -----
// gather_c3
func.func @f(%p: !tile.pool<FMT>, %ids: tensor<?xi32, #tile.dims<BN>>) {
  // expected-error@+1 {{expected as many rows as ids, BN, got BM}}
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BM]>, tensor<?xi1, #tile.dims<BN>>
  return
}

// -----
// gather_c4
func.func @f(%p: !tile.pool<FMT>, %ids: tensor<?xi32, #tile.dims<BN>>) {
  // expected-error@+1 {{expected 'ok' to be a tile of i1 with as many elements as ids, BN, got}}
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BM>>
  return
}

// -----
// gather_c4
func.func @f(%p: !tile.pool<"glm">, %ids: tensor<8xi32>) {
  // expected-error@+1 {{expected 'ok' to be a tile of i1 with as many elements as ids, 8, got 'tensor<8xi8>'}}
  %r, %ok = tile.gather %p[%ids] : !tile.pool<"glm">, tensor<8xi32> -> !tile.rows<"glm", [8]>, tensor<8xi8>
  return
}

// -----
// dequant_c1
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected a result of rank 2, got 'tensor<8xbf16>'}}
  %0 = tile.dequant %r nope : !tile.rows<"dsv4", [8]> -> tensor<8xbf16>
  return
}

// -----
// dequant_c2
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected the first dimension to be that of the rows, 8, got 16}}
  %0 = tile.dequant %r nope : !tile.rows<"dsv4", [8]> -> tensor<16x448xbf16>
  return
}

// -----
// dequant_c3, bound
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected the second dimension to be the nope size of "dsv4", 448, got 512}}
  %0 = tile.dequant %r nope : !tile.rows<"dsv4", [8]> -> tensor<8x512xbf16>
  return
}

// -----
// dequant_c3 while the format is a parameter
tile.kernel @k params(FMT : format, N : index = FMT.nope, R : index = FMT.rope) warps(1) (%p: !tile.pool<FMT>) {
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  %0 = tile.dequant %r nope : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, N>>
  // expected-error@+1 {{expected the second dimension to be a parameter derived as FMT.nope, got R}}
  %1 = tile.dequant %r nope : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, R>>
  tile.return
}

// -----
// dequant_c3: another field of another format
tile.kernel @k params(FMT : format, G : format, N : index = G.rope) warps(1) (%p: !tile.pool<FMT>) {
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  // expected-error@+1 {{expected the second dimension to be a parameter derived as FMT.nope, got N}}
  %0 = tile.dequant %r nope : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, N>>
  tile.return
}

// -----
// dequant_c3: a plain parameter or a size may happen to fit, but nothing says so
tile.kernel @k params(FMT : format, N : index = 448) warps(1) (%p: !tile.pool<FMT>) {
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  // expected-error@+1 {{expected the second dimension to be a parameter derived as FMT.nope, got N}}
  %0 = tile.dequant %r nope : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, N>>
  tile.return
}

// -----
// dequant_c3: the scales of a bound format, and of a parameter
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected the second dimension to be the scale size of "dsv4", 7, got 8}}
  %0 = tile.dequant %r scale : !tile.rows<"dsv4", [8]> -> tensor<8x8xf32>
  return
}

// -----
tile.kernel @k params(FMT : format, N : index = FMT.nope, G : index = FMT.groups) warps(1) (%p: !tile.pool<FMT>) {
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  %0 = tile.dequant %r scale : !tile.rows<FMT, [8]> -> tensor<8x?xf32, #tile.dims<8, G>>
  %1 = tile.dequant %r payload : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, N>>
  // expected-error@+1 {{expected the second dimension to be a parameter derived as FMT.groups, got N}}
  %2 = tile.dequant %r scale : !tile.rows<FMT, [8]> -> tensor<8x?xf32, #tile.dims<8, N>>
  tile.return
}

// -----
// dequant_c4
func.func @f(%r: !tile.rows<"dsv4_1", [8]>) {
  // expected-error@+1 {{format "dsv4_1" has no rope part}}
  %0 = tile.dequant %r rope : !tile.rows<"dsv4_1", [8]> -> tensor<8x64xbf16>
  return
}

// -----
// dequant_c5
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected element type bf16, f16 or f32 for nope, got 'f64'}}
  %0 = tile.dequant %r nope : !tile.rows<"dsv4", [8]> -> tensor<8x448xf64>
  return
}

// -----
// dequant_c5: bf16 does not fit f16
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected element type bf16 or f32 for rope, got 'f16'}}
  %0 = tile.dequant %r rope : !tile.rows<"dsv4", [8]> -> tensor<8x64xf16>
  return
}

// -----
// dequant_c5: scales are f32
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected element type f32 or f8E8M0FNU for scale, got 'bf16'}}
  %0 = tile.dequant %r scale : !tile.rows<"dsv4", [8]> -> tensor<8x7xbf16>
  return
}

// -----
// dequant_c5: only a payload is stored so
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected element type bf16, f16 or f32 for nope, got 'f8E4M3FN'}}
  %0 = tile.dequant %r nope : !tile.rows<"dsv4", [8]> -> tensor<8x448xf8E4M3FN>
  return
}

// -----
// dequant_c6: numbers of 4 bits
func.func @f(%r: !tile.rows<"dsv4_nvfp4", [8]>) {
  // expected-error@+1 {{format "dsv4_nvfp4" does not store its payload as 'f8E4M3FN'}}
  %0 = tile.dequant %r payload : !tile.rows<"dsv4_nvfp4", [8]> -> tensor<8x448xf8E4M3FN>
  return
}

// -----
// dequant_c6: scales of f32
func.func @f(%r: !tile.rows<"glm", [8]>) {
  // expected-error@+1 {{format "glm" does not store its scale as 'f8E8M0FNU'}}
  %0 = tile.dequant %r scale : !tile.rows<"glm", [8]> -> tensor<8x4xf8E8M0FNU>
  return
}

// -----
// dequant_c7: of another field
func.func @f(%r: !tile.rows<"dsv4", [8]>, %x: tensor<8x7xf16>) {
  // expected-error@+1 {{expected factors of a payload in bf16 or f16, in the same element type, got 'tensor<8x7xf16>' for nope as 'f16'}}
  %0 = tile.dequant %r nope times %x : !tile.rows<"dsv4", [8]>, tensor<8x7xf16> -> tensor<8x448xf16>
  return
}

// -----
// dequant_c7: of f32
func.func @f(%r: !tile.rows<"dsv4", [8]>, %x: tensor<8x7xf32>) {
  // expected-error@+1 {{got 'tensor<8x7xf32>' for payload as 'f32'}}
  %0 = tile.dequant %r payload times %x : !tile.rows<"dsv4", [8]>, tensor<8x7xf32> -> tensor<8x448xf32>
  return
}

// -----
// dequant_c7: of two types
func.func @f(%r: !tile.rows<"dsv4", [8]>, %x: tensor<8x7xbf16>) {
  // expected-error@+1 {{got 'tensor<8x7xbf16>' for payload as 'f16'}}
  %0 = tile.dequant %r payload times %x : !tile.rows<"dsv4", [8]>, tensor<8x7xbf16> -> tensor<8x448xf16>
  return
}

// -----
// dequant_c8: rank
func.func @f(%r: !tile.rows<"dsv4", [8]>, %x: tensor<8xf16>) {
  // expected-error@+1 {{expected factors of the rows, 8, and of their 7 groups, got 'tensor<8xf16>'}}
  %0 = tile.dequant %r payload times %x : !tile.rows<"dsv4", [8]>, tensor<8xf16> -> tensor<8x448xf16>
  return
}

// -----
// dequant_c8: groups
func.func @f(%r: !tile.rows<"dsv4", [8]>, %x: tensor<8x8xf16>) {
  // expected-error@+1 {{expected factors of the rows, 8, and of their 7 groups, got 'tensor<8x8xf16>'}}
  %0 = tile.dequant %r payload times %x : !tile.rows<"dsv4", [8]>, tensor<8x8xf16> -> tensor<8x448xf16>
  return
}

// -----
// dequant_c8: rows, while the format is a parameter
tile.kernel @k params(FMT : format, N : index = FMT.nope, G : index = FMT.groups) warps(1) (%p: !tile.pool<FMT>, %h: f16) {
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %p[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  %x = tile.full %h : f16 -> tensor<16x?xf16, #tile.dims<16, G>>
  // expected-error@+1 {{expected factors of the rows, 8, and of their groups, got}}
  %0 = tile.dequant %r payload times %x : !tile.rows<FMT, [8]>, tensor<16x?xf16, #tile.dims<16, G>> -> tensor<8x?xf16, #tile.dims<8, N>>
  tile.return
}

// -----
func.func @f(%r: !tile.rows<"dsv4", [8]>) {
  // expected-error@+1 {{expected nope, rope, payload or scale, got 'scales'}}
  %0 = tile.dequant %r scales : !tile.rows<"dsv4", [8]> -> tensor<8x64xf16>
  return
}
