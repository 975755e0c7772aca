// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,CTA
// RUN: mlatile-opt %s --convert-tile-to-nvvm=target=sm_90a --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,CLUSTER

#ids4 = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8]], reps = [1]>
#ids1 = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [2]>

// The first of four threads a row copies it, if its id names a slot, and has its
// slot and its scales; all four zero it else: nine pieces each. PTX 8.0 has
// bulk copies to shared::cluster only.
// CHECK-LABEL: llvm.func @footer
// CHECK: %[[PART:.*]] = llvm.and %{{.*}}, %{{.*}} : i32
// CHECK: %[[VALID:.*]] = llvm.icmp "ult" %{{.*}}, %{{.*}} : i64
// CHECK: %[[ISSUES:.*]] = llvm.and %[[FIRST:.*]], %[[VALID]] : i1
// CHECK: llvm.cond_br %[[ISSUES]]
// CTA: nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %{{.*}}, %[[BAR:.*]], %[[BYTES:.*]] : !llvm.ptr<3>, <1>
// CLUSTER: %[[WINDOW:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
// CLUSTER: nvvm.cp.async.bulk.shared.cluster.global %[[WINDOW]], %{{.*}}, %[[BAR:.*]], %[[BYTES:.*]] : !llvm.ptr<7>, <1>
// CHECK: llvm.cond_br %[[FIRST]]
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache =  ca, %{{.*}}
// CHECK: %[[SKIPPED:.*]] = llvm.xor %[[VALID]]
// CHECK: llvm.cond_br %[[SKIPPED]]
// CHECK-COUNT-9: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: %[[OWN:.*]] = llvm.select %[[ISSUES]], %[[BYTES]], %{{.*}} : i1, i32
// CHECK: %[[SUM:.*]] = nvvm.redux.sync{{ +}}add %[[OWN]]
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.mbarrier.arrive.expect_tx %[[BAR]], %[[SUM]]
// CHECK: llvm.cond_br %[[FIRST]]
// CHECK: nvvm.cp.async.mbarrier.arrive %[[BAR]] {noinc = true}
// CHECK-NOT: nvvm.mbarrier.arrive
// CHECK: llvm.return
tile.kernel @footer warps(2) (%pool: !tile.pool<"dsv4">, %idx: !tile.view<[N], i32>, %i: i32) {
  %z = arith.constant 0 : index
  %ids = tile.load %idx[%z] : !tile.view<[N], i32> -> tensor<16xi32, #ids4>
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<16x576xi8, stride = 592>
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !tilegpu.buffer<16x8xi8>
  %slots = tilegpu.alloc "slots" {offset = 9600 : i64} : !tilegpu.buffer<16xi32>
  %full = tilegpu.alloc "full" {offset = 9664 : i64} : !tilegpu.mbarriers<2>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<16xi32, #ids4>, !tilegpu.buffer<16x576xi8, stride = 592>, !tilegpu.buffer<16x8xi8>,
      !tilegpu.buffer<16xi32>, !tilegpu.mbarriers<2>
  tile.return
}

// Two whole rows a thread, with their scales: two copies, no cp.async at all, and
// the warp expects the bytes of both.
// CHECK-LABEL: llvm.func @inline
// CHECK: %[[VALID0:.*]] = llvm.icmp "ult" %{{.*}}, %{{.*}} : i64
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: %[[OWN0:.*]] = llvm.select %[[VALID0]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: %[[OWN1:.*]] = llvm.select
// CHECK: %[[BOTH:.*]] = llvm.add %[[OWN0]], %[[OWN1]] : i32
// CHECK: nvvm.redux.sync{{ +}}add %[[BOTH]]
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-NOT: nvvm.cp.async
// CHECK: llvm.return
tile.kernel @inline warps(1) (%pool: !tile.pool<"glm">, %idx: !tile.view<[N], i32>) {
  %z = arith.constant 0 : index
  %i = arith.constant 0 : i32
  %ids = tile.load %idx[%z] : !tile.view<[N], i32> -> tensor<64xi32, #ids1>
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<64x656xi8>
  %scales = tilegpu.view %rows + 512 : !tilegpu.buffer<64x656xi8> -> !tilegpu.buffer<64x4xf32, stride = 656>
  %slots = tilegpu.alloc "slots" {offset = 41984 : i64} : !tilegpu.buffer<64xi32>
  %full = tilegpu.alloc "full" {offset = 42240 : i64} : !tilegpu.mbarriers<1>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"glm">, tensor<64xi32, #ids1>, !tilegpu.buffer<64x656xi8>, !tilegpu.buffer<64x4xf32, stride = 656>,
      !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<1>
  tile.return
}

// CHECK-LABEL: llvm.func @fence
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier0
tile.kernel @fence warps(1) () {
  tilegpu.sync cta {proxy_fence}
  tile.return
}
