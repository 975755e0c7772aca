// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc1 = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [2, 2]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], reps = [2, 1]>

// Two tiles along M and two along N for a warp, one step. Row addresses: of A
// lane % 16 rows of 48 bytes and 16 bytes to the right for the upper lanes; of B
// (N x K in memory) the upper lanes name the next tile, which is two warps on.
// A fragment of B feeds both tiles along M.
// CHECK-LABEL: llvm.func @nt
// CHECK-DAG: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK-DAG: %[[C15:.*]] = llvm.mlir.constant(15 : i32)
// CHECK-DAG: %[[LOW:.*]] = llvm.and %[[TID]], %[[C15]]
// CHECK: %[[A0:.*]] = nvvm.ldmatrix %[[PA:.*]] {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: %[[B:.*]] = nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: %[[B0:.*]] = llvm.extractvalue %[[B]][0]
// CHECK: %[[B1:.*]] = llvm.extractvalue %[[B]][1]
// CHECK: %[[B2:.*]] = llvm.extractvalue %[[B]][2]
// CHECK: nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%[[B0]], %[[B1]]] C[{{.*}}] {{{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: %[[PA2:.*]] = llvm.getelementptr %[[PA]][768]
// CHECK: nvvm.ldmatrix %[[PA2]]
// CHECK: nvvm.mma.sync {{.*}} B[%[[B0]], %[[B1]]]
// CHECK: nvvm.mma.sync {{.*}} B[%[[B2]],
// CHECK: nvvm.mma.sync {{.*}} B[%[[B2]],
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @nt warps(2) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<32x16xbf16, stride = 48>
  %b = tilegpu.alloc "b" {offset = 2048 : i64} : !tilegpu.buffer<32x16xbf16, stride = 48>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<32x32xf32, #acc>
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<32x16xbf16, stride = 48>, !tilegpu.buffer<32x16xbf16, stride = 48>, tensor<32x32xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<32x32xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// K x N in memory: transposing loads. A from registers: adjacent pairs. f16
// operands are vectors.
// CHECK-LABEL: llvm.func @registers
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32,
// CHECK: nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {{.*}} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK-COUNT-3: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.return
tile.kernel @registers warps(2) (%src: !tile.view<[M, N], f32>, %p: !tile.view<[M, K], f16>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x32xf16, stride = 80>
  %a = tile.load %p[%z, %z] : !tile.view<[M, K], f16> -> tensor<32x16xf16, #opA>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<32x32xf32, #acc>
  %d = tilegpu.dot %a, %b, %c : tensor<32x16xf16, #opA>, !tilegpu.buffer<16x32xf16, stride = 80>, tensor<32x32xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<32x32xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// One tile a warp and nine steps: they go to two sums, so that not each product
// waits for the one before it. B comes two steps at a time (the last one alone),
// A is transposed in memory.
// CHECK-LABEL: llvm.func @one_tile
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32,
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32,
// CHECK: %[[S0:.*]] = nvvm.mma.sync
// CHECK: %[[S00:.*]] = llvm.extractvalue %[[S0]][0]
// CHECK: %[[S1:.*]] = nvvm.mma.sync {{.*}} C[%[[ZERO:.*]], %[[ZERO]], %[[ZERO]], %[[ZERO]]]
// CHECK: %[[S10:.*]] = llvm.extractvalue %[[S1]][0]
// CHECK: nvvm.mma.sync {{.*}} C[%[[S00]],
// CHECK: nvvm.mma.sync {{.*}} C[%[[S10]],
// CHECK: nvvm.ldmatrix %{{.*}} {{{.*}}layout = #nvvm.mma_layout<row>, num = 2 : i32,
// CHECK: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-4: llvm.fadd
// CHECK-NOT: llvm.fadd
// CHECK: llvm.return
tile.kernel @one_tile warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<144x16xbf16, stride = 48>
  %b = tilegpu.alloc "b" {offset = 6912 : i64} : !tilegpu.buffer<8x144xbf16, stride = 304>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x8xf32, #acc1>
  %d = tilegpu.dot %a, %b, %c {a_transposed, b_transposed}
    : !tilegpu.buffer<144x16xbf16, stride = 48>, !tilegpu.buffer<8x144xbf16, stride = 304>, tensor<16x8xf32, #acc1>
  tile.store %d, %dst[%z, %z] : tensor<16x8xf32, #acc1>, !tile.view<[M, N], f32>
  tile.return
}

// Fewer than four steps for each sum: one sum.
// CHECK-LABEL: llvm.func @few_steps
// CHECK-COUNT-7: nvvm.mma.sync
// CHECK-NOT: {{nvvm.mma.sync|llvm.fadd}}
// CHECK: llvm.return
tile.kernel @few_steps warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x112xbf16, stride = 240>
  %b = tilegpu.alloc "b" {offset = 3840 : i64} : !tilegpu.buffer<8x112xbf16, stride = 240>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x8xf32, #acc1>
  %d = tilegpu.dot %a, %b, %c {b_transposed}
    : !tilegpu.buffer<16x112xbf16, stride = 240>, !tilegpu.buffer<8x112xbf16, stride = 240>, tensor<16x8xf32, #acc1>
  tile.store %d, %dst[%z, %z] : tensor<16x8xf32, #acc1>, !tile.view<[M, N], f32>
  tile.return
}
