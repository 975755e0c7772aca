// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-insert-syncs --split-input-file | FileCheck %s

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
#any = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>

// Bytes that stores have written: a barrier alone orders them for stores, and
// for cp.async, but not for bulk copies.
// CHECK-LABEL: @stored
tile.kernel @stored warps(1) (%kv : !tile.pool<"dsv4">, %x : i32, %i : i32) {
  %scratch = tilegpu.alloc "scratch" {offset = 64 : i64} : !slots
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %x : i32 -> tensor<16xi32, #ids>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %scratch : tensor<16xi32, #ids>, !slots
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NOT: proxy_fence
  tilegpu.sync cta
  // CHECK: tilegpu.gather_async
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  // CHECK: tilegpu.sync cta
  tilegpu.sync cta
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  // CHECK-NEXT: tilegpu.gather_async {{.*}} {bulk}
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  // Once is enough: rows that the gather itself zeroes are fenced there.
  // CHECK-NOT: tilegpu.sync
  // CHECK: tilegpu.gather_async {{.*}} {bulk}
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  // CHECK: tile.return
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
#any = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>

// What was only read needs the barrier and no fence, other bytes neither; a
// fence of the author's counts.
// CHECK-LABEL: @read
tile.kernel @read warps(1) (%kv : !tile.pool<"dsv4">, %x : i32, %i : i32) {
  %scratch = tilegpu.alloc "scratch" {offset = 64 : i64} : !slots
  %apart = tilegpu.alloc "apart" {offset = 20000 : i64} : !slots
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %x : i32 -> tensor<16xi32, #ids>
  tilegpu.store_shared %t, %apart : tensor<16xi32, #ids>, !slots
  tilegpu.store_shared %t, %scratch : tensor<16xi32, #ids>, !slots
  // CHECK: tilegpu.sync cta {proxy_fence}
  tilegpu.sync cta {proxy_fence}
  // CHECK-NEXT: tilegpu.load_shared
  %r = tilegpu.load_shared %scratch : !slots -> tensor<16xi32, #any>
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %t, %apart : tensor<16xi32, #ids>, !slots
  // CHECK-NEXT: tilegpu.sync cta{{$}}
  // CHECK-NEXT: tilegpu.gather_async
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>

// What a loop needs of stores before it stands before the loop, once.
// CHECK-LABEL: @loop
tile.kernel @loop warps(1) (%kv : !tile.pool<"dsv4">, %x : i32, %i : i32, %n : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %scratch = tilegpu.alloc "scratch" {offset = 64 : i64} : !slots
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %x : i32 -> tensor<16xi32, #ids>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %scratch : tensor<16xi32, #ids>, !slots
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  // CHECK-NEXT: scf.for
  scf.for %k = %c0 to %n step %c1 {
    // CHECK-NEXT: tilegpu.gather_async
    tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i] {bulk}
      : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  }
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]], reps = [1]>
#all = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [[0], [0], [0]], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>

// Stores before the roles, where one role gathers by bulk copies.
// CHECK-LABEL: @roles
tile.kernel @roles warps(8) (%kv : !tile.pool<"dsv4">, %x : i32, %i : i32) {
  %scratch = tilegpu.alloc "scratch" {offset = 64 : i64} : !slots
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %x : i32 -> tensor<16xi32, #all>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %scratch : tensor<16xi32, #all>, !slots
  // The barrier that stands there becomes one with the fence.
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  // CHECK-NEXT: tilegpu.roles
  tilegpu.sync cta
  tilegpu.roles
  role "gathers" warps(4) registers(128) {
    %u = tile.full %x : i32 -> tensor<16xi32, #ids>
    // CHECK-NOT: tilegpu.sync
    // CHECK: tilegpu.gather_async
    tilegpu.gather_async %kv[%u] into %rows, %scales, %slots signal %full[%i] {bulk}
      : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
    tilegpu.role_end
  }
  role "waits" warps(4) registers(128) {
    tilegpu.role_end
  }
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>

// An mbarrier that bulk copies complete is initialised before a fence.
// CHECK-LABEL: @initialised
tile.kernel @initialised warps(1) (%kv : !tile.pool<"dsv4">, %x : i32, %i : i32) {
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %x : i32 -> tensor<16xi32, #ids>
  // CHECK: tilegpu.mbarrier_init
  // CHECK-NEXT: tilegpu.sync cta{{$}}
  tilegpu.mbarrier_init %full {count = 17 : i32} : !tilegpu.mbarriers<1>
  tilegpu.sync cta
  // CHECK-NEXT: tilegpu.gather_async
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  // CHECK-NEXT: tilegpu.gather_async {{.*}} {bulk}
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  tile.return
}
