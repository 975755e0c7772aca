// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#a = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [16, 0]], reps = [1, 2]>
#other = #tilegpu.layout<reg = [[0, 1], [0, 8], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [16, 0]], reps = [1, 2]>
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [16, 0]], reps = [1, 1]>
!a = !tilegpu.buffer<32x32xf16, stride = 80>
!b = !tilegpu.buffer<16x32xf16, stride = 80>

// A first operand of mma of two warps by two, two steps of 16 columns: an
// ldmatrix of four matrices for each, 32 bytes apart, whose words are the mma's
// as they come.
// CHECK-LABEL: llvm.func @fragments
// CHECK: %[[L0:.*]] = nvvm.ldmatrix %[[AT:[0-9]+]] {{.*}}num = 4 : i32
// CHECK: %[[W0:.*]] = llvm.extractvalue %[[L0]][0]
// CHECK: %[[H0:.*]] = llvm.bitcast %[[W0]] : i32 to vector<2xf16>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[AT]][32]
// CHECK: nvvm.ldmatrix %[[NEXT]] {{.*}}num = 4 : i32
// CHECK-NOT: llvm.load
// CHECK: nvvm.mma.sync
// CHECK: nvvm.mma.sync
// CHECK-NOT: llvm.load
// CHECK: llvm.return
tile.kernel @fragments warps(4) (%f : f32, %v : !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %ab = tilegpu.alloc "a" {offset = 0 : i64} : !a
  %bb = tilegpu.alloc "b" {offset = 2560 : i64} : !b
  %c = tile.full %f : f32 -> tensor<32x16xf32, #acc>
  %t = tilegpu.load_shared %ab : !a -> tensor<32x32xf16, #a>
  %d = tilegpu.dot %t, %bb, %c {b_transposed} : tensor<32x32xf16, #a>, !b, tensor<32x16xf32, #acc>
  tile.store %d, %v[%zero, %zero] : tensor<32x16xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// Registers in another order, rows that ldmatrix cannot read, elements of 32
// bits: by ordinary loads.
// CHECK-LABEL: llvm.func @loads
// CHECK-NOT: nvvm.ldmatrix
// CHECK: llvm.return
tile.kernel @loads warps(4) (%v : !tile.view<[M, N], f16>, %w : !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %b0 = tilegpu.alloc "b0" {offset = 0 : i64} : !a
  %b1 = tilegpu.alloc "b1" {offset = 2560 : i64} : !tilegpu.buffer<32x32xf16, stride = 72>
  %b2 = tilegpu.alloc "b2" {offset = 4864 : i64} : !tilegpu.buffer<32x32xf32, stride = 144>
  %t0 = tilegpu.load_shared %b0 : !a -> tensor<32x32xf16, #other>
  %t1 = tilegpu.load_shared %b1 : !tilegpu.buffer<32x32xf16, stride = 72> -> tensor<32x32xf16, #a>
  %t2 = tilegpu.load_shared %b2 : !tilegpu.buffer<32x32xf32, stride = 144> -> tensor<32x32xf32, #a>
  tile.store %t0, %v[%zero, %zero] : tensor<32x32xf16, #other>, !tile.view<[M, N], f16>
  tile.store %t1, %v[%zero, %zero] : tensor<32x32xf16, #a>, !tile.view<[M, N], f16>
  tile.store %t2, %w[%zero, %zero] : tensor<32x32xf32, #a>, !tile.view<[M, N], f32>
  tile.return
}
