// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles | FileCheck %s --check-prefixes=BOTH,COPIED
// RUN: mlatile-opt %s --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu | FileCheck %s --check-prefix=LOWERED
// RUN: mlatile-opt %s --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands --canonicalize --tilegpu-plan-shared=target=sm_90a --tilegpu-insert-syncs | FileCheck %s --check-prefix=SYNC
// RUN: sed s/4c+4+8/4+4+8/ %s | mlatile-opt --tile-assign-roles | FileCheck %s --check-prefixes=BOTH,SECOND
// RUN: sed s/4c+4+8/4+4+8/ %s | mlatile-opt --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands --canonicalize --tilegpu-plan-shared=target=sm_90a --tilegpu-insert-syncs | FileCheck %s --check-prefix=SECOND-SYNC

// A loop over items around the loop with the gather: every role has both.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// BOTH-LABEL: tile.kernel @items warps(16)
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
  // BOTH-NOT: tilegpu.channel "before"
  // COPIED-DAG: %[[CONV:.+]] = tilegpu.channel "converted" : !tilegpu.channel<2, [tensor<32x448xbf16>]>
  // BOTH-DAG: %[[HAND:.+]] = tilegpu.channel "handover" : !tilegpu.channel<2, [tensor<16x32xbf16>]>
  // BOTH-DAG: %[[ONCE:.+]] = tilegpu.channel "handover" : !tilegpu.channel<1, [tensor<16xf32>]>
  // BOTH-DAG: %[[ITEM:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16x448xbf16>]>
  // BOTH-NOT: tilegpu.channel "item"

  // The output. Where nobody converts rows once for all, also the query of each
  // item, while the others are at the one before.
  // BOTH: role "second" warps(8)
  // BOTH: scf.for
  // COPIED-NOT: tile.load
  // COPIED-NOT: %[[ITEM]]
  // SECOND: %[[Q:.+]] = tile.load %q
  // SECOND-NEXT: tilegpu.send %[[Q]] to %[[ITEM]]
  // BOTH: scf.for
  // BOTH-NOT: %[[ITEM]]
  // COPIED-DAG: tilegpu.receive %[[CONV]]
  // BOTH-DAG: tilegpu.receive %[[HAND]]
  // BOTH: tilegpu.receive %[[ONCE]]
  // BOTH: tile.store %{{.+}}, %out
  // BOTH: tilegpu.role_end

  // BOTH: role "first" warps(4)
  // BOTH: scf.for
  // BOTH-NOT: tile.load
  // BOTH: %[[RECEIVED:.+]] = tilegpu.receive %[[ITEM]]
  // BOTH-NOT: tile.load
  // BOTH: scf.for
  // BOTH-NOT: tilegpu.receive %[[ITEM]]
  // BOTH: tile.dot %[[RECEIVED]]
  // BOTH: tilegpu.send %{{.+}} to %[[ONCE]]
  // BOTH: tilegpu.role_end

  // Those who convert send for the query, with the indices of the item.
  // BOTH: role "gather" warps(4)
  // BOTH: scf.for %[[T:[a-z0-9]+]] = %
  // BOTH-NOT: tile.load %q
  // COPIED: tilegpu.send_copy %q[%[[T]], %c0, %c0] to %[[ITEM]] : !tile.view<[T, H, D], bf16>
  // SECOND-NOT: %[[ITEM]]
  // BOTH: scf.for
  // BOTH: tile.load %idx
  // BOTH-NOT: %[[ITEM]]
  // COPIED: tilegpu.send %{{.+}} to %[[CONV]]
  // BOTH: tilegpu.role_end

  // Places and phases are counted on by both loops of each role. A copy has two
  // arrivals a thread.
  // LOWERED: %[[RING:.+]] = tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x448xbf16, stride = 912>>
  // LOWERED: %[[FULL:.+]] = tilegpu.alloc "full"
  // LOWERED: tilegpu.mbarrier_init %[[FULL]] {count = 256 : i32}
  // LOWERED: %[[EMPTY:.+]] = tilegpu.alloc "empty"
  // LOWERED: tilegpu.mbarrier_init %[[EMPTY]] {count = 4 : i32}
  // LOWERED: role "second"
  // LOWERED-NOT: tilegpu.mbarrier_{{.*}} %[[EMPTY]]
  // LOWERED: role "first"
  // LOWERED: scf.for {{.*}} iter_args(
  // LOWERED: tilegpu.mbarrier_wait %[[FULL]][
  // LOWERED: tilegpu.stage %[[RING]][
  // LOWERED: scf.for
  // The place is free once the last tile of the item was multiplied, before
  // anything of it is sent or stored.
  // LOWERED: tilegpu.dot
  // LOWERED: scf.yield
  // LOWERED-NEXT: }
  // LOWERED-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]][{{.*}}] {by_warp}
  // LOWERED: tile.store %{{.+}}, %max
  // LOWERED: role "gather"
  // LOWERED: scf.for {{.*}} iter_args(%[[PARITY:[a-z0-9]+]] = %c0_i32{{.*}}, %
  // Ids and the first rows go before the query, for which those who multiply
  // have more time.
  // LOWERED: tile.load %idx
  // LOWERED: tile.load %idx
  // LOWERED-COUNT-2: tilegpu.gather_async
  // LOWERED: %[[FREED:.+]] = arith.xori %[[PARITY]]
  // LOWERED: %[[PLACE:.+]] = tilegpu.stage %[[RING]][
  // LOWERED: tilegpu.mbarrier_wait %[[EMPTY]][{{.*}}], %[[FREED]]
  // LOWERED: tilegpu.copy_async %q[{{.*}}] into %[[PLACE]] signal %[[FULL]][
  // LOWERED: scf.for
  // LOWERED-NOT: tilegpu.copy_async
  // LOWERED: tilegpu.role_end

  // Nobody writes a query over one that is still read: mbarriers see to it, and
  // no warp of either role waits for the others of it.
  // SYNC: role "first"
  // SYNC: scf.for
  // SYNC-NOT: tilegpu.sync
  // SYNC: tilegpu.load_shared
  // SYNC-NOT: tilegpu.sync
  // SYNC: scf.for
  // SYNC: role "gather"
  // SYNC-NOT: tilegpu.sync
  // SYNC: tilegpu.copy_async
  // SYNC-NOT: tilegpu.sync
  // SYNC: tilegpu.role_end

  // SECOND-SYNC: %[[RING:.+]] = tilegpu.alloc "item"
  // SECOND-SYNC: %[[FULL:.+]] = tilegpu.alloc "full"
  // SECOND-SYNC: tilegpu.mbarrier_init %[[FULL]] {count = 8 : i32}
  // SECOND-SYNC: %[[EMPTY:.+]] = tilegpu.alloc "empty"
  // SECOND-SYNC: tilegpu.mbarrier_init %[[EMPTY]] {count = 4 : i32}
  // SECOND-SYNC: role "second"
  // SECOND-SYNC: scf.for
  // SECOND-SYNC-NEXT: tile.load %q
  // SECOND-SYNC-NOT: tilegpu.sync
  // SECOND-SYNC: tilegpu.mbarrier_wait %[[EMPTY]][
  // SECOND-SYNC-NOT: tilegpu.sync
  // SECOND-SYNC: tilegpu.store_shared
  // SECOND-SYNC-NOT: tilegpu.sync
  // SECOND-SYNC: tilegpu.mbarrier_arrive %[[FULL]][{{.*}}] {by_warp}
  // SECOND-SYNC: scf.for
  // SECOND-SYNC: tilegpu.role_end
  // SECOND-SYNC: role "first"
  // SECOND-SYNC: scf.for
  // SECOND-SYNC-NOT: tilegpu.sync
  // SECOND-SYNC: tilegpu.mbarrier_wait %[[FULL]][
  // SECOND-SYNC-NOT: tilegpu.sync
  // SECOND-SYNC: scf.for
  // SECOND-SYNC: tilegpu.dot
  // SECOND-SYNC: scf.yield
  // SECOND-SYNC-NEXT: }
  // SECOND-SYNC-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]][
  // SECOND-SYNC: tilegpu.role_end
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
