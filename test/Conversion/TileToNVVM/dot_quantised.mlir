// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quantised operands of a dot: read by the 16-bit ldmatrix, converted in
// registers. test/python/test_quantised_dots.py has the numbers.
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 2]>
#packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>

// 16 keys of 32 elements along K: two steps of a tile come with one ldmatrix of
// two matrices, two tiles. A lane gets four neighbours of a row, which is its
// part of a step; so it takes four neighbours of a row of A, eight bytes.
// CHECK-LABEL: llvm.func @along_k
// CHECK-DAG: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK-DAG: %[[K:.*]] = nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 2 : i32,
// CHECK: llvm.extractvalue %[[K]][0]
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK: nvvm.mma.sync
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 2 : i32,
// CHECK-NOT: nvvm.ldmatrix
// CHECK: llvm.return
tile.kernel @along_k warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x32xbf16, stride = 80>
  %b = tilegpu.alloc "b" {offset = 1280 : i64} : !tilegpu.buffer<16x32xf8E4M3FN, stride = 48>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x16xf32, #acc>
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x32xbf16, stride = 80>, !tilegpu.buffer<16x32xf8E4M3FN, stride = 48>, tensor<16x16xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<16x16xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// The same with the columns of A in that order: one ldmatrix a step, as if
// nothing were packed, and no other read of it.
// CHECK-LABEL: llvm.func @packed_along_k
// CHECK-NOT: llvm.load
// CHECK: nvvm.ldmatrix %[[A:.*]] {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 2 : i32,
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: nvvm.mma.sync
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[A]][32]
// CHECK: nvvm.ldmatrix %[[NEXT]] {{{.*}}num = 4 : i32,
// CHECK-NOT: llvm.load
// CHECK: llvm.return
tile.kernel @packed_along_k warps(1) (%dst: !tile.view<[M, N], f32>, %f: f32) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x32xf16, stride = 80>
  %b = tilegpu.alloc "b" {offset = 1280 : i64} : !tilegpu.buffer<16x32xf8E4M3FN, stride = 48>
  %c = tile.full %f : f32 -> tensor<16x16xf32, #acc>
  %d = tilegpu.dot %a, %b, %c {a_packed, b_transposed} : !tilegpu.buffer<16x32xf16, stride = 80>, !tilegpu.buffer<16x32xf8E4M3FN, stride = 48>, tensor<16x16xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<16x16xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// 16 values of 16 columns: transposed by ldmatrix, a lane gets two columns of
// two rows. f16 without scales takes one permutation of the bytes and two
// conversions a word, nothing else; two words serve two tiles.
// CHECK-LABEL: llvm.func @along_n
// CHECK: %[[V:.*]] = nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32,
// CHECK: llvm.shufflevector {{.*}} [0, 2, 1, 3]
// CHECK-COUNT-2: nvvm.convert.f8x2.to.f16x2
// CHECK: llvm.shufflevector {{.*}} [0, 2, 1, 3]
// CHECK-COUNT-2: nvvm.convert.f8x2.to.f16x2
// CHECK-NOT: {{nvvm.(ldmatrix|convert)|llvm.fmul|ff2}}
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @along_n warps(1) (%src: !tile.view<[M, N], f32>, %p: !tile.view<[M, K], f16>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x16xf8E4M3FN>
  %a = tile.load %p[%z, %z] : !tile.view<[M, K], f16> -> tensor<16x16xf16, #opA>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x16xf32, #packed>
  %d = tilegpu.dot %a, %b, %c : tensor<16x16xf16, #opA>, !tilegpu.buffer<16x16xf8E4M3FN>, tensor<16x16xf32, #packed>
  tile.store %d, %dst[%z, %z] : tensor<16x16xf32, #packed>, !tile.view<[M, N], f32>
  tile.return
}

// Scales of ue8m0: a byte of the lane's row each, as a power of two in f32,
// times the numbers, which are rounded once.
// CHECK-LABEL: llvm.func @scaled
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}num = 1 : i32,
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i8
// CHECK: %[[WIDE:.*]] = llvm.zext %[[BYTE]] : i8 to i32
// CHECK: llvm.shl %[[WIDE]], %{{.*}}
// CHECK: %[[SCALE:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: %[[N0:.*]] = llvm.fpext
// CHECK: %[[P0:.*]] = llvm.fmul %[[N0]], %[[SCALE]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %[[P0]])
// CHECK-COUNT-1: nvvm.mma.sync
// CHECK: llvm.return
#one = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
tile.kernel @scaled warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x16xbf16>
  %b = tilegpu.alloc "b" {offset = 512 : i64} : !tilegpu.buffer<8x16xf8E4M3FN>
  %s = tilegpu.alloc "s" {offset = 640 : i64} : !tilegpu.buffer<8x1xf8E8M0FNU>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x8xf32, #one>
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed}
    : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<8x16xf8E4M3FN> by !tilegpu.buffer<8x1xf8E8M0FNU>, tensor<16x8xf32, #one>
  tile.store %d, %dst[%z, %z] : tensor<16x8xf32, #one>, !tile.view<[M, N], f32>
  tile.return
}

// Four bits as operand a, transposed: 32 rows of c are two tiles of the
// instruction, from one ldmatrix of the two halves of the step. Masks and shifts
// make f16 of a nibble, on every target.
// CHECK-LABEL: llvm.func @four_bits_of_a
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32,
// CHECK: llvm.and
// CHECK-NOT: nvvm.convert
// CHECK: llvm.fmul
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK-NOT: {{nvvm.(mma.sync|ldmatrix|convert)}}
// CHECK: llvm.return
#opB = #tilegpu.layout<reg = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], reps = [1, 1]>
#tall = #tilegpu.layout<reg = [[0, 1], [1, 0], [2, 0]], lane = [[0, 2], [0, 4], [4, 0], [8, 0], [16, 0]], warp = [], reps = [1, 1]>
tile.kernel @four_bits_of_a warps(1) (%src: !tile.view<[M, N], f32>, %p: !tile.view<[K, N], bf16>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x32xf4E2M1FN>
  %b = tile.load %p[%z, %z] : !tile.view<[K, N], bf16> -> tensor<16x8xbf16, #opB>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<32x8xf32, #tall>
  %d = tilegpu.dot %a, %b, %c {a_transposed} : !tilegpu.buffer<16x32xf4E2M1FN>, tensor<16x8xbf16, #opB>, tensor<32x8xf32, #tall>
  tile.store %d, %dst[%z, %z] : tensor<32x8xf32, #tall>, !tile.view<[M, N], f32>
  tile.return
}
