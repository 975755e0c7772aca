// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: not mlatile-opt %s --convert-tile-to-nvvm=target=sm_90a 2>&1 | FileCheck %s --check-prefix=HOPPER

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 2]>
#packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>

// Fragments of 8 bits by ldmatrix of 16: A 16 x 32 bytes at once, B of both tiles.
// Scales of a candidate and both steps are one register, whose bytes 0 and 1 are
// named; A has ones. Nothing is converted.
// CHECK-LABEL: llvm.func @scores
// CHECK-DAG: %[[ONES:.*]] = llvm.mlir.constant(2139062143 : i32)
// CHECK-DAG: %[[B0:.*]] = llvm.mlir.constant(0 : i16)
// CHECK-DAG: %[[B1:.*]] = llvm.mlir.constant(1 : i16)
// CHECK-NOT: e4m3x2
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: %[[S0:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: nvvm.mma.block_scale A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[{{.*}}] scaleA[%[[ONES]], %[[B0]], %[[B0]]] scaleB[%[[S0]], %[[B0]], %[[B0]]]
// CHECK: %[[S1:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: nvvm.mma.block_scale {{.*}} scaleB[%[[S1]], %[[B0]], %[[B0]]]
// CHECK: nvvm.mma.block_scale {{.*}} scaleB[%[[S0]], %[[B1]], %[[B0]]]
// CHECK: nvvm.mma.block_scale {{.*}} scaleB[%[[S1]], %[[B1]], %[[B0]]]
// CHECK-NOT: nvvm.mma.{{block|sync}}
// CHECK: llvm.return
// HOPPER: dot_fp8.mlir:[[#@LINE+7]]:{{[0-9]+}}: error: 'tilegpu.dot' op target sm_90a has no mma of f8E4M3FN with block scaling
tile.kernel @scores warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %q = tilegpu.alloc "q" {offset = 0 : i64} : !tilegpu.buffer<16x64xf8E4M3FN, stride = 80>
  %k = tilegpu.alloc "k" {offset = 2048 : i64} : !tilegpu.buffer<16x64xf8E4M3FN, stride = 80>
  %s = tilegpu.alloc "s" {offset = 4096 : i64} : !tilegpu.buffer<16x2xf8E8M0FNU, stride = 4>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x16xf32, #acc>
  %d = tilegpu.dot %q, %k scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN, stride = 80>, !tilegpu.buffer<16x64xf8E4M3FN, stride = 80> by !tilegpu.buffer<16x2xf8E8M0FNU, stride = 4>, tensor<16x16xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<16x16xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// Two fragments of f16, times their factors, become one of e4m3; values of 32
// candidates and 16 columns are one transposing ldmatrix and four permutations.
// CHECK-LABEL: llvm.func @values
// CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: llvm.fmul %{{.*}} : vector<2xf16>
// CHECK-COUNT-8: llvm.nvvm.f16x2.to.e4m3x2.rn
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32,
// CHECK-DAG: llvm.shufflevector %{{.*}}, %{{.*}} [0, 2, 4, 6] : vector<4xi8>
// CHECK-DAG: llvm.shufflevector %{{.*}}, %{{.*}} [1, 3, 5, 7] : vector<4xi8>
// CHECK-COUNT-2: nvvm.mma.block_scale
// CHECK-NOT: nvvm.mma.{{block|sync}}
// CHECK: llvm.return
tile.kernel @values warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x32xf16, stride = 80>
  %v = tilegpu.alloc "v" {offset = 2048 : i64} : !tilegpu.buffer<32x16xf8E4M3FN, stride = 48>
  %x = tilegpu.alloc "x" {offset = 4096 : i64} : !tilegpu.buffer<1x32xf16>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x16xf32, #packed>
  %d = tilegpu.dot %p times %x, %v, %c {narrow} : !tilegpu.buffer<16x32xf16, stride = 80> times !tilegpu.buffer<1x32xf16>, !tilegpu.buffer<32x16xf8E4M3FN, stride = 48>, tensor<16x16xf32, #packed>
  tile.store %d, %dst[%z, %z] : tensor<16x16xf32, #packed>, !tile.view<[M, N], f32>
  tile.return
}
