// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-plan-shared --split-input-file | FileCheck %s

#l = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [4, 1]>
!big = !tilegpu.buffer<64x32xf32>

// Large buffers that live one after the other share bytes, others do not.
// CHECK-LABEL: @lives
// CHECK-SAME: tilegpu.shared_bytes = 16384 : i64
tile.kernel @lives warps(1) (%x : f32) {
  // CHECK: tilegpu.alloc "first" {offset = [[FIRST:0|8192]] : i64}
  // CHECK: tilegpu.alloc "meanwhile" {offset = {{0|8192}} : i64}
  // CHECK: tilegpu.alloc "later" {offset = [[FIRST]] : i64}
  %first = tilegpu.alloc "first" : !big
  %meanwhile = tilegpu.alloc "meanwhile" : !big
  %later = tilegpu.alloc "later" : !big
  %t = tile.full %x : f32 -> tensor<64x32xf32, #l>
  tilegpu.store_shared %t, %first : tensor<64x32xf32, #l>, !big
  tilegpu.store_shared %t, %meanwhile : tensor<64x32xf32, #l>, !big
  %a = tilegpu.load_shared %first : !big -> tensor<64x32xf32, #l>
  tilegpu.store_shared %t, %later : tensor<64x32xf32, #l>, !big
  %b = tilegpu.load_shared %meanwhile : !big -> tensor<64x32xf32, #l>
  %c = tilegpu.load_shared %later : !big -> tensor<64x32xf32, #l>
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [4, 1]>
!big = !tilegpu.buffer<64x32xf32>

// What an iteration writes first may share with its own later buffers; what was
// written before a loop lives to the loop's end.
// CHECK-LABEL: @loops
// CHECK-SAME: tilegpu.shared_bytes = 16384 : i64
tile.kernel @loops warps(1) (%x : f32) {
  // CHECK: tilegpu.alloc "kept" {offset = [[KEPT:[0-9]+]] : i64}
  // CHECK-NOT: offset = [[KEPT]] :
  // CHECK: tilegpu.alloc "early" {offset = [[EARLY:[0-9]+]] : i64}
  // CHECK: tilegpu.alloc "late" {offset = [[EARLY]] : i64}
  %kept = tilegpu.alloc "kept" : !big
  %early = tilegpu.alloc "early" : !big
  %late = tilegpu.alloc "late" : !big
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = tile.full %x : f32 -> tensor<64x32xf32, #l>
  tilegpu.store_shared %t, %kept : tensor<64x32xf32, #l>, !big
  scf.for %i = %c0 to %c4 step %c1 {
    tilegpu.store_shared %t, %early : tensor<64x32xf32, #l>, !big
    %a = tilegpu.load_shared %early : !big -> tensor<64x32xf32, #l>
    %k = tilegpu.load_shared %kept : !big -> tensor<64x32xf32, #l>
    tilegpu.store_shared %t, %late : tensor<64x32xf32, #l>, !big
    %b = tilegpu.load_shared %late : !big -> tensor<64x32xf32, #l>
  }
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [4, 1]>
!big = !tilegpu.buffer<64x32xf32>

// Contents that one iteration leaves for the next keep a buffer through the
// loop.
// CHECK-LABEL: @carried
// CHECK-SAME: tilegpu.shared_bytes = 16384 : i64
tile.kernel @carried warps(1) (%x : f32) {
  %carried = tilegpu.alloc "carried" : !big
  %late = tilegpu.alloc "late" : !big
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = tile.full %x : f32 -> tensor<64x32xf32, #l>
  scf.for %i = %c0 to %c4 step %c1 {
    %a = tilegpu.load_shared %carried : !big -> tensor<64x32xf32, #l>
    tilegpu.store_shared %t, %carried : tensor<64x32xf32, #l>, !big
    tilegpu.store_shared %t, %late : tensor<64x32xf32, #l>, !big
    %b = tilegpu.load_shared %late : !big -> tensor<64x32xf32, #l>
  }
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
!small = !tilegpu.buffer<8x8xf32>

// Small buffers have places of their own, since sharing costs barriers; nor do
// mbarriers and unused buffers share. Places are multiples of 16 bytes.
// CHECK-LABEL: @small
// CHECK-SAME: tilegpu.shared_bytes = 532 : i64
tile.kernel @small warps(1) (%x : f32) {
  %bars = tilegpu.alloc "bars" : !tilegpu.mbarriers<2>
  %unused = tilegpu.alloc "unused" : !tilegpu.buffer<1xi32>
  %first = tilegpu.alloc "first" : !small
  %second = tilegpu.alloc "second" : !small
  %t = tile.full %x : f32 -> tensor<8x8xf32, #l>
  tilegpu.store_shared %t, %first : tensor<8x8xf32, #l>, !small
  tilegpu.store_shared %t, %second : tensor<8x8xf32, #l>, !small
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
!small = !tilegpu.buffer<8x8xf32>

// But they do where the arena would not fit otherwise: 101,376 bytes with one
// place for both of them.
// CHECK-LABEL: @tight
// CHECK-SAME: tilegpu.shared_bytes = 101376 : i64
tile.kernel @tight warps(1) (%x : f32) {
  // CHECK: tilegpu.alloc "first" {offset = [[PLACE:[0-9]+]] : i64}
  // CHECK: tilegpu.alloc "second" {offset = [[PLACE]] : i64}
  %rest = tilegpu.alloc "rest" : !tilegpu.buffer<101120xi8>
  %first = tilegpu.alloc "first" : !small
  %second = tilegpu.alloc "second" : !small
  %t = tile.full %x : f32 -> tensor<8x8xf32, #l>
  tilegpu.store_shared %t, %first : tensor<8x8xf32, #l>, !small
  %a = tilegpu.load_shared %first : !small -> tensor<8x8xf32, #l>
  tilegpu.store_shared %t, %second : tensor<8x8xf32, #l>, !small
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [4, 1]>
!big = !tilegpu.buffer<64x32xf32>

// What other CTAs read lives to the end; it may take the place of what was
// before.
// CHECK-LABEL: @peers
// CHECK-SAME: tilegpu.shared_bytes = 16384 : i64
tile.kernel @peers warps(1) cluster(2) (%x : f32, %i : index) {
  // CHECK: tilegpu.alloc "before" {offset = [[BEFORE:0|8192]] : i64}
  // CHECK: tilegpu.alloc "peers" {offset = [[PEERS:0|8192]] : i64}
  // CHECK-NOT: tilegpu.alloc "after" {offset = [[PEERS]] : i64}
  // CHECK: tilegpu.alloc "after"
  %before = tilegpu.alloc "before" : !big
  %peers = tilegpu.alloc "peers" : !big
  %after = tilegpu.alloc "after" : !big
  %t = tile.full %x : f32 -> tensor<64x32xf32, #l>
  tilegpu.store_shared %t, %before : tensor<64x32xf32, #l>, !big
  %a = tilegpu.load_shared %before : !big -> tensor<64x32xf32, #l>
  tilegpu.store_shared %a, %peers : tensor<64x32xf32, #l>, !big
  tilegpu.cluster_arrive
  tilegpu.cluster_wait
  %b = tilegpu.load_peer %peers of %i[%i, %i] : !big -> tensor<64x32xf32, #l>
  tilegpu.cluster_arrive
  tilegpu.store_shared %b, %after : tensor<64x32xf32, #l>, !big
  %c = tilegpu.load_shared %after : !big -> tensor<64x32xf32, #l>
  tilegpu.cluster_wait
  tile.return
}
