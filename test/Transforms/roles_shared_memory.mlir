// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-plan-shared | FileCheck %s --check-prefix=PLAN
// RUN: mlatile-opt %s --tilegpu-plan-shared --tilegpu-insert-syncs | FileCheck %s --check-prefix=SYNC

// Four warps: in #rows a warp holds 16 rows, in #cols 8 columns.
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0], [32, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [32, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 8], [0, 16]], reps = [1, 1]>
#all = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0], [32, 0]], reps = [1, 1]>
!big = !tilegpu.buffer<64x32xf32>

// Buffers of one role share bytes, those of two never do: roles run together.
// PLAN-LABEL: @two
// PLAN-SAME: tilegpu.shared_bytes = 32768 : i64
// PLAN: tilegpu.alloc "before" {offset = [[B:[0-9]+]] : i64}
// PLAN: tilegpu.alloc "a" {offset = [[A:[0-9]+]] : i64}
// PLAN: tilegpu.alloc "a too" {offset = [[A]] : i64}
// PLAN: tilegpu.alloc "b" {offset = [[OTHER:[0-9]+]] : i64}
tile.kernel @two warps(8) (%x : f32) {
  %before = tilegpu.alloc "before" : !big
  %a = tilegpu.alloc "a" : !big
  %a2 = tilegpu.alloc "a too" : !big
  %b = tilegpu.alloc "b" : !big
  %hand = tilegpu.alloc "hand" : !tilegpu.ring<1, !big>
  %zero = arith.constant 0 : i32
  %t = tile.full %x : f32 -> tensor<64x32xf32, #all>
  // SYNC: tilegpu.store_shared
  // SYNC-NEXT: tilegpu.sync cta
  // SYNC-NEXT: tilegpu.roles
  tilegpu.store_shared %t, %before : tensor<64x32xf32, #all>, !big
  tilegpu.roles
  role "a" warps(4) registers(128) {
    %u = tile.full %x : f32 -> tensor<64x32xf32, #rows>
    // SYNC: role "a"
    // SYNC: tilegpu.load_shared
    // SYNC-NEXT: tilegpu.store_shared
    // SYNC-NEXT: tilegpu.sync role
    // SYNC-NEXT: tilegpu.load_shared
    // SYNC-NEXT: tilegpu.sync role
    // SYNC-NEXT: tilegpu.store_shared
    %p = tilegpu.load_shared %before : !big -> tensor<64x32xf32, #rows>
    tilegpu.store_shared %u, %a : tensor<64x32xf32, #rows>, !big
    %r = tilegpu.load_shared %a : !big -> tensor<64x32xf32, #cols>
    tilegpu.store_shared %u, %a2 : tensor<64x32xf32, #rows>, !big
    %r2 = tilegpu.load_shared %a2 : !big -> tensor<64x32xf32, #rows>
    // What another role reads is guarded by mbarriers.
    // SYNC: tilegpu.stage
    // SYNC-NEXT: tilegpu.store_shared
    // SYNC-NEXT: tilegpu.store_shared
    // SYNC-NEXT: tilegpu.role_end
    %h = tilegpu.stage %hand[%zero] : !tilegpu.ring<1, !big> -> !big
    tilegpu.store_shared %u, %h : tensor<64x32xf32, #rows>, !big
    tilegpu.store_shared %r, %h : tensor<64x32xf32, #cols>, !big
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) {
    %u = tile.full %x : f32 -> tensor<64x32xf32, #rows>
    // SYNC: role "b"
    // SYNC-NOT: tilegpu.sync
    tilegpu.store_shared %u, %b : tensor<64x32xf32, #rows>, !big
    %h = tilegpu.stage %hand[%zero] : !tilegpu.ring<1, !big> -> !big
    %v = tilegpu.load_shared %h : !big -> tensor<64x32xf32, #cols>
    tilegpu.role_end
  }
  tile.return
}
