// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles | FileCheck %s
// RUN: mlatile-opt %s --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu | FileCheck %s --check-prefix=LOWERED
// RUN: mlatile-opt %s --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands --canonicalize --tilegpu-plan-shared=target=sm_90a --tilegpu-insert-syncs | FileCheck %s --check-prefix=SYNC

// A loop over items around the loop with the gather: every role has both.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @items warps(16)
tile.kernel @items warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %max : !vm)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  %T = tile.dim %idx, 0 : !vid
  %W = tile.dim %idx, 1 : !vid
  %first = tile.program_id 0 : index
  %step = tile.num_programs 0 : index
  // What crosses once an item has one place.
  // CHECK-NOT: tilegpu.channel "before"
  // CHECK-DAG: %[[CONV:.+]] = tilegpu.channel "converted" : !tilegpu.channel<2, [tensor<32x448xbf16>]>
  // CHECK-DAG: %[[HAND:.+]] = tilegpu.channel "handover" : !tilegpu.channel<2, [tensor<16x32xbf16>]>
  // CHECK-DAG: %[[ONCE:.+]] = tilegpu.channel "handover" : !tilegpu.channel<1, [tensor<16xf32>]>

  // The output, and not the query.
  // CHECK: role "second" warps(8)
  // CHECK: scf.for
  // CHECK-NOT: tile.load
  // CHECK: scf.for
  // CHECK-DAG: tilegpu.receive %[[CONV]]
  // CHECK-DAG: tilegpu.receive %[[HAND]]
  // CHECK: tilegpu.receive %[[ONCE]]
  // CHECK: tile.store %{{.+}}, %out
  // CHECK: tilegpu.role_end

  // The query of each item, made by who needs it.
  // CHECK: role "first" warps(4)
  // CHECK: scf.for
  // CHECK: %[[Q:.+]] = tile.load %q
  // CHECK: scf.for
  // CHECK: tile.dot %[[Q]]
  // CHECK: tilegpu.send %{{.+}} to %[[ONCE]]
  // CHECK: tilegpu.role_end

  // CHECK: role "gather" warps(4)
  // CHECK: scf.for
  // CHECK-NOT: tile.load %q
  // CHECK: scf.for
  // CHECK: tile.load %idx
  // CHECK: tilegpu.send %{{.+}} to %[[CONV]]
  // CHECK: tilegpu.role_end

  // Places and phases are counted on by both loops of each role.
  // LOWERED: role "second"
  // LOWERED: scf.for {{.*}} iter_args(
  // LOWERED: scf.for
  // LOWERED: role "first"
  // LOWERED: scf.for {{.*}} iter_args(
  // LOWERED: role "gather"
  // LOWERED: scf.for {{.*}} iter_args(
  // LOWERED: scf.if
  // LOWERED: arith.xori
  // LOWERED-NEXT: tilegpu.mbarrier_wait
  // LOWERED: tilegpu.gather_async
  // LOWERED: scf.for

  // Nobody stores a query over one that is still read.
  // SYNC: role "first"
  // SYNC: scf.for
  // SYNC: tile.load %q
  // SYNC: tilegpu.sync role
  // SYNC-NEXT: tilegpu.store_shared
  // SYNC: scf.for
  // SYNC: tilegpu.role_end
  scf.for %t = %first to %T step %step {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
    %m_ = tile.full %f0 : f32 -> tensor<16xf32>
    %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
    %m, %o = scf.for %i = %c0 to %W step %c32 iter_args(%m0 = %m_, %o0 = %o_) -> (tensor<16xf32>, tensor<16x448xf32>) {
      %ids = tile.load %idx[%t, %i] limit %W else %skip : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %mt = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
      %m1 = arith.maximumf %m0, %mt : tensor<16xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o2 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %m1, %o2 : tensor<16xf32>, tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %mb = tile.broadcast %m along 1 : tensor<16xf32> -> tensor<16x448xf32>
    %scaled = arith.mulf %o, %mb : tensor<16x448xf32>
    tile.store %scaled, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
    tile.store %m, %max[%t, %c0] : tensor<16xf32>, !vm
  }
  tile.return
}
