// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#planes = #tilegpu.layout<reg = [[0, 0, 1], [0, 0, 2], [2, 0, 0]], lane = [[0, 0, 4], [0, 0, 8], [0, 0, 16], [1, 0, 0], [0, 2, 0]], warp = [[0, 1, 0]], reps = [1, 1, 1]>

// Rows are counted on from plane to plane: the row of a thread is that of its
// plane times the four of a plane, and a register two planes on is eight rows of
// 144 bytes on.
// CHECK: llvm.mlir.global internal @mlatile_shared_planes() {{.*}} : !llvm.array<2288 x i8>
// CHECK-LABEL: llvm.func @planes
// CHECK-DAG: %[[STRIDE:.*]] = llvm.mlir.constant(144 : i32)
// CHECK-DAG: %[[ARENA:.*]] = llvm.mlir.addressof @mlatile_shared_planes : !llvm.ptr<3>
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(4 : i32)
// CHECK: %[[ROW:.*]] = llvm.mul %{{.*}}, %[[ROWS]]
// CHECK: %[[OF_ALL:.*]] = llvm.add %[[ROW]], %{{.*}}
// CHECK: %[[OFFSET:.*]] = llvm.mul %[[OF_ALL]], %[[STRIDE]]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}]
// CHECK: llvm.store %{{.*}}, %[[PLACE]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[PLACE]][1152]
// CHECK: llvm.store %{{.*}}, %[[NEXT]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.load %[[NEXT]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
tile.kernel @planes warps(2) (%src: !tile.view<[P, M, N], f32>, %dst: !tile.view<[P, M, N], f32>) {
  %z = arith.constant 0 : index
  %t = tile.load %src[%z, %z, %z] : !tile.view<[P, M, N], f32> -> tensor<4x4x32xf32, #planes>
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<4x4x32xf32, stride = 144>
  tilegpu.store_shared %t, %b : tensor<4x4x32xf32, #planes>, !tilegpu.buffer<4x4x32xf32, stride = 144>
  tilegpu.sync cta
  %u = tilegpu.load_shared %b : !tilegpu.buffer<4x4x32xf32, stride = 144> -> tensor<4x4x32xf32, #planes>
  tile.store %u, %dst[%z, %z, %z] : tensor<4x4x32xf32, #planes>, !tile.view<[P, M, N], f32>
  tile.return
}

// One plane of several rows: vectors as wide as a row's alignment allows, here
// of 4 bytes.
#one = #tilegpu.layout<reg = [[0, 0, 1], [0, 0, 2]], lane = [[0, 0, 4], [0, 0, 8], [0, 1, 0], [0, 2, 0], [0, 0, 0]], warp = [], reps = [1, 1, 1]>
// CHECK-LABEL: llvm.func @one_plane
// CHECK-NOT: vector<4xf32>, !llvm.ptr<3>
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
tile.kernel @one_plane warps(1) (%src: !tile.view<[P, M, N], f32>) {
  %z = arith.constant 0 : index
  %t = tile.load %src[%z, %z, %z] : !tile.view<[P, M, N], f32> -> tensor<1x4x16xf32, #one>
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<1x4x16xf32, stride = 68>
  tilegpu.store_shared %t, %b : tensor<1x4x16xf32, #one>, !tilegpu.buffer<1x4x16xf32, stride = 68>
  tile.return
}
