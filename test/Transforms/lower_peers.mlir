// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-lower-peers --split-input-file | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 8]>
#row = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [], reps = [1, 1]>
#heads = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [], reps = [1]>
#one = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], reps = [1]>

// All tiles are stored where the first is read, rows apart from each other's
// banks; one barrier follows, and another spans what comes behind the reads.
// CHECK-LABEL: @merge
tile.kernel @merge warps(1) cluster(4) (%v : !tile.view<[H, N], f32>, %i : index) {
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK-DAG: %[[X:.*]] = tilegpu.alloc "peers" : !tilegpu.buffer<16x64xf32, stride = 288>
  // CHECK-DAG: %[[M:.*]] = tilegpu.alloc "peers" : !tilegpu.buffer<16xf32>
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %x = tile.load %v[%i, %i] : !tile.view<[H, N], f32> -> tensor<16x64xf32, #acc>
  %m = tile.load %v[%i, %i] : !tile.view<[H, N], f32> -> tensor<16xf32, #heads>
  // CHECK: tile.load
  // CHECK: %[[TILE:.*]] = tile.load
  // CHECK: tilegpu.store_shared %{{.*}}, %[[X]]
  // CHECK-NEXT: tilegpu.store_shared %[[TILE]], %[[M]]
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: tilegpu.load_peer %[[X]] of %[[C1]][%i, %[[C1]]] : !tilegpu.buffer<16x64xf32, stride = 288> -> tensor<1x64xf32, #{{.*}}>
  %y = tile.load_peer %x of %c1[%i, %c1] : tensor<16x64xf32, #acc> -> tensor<1x64xf32, #row>
  // A rank that may be no block of the cluster.
  // CHECK: %[[RANK:.*]] = arith.remui %i, %{{.*}}
  // CHECK-NEXT: tilegpu.load_peer %[[M]] of %[[RANK]]
  %n = tile.load_peer %m of %i[%i] : tensor<16xf32, #heads> -> tensor<1xf32, #one>
  // CHECK: %[[RANK:.*]] = arith.remui %{{.*}}, %{{.*}}
  // CHECK-NEXT: tilegpu.load_peer %[[M]] of %[[RANK]]
  // CHECK-NEXT: tilegpu.cluster_arrive
  %n5 = tile.load_peer %m of %c5[%i] : tensor<16xf32, #heads> -> tensor<1xf32, #one>
  // CHECK-NEXT: tile.store
  // CHECK: tile.store
  tile.store %y, %v[%i, %i] : tensor<1x64xf32, #row>, !tile.view<[H, N], f32>
  tile.store %n, %v[%i, %i] : tensor<1xf32, #one>, !tile.view<[H, N], f32>
  tile.store %n5, %v[%i, %i] : tensor<1xf32, #one>, !tile.view<[H, N], f32>
  // CHECK: tilegpu.cluster_wait
  // CHECK-NEXT: tile.return
  tile.return
}

// -----

#heads = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [], reps = [1]>

// Barriers stand where all blocks come by: before a branch or a loop that only
// some take, and behind it. What is made of what peers have is stored later.
// CHECK-LABEL: @some
tile.kernel @some warps(1) cluster(2) (%v : !tile.view<[H, N], f32>, %i : index, %p : i1) {
  %c0 = arith.constant 0 : index
  %m = tile.load %v[%i, %i] : !tile.view<[H, N], f32> -> tensor<16xf32, #heads>
  // CHECK: tilegpu.store_shared
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: scf.if
  scf.if %p {
    // CHECK-NEXT: scf.for
    scf.for %k = %c0 to %i step %i {
      // CHECK-NOT: cluster_
      %n = tile.load_peer %m of %c0[%k] : tensor<16xf32, #heads> -> tensor<16xf32, #heads>
      tile.store %n, %v[%i, %i] : tensor<16xf32, #heads>, !tile.view<[H, N], f32>
    }
  }
  // CHECK: tilegpu.load_peer
  %n = tile.load_peer %m of %c0[%c0] : tensor<16xf32, #heads> -> tensor<16xf32, #heads>
  %s = arith.addf %n, %m : tensor<16xf32, #heads>
  // CHECK: %[[S:.*]] = arith.addf
  // CHECK-NEXT: tilegpu.store_shared %[[S]]
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: tilegpu.load_peer
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: tile.return
  %t = tile.load_peer %s of %c0[%c0] : tensor<16xf32, #heads> -> tensor<16xf32, #heads>
  tile.store %t, %v[%i, %i] : tensor<16xf32, #heads>, !tile.view<[H, N], f32>
  tile.return
}

// -----

// CHECK-LABEL: @alone
// CHECK-NOT: cluster_
tile.kernel @alone warps(1) cluster(2) () {
  tile.return
}
