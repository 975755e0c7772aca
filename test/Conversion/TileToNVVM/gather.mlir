// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#ids4 = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8]], reps = [1]>
#ids1 = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], reps = [1]>

// Four threads a row of 36 pieces: nine each at constant distances of 64 bytes,
// then the first of them adds the slot and the 8 bytes of scales. A skipped id
// points to slot 0 and copies 0 bytes.
// CHECK-LABEL: llvm.func @footer
// CHECK-SAME: (%[[BASE:[a-z0-9]+]]: !llvm.ptr<1>{{[^%]*}}%[[SLOTS:[a-z0-9]+]]: i64{{[^%]*}}%[[PAGE:[a-z0-9]+]]: i64{{[^%]*}}%[[PAGESTRIDE:[a-z0-9]+]]: i64{{[^%]*}}%[[ROWSTRIDE:[a-z0-9]+]]: i64
// CHECK: %[[SIZE:.*]] = llvm.trunc %[[PAGE]] : i64 to i32
// CHECK: %[[ID64:.*]] = llvm.sext %[[ID:.*]] : i32 to i64
// CHECK: %[[VALID:.*]] = llvm.icmp "ult" %[[ID64]], %[[SLOTS]] : i64
// CHECK: %[[SLOT:.*]] = llvm.select %[[VALID]], %[[ID]], %{{.*}} : i1, i32
// CHECK: %[[SAFE:.*]] = llvm.select %[[VALID]], %[[ID]], %{{.*}} : i1, i32
// CHECK: %[[NUMBER:.*]] = llvm.udiv %[[SAFE]], %[[SIZE]] : i32
// CHECK: %[[NUMBER64:.*]] = llvm.zext %[[NUMBER]]
// CHECK: llvm.mul %[[NUMBER64]], %[[PAGESTRIDE]] : i64
// CHECK: %[[BYTES:.*]] = llvm.select %[[VALID]], %{{.*}}, %{{.*}} : i1, i32
// CHECK: nvvm.cp.async.shared.global %[[TO:.*]], %[[FROM:.*]], 16, cache =  cg, %[[BYTES]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
// CHECK: %[[TO1:.*]] = llvm.getelementptr %[[TO]][64]
// CHECK: %[[FROM1:.*]] = llvm.getelementptr %[[FROM]][64]
// CHECK: nvvm.cp.async.shared.global %[[TO1]], %[[FROM1]], 16, cache =  cg, %[[BYTES]]
// CHECK-COUNT-7: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg, %[[BYTES]]
// CHECK-NOT: cache =  cg
// CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: llvm.cond_br %[[FIRST]]
// CHECK: llvm.store %[[SLOT]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: %[[BYTES8:.*]] = llvm.select %[[VALID]]
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache =  ca, %[[BYTES8]]
// CHECK: nvvm.cp.async.mbarrier.arrive %[[BAR:.*]] {noinc = true} : !llvm.ptr<3>
// CHECK: nvvm.mbarrier.arrive %[[BAR]] : !llvm.ptr<3> -> i64
tile.kernel @footer warps(2) (%pool: !tile.pool<"dsv4">, %idx: !tile.view<[N], i32>, %i: i32) {
  %z = arith.constant 0 : index
  %ids = tile.load %idx[%z] : !tile.view<[N], i32> -> tensor<16xi32, #ids4>
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<16x576xi8, stride = 592>
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !tilegpu.buffer<16x8xi8>
  %slots = tilegpu.alloc "slots" {offset = 9600 : i64} : !tilegpu.buffer<16xi32>
  %full = tilegpu.alloc "full" {offset = 9664 : i64} : !tilegpu.mbarriers<2>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<16xi32, #ids4>, !tilegpu.buffer<16x576xi8, stride = 592>, !tilegpu.buffer<16x8xi8>,
      !tilegpu.buffer<16xi32>, !tilegpu.mbarriers<2>
  tile.return
}

// 41 pieces over four threads: ten each, the last one behind a condition; the
// second thread stores the slot. Scales stand in the row.
// CHECK-LABEL: llvm.func @inline
// CHECK-COUNT-10: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// CHECK: %[[REST:.*]] = llvm.icmp "ult"
// CHECK: llvm.cond_br %[[REST]]
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// CHECK: %[[NEXT:.*]] = llvm.icmp "eq"
// CHECK: llvm.cond_br %[[NEXT]]
// CHECK: llvm.store {{.*}} : i32, !llvm.ptr<3>
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.mbarrier.arrive
tile.kernel @inline warps(2) (%pool: !tile.pool<"glm">, %idx: !tile.view<[N], i32>) {
  %z = arith.constant 0 : index
  %i = arith.constant 0 : i32
  %ids = tile.load %idx[%z] : !tile.view<[N], i32> -> tensor<16xi32, #ids4>
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<16x656xi8>
  %scales = tilegpu.view %rows + 512 : !tilegpu.buffer<16x656xi8> -> !tilegpu.buffer<16x4xf32, stride = 656>
  %slots = tilegpu.alloc "slots" {offset = 10496 : i64} : !tilegpu.buffer<16xi32>
  %full = tilegpu.alloc "full" {offset = 10560 : i64} : !tilegpu.mbarriers<1>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"glm">, tensor<16xi32, #ids4>, !tilegpu.buffer<16x656xi8>, !tilegpu.buffer<16x4xf32, stride = 656>,
      !tilegpu.buffer<16xi32>, !tilegpu.mbarriers<1>
  tile.return
}

// A thread a row: no conditions. The 32 bytes of scales are two copies.
// CHECK-LABEL: llvm.func @whole_rows
// CHECK: nvvm.barrier0
// CHECK-NOT: llvm.cond_br
// CHECK-COUNT-18: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.mbarrier.arrive
tile.kernel @whole_rows warps(2) (%pool: !tile.pool<"dsv4_1_fp4">, %idx: !tile.view<[N], i32>) {
  %z = arith.constant 0 : index
  %i = arith.constant 0 : i32
  %ids = tile.load %idx[%z] : !tile.view<[N], i32> -> tensor<64xi32, #ids1>
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<64x256xi8, stride = 272>
  %scales = tilegpu.alloc "scales" {offset = 17408 : i64} : !tilegpu.buffer<64x32xi8>
  %slots = tilegpu.alloc "slots" {offset = 19456 : i64} : !tilegpu.buffer<64xi32>
  %full = tilegpu.alloc "full" {offset = 19712 : i64} : !tilegpu.mbarriers<1>
  tilegpu.sync cta
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4_1_fp4">, tensor<64xi32, #ids1>, !tilegpu.buffer<64x256xi8, stride = 272>, !tilegpu.buffer<64x32xi8>,
      !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<1>
  tile.return
}
