// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s

#row = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [], reps = [1, 1]>

// Whole vectors where the window starts at one, else elements; what is outside
// is read at the start of the peer's buffer and is zero.
// CHECK-LABEL: llvm.func @window
// CHECK-SAME: %[[RANK:[^:]*]]: i64, %[[I:[^:]*]]: i64, %[[J:[^:]*]]: i64
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// CHECK-DAG: %[[ROWS:.*]] = llvm.mlir.constant(16 : i32)
// CHECK-DAG: %[[STRIDE:.*]] = llvm.mlir.constant(544 : i32)
// CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
// CHECK: nvvm.cluster.arrive {aligned}
// CHECK: nvvm.cluster.wait {aligned}
// CHECK: %[[R:.*]] = llvm.trunc %[[RANK]] : i64 to i32
// CHECK: %[[PEER:.*]] = nvvm.mapa %{{.*}}, %[[R]] : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK: llvm.trunc
// CHECK: %[[COL:.*]] = llvm.trunc %{{.*}} : i64 to i32
// CHECK: %[[LOW:.*]] = llvm.and %[[COL]], %[[C3]]
// CHECK: llvm.cond_br %{{.*}}, ^[[VECTORS:bb[0-9]+]], ^[[SCALARS:bb[0-9]+]]
// CHECK: ^[[VECTORS]]:
// CHECK: llvm.icmp "ult" %{{.*}}, %[[ROWS]]
// CHECK: llvm.mul %{{.*}}, %[[STRIDE]]
// CHECK: %[[OFFSET:.*]] = llvm.select
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[PEER]][%[[OFFSET]]] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, i8
// CHECK: %[[FOUR:.*]] = llvm.load %[[AT]] {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xf32>
// CHECK: llvm.select %{{.*}}, %[[FOUR]], %{{.*}} : i1, vector<4xf32>
// CHECK: ^[[SCALARS]]:
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<7> -> f32
tile.kernel @window warps(1) cluster(4) (%r : index, %i : index, %j : index, %v : !tile.view<[N, M], f32>) {
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x128xf32, stride = 544>
  tilegpu.cluster_arrive
  tilegpu.cluster_wait
  %t = tilegpu.load_peer %b of %r[%i, %j] : !tilegpu.buffer<16x128xf32, stride = 544> -> tensor<1x128xf32, #row>
  tile.store %t, %v[%i, %j] : tensor<1x128xf32, #row>, !tile.view<[N, M], f32>
  tile.return
}

// -----

#row = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [], reps = [1, 1]>

// Of 126 columns two are a vector that is inside or outside as a whole. Rows
// apart by 520 bytes too.
// CHECK-LABEL: llvm.func @narrow
// CHECK-NOT: nvvm.cluster_dim
// CHECK-NOT: !llvm.ptr<7> -> vector<4xf32>
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<7> -> vector<2xf32>
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<7> -> f32
tile.kernel @narrow warps(1) (%r : index, %i : index, %v : !tile.view<[N, M], f32>) {
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x126xf32, stride = 520>
  %t = tilegpu.load_peer %b of %r[%i, %i] : !tilegpu.buffer<16x126xf32, stride = 520> -> tensor<1x128xf32, #row>
  tile.store %t, %v[%i, %i] : tensor<1x128xf32, #row>, !tile.view<[N, M], f32>
  tile.return
}
