// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands | FileCheck %s
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands --canonicalize --tilegpu-plan-shared=target=sm_90a --tilegpu-insert-syncs | FileCheck %s --check-prefix=SYNC

// A query that another role sends for each item: its first columns are read once
// an item, before the inner loop, and the rest in each iteration.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @items
// CHECK: %[[RING:.+]] = tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x448xbf16
// CHECK: %[[FULL:.+]] = tilegpu.alloc "full"
// CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty"
// CHECK: role "first"
// CHECK: scf.for
// CHECK: tilegpu.mbarrier_wait %[[FULL]][
// CHECK: %[[Q:.+]] = tilegpu.stage %[[RING]][
// CHECK: %[[PART:.+]] = tilegpu.view %[[Q]] + 0 : {{.*}} -> !tilegpu.buffer<16x224xbf16
// CHECK: %[[HELD:.+]] = tilegpu.load_shared %[[PART]]
// CHECK: scf.for
// CHECK-NOT: tilegpu.stage %[[RING]]
// CHECK: tilegpu.dot %[[HELD]]
// CHECK: %[[REST:.+]] = tilegpu.view %[[Q]] + 448 : {{.*}} -> !tilegpu.buffer<16x224xbf16
// CHECK: tilegpu.dot %[[REST]]
// CHECK: scf.yield
// CHECK: tilegpu.mbarrier_arrive %[[EMPTY]][
// CHECK: tilegpu.role_end
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

// -----

// Another query in each iteration: nothing can be held.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @changes
// CHECK: role "first"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tilegpu.store_shared %{{.+}}, %[[Q:.+]] : tensor<16x448xbf16
// CHECK: tilegpu.dot %[[Q]], %{{.+}} : !tilegpu.buffer<16x448xbf16
// CHECK: tilegpu.role_end
tile.kernel @changes warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %max : !vm)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  %T = tile.dim %idx, 0 : !vid
  %W = tile.dim %idx, 1 : !vid
  %first = tile.program_id 0 : index
  %step = tile.num_programs 0 : index
  scf.for %t = %first to %T step %step {
    %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
    %m_ = tile.full %f0 : f32 -> tensor<16xf32>
    %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
    %m, %o = scf.for %i = %c0 to %W step %c32 iter_args(%m0 = %m_, %o0 = %o_) -> (tensor<16xf32>, tensor<16x448xf32>) {
      %ids = tile.load %idx[%t, %i] limit %W else %skip : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %query = tile.load %q[%t, %i, %c0] : !vq -> tensor<16x448xbf16>
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

// -----

// What is loaded between two lists is made by who multiplies it, and held by
// the loop behind it.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>

// CHECK-LABEL: tile.kernel @between
// CHECK: role "first"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: tile.load %q2
// CHECK: tilegpu.store_shared %{{.+}}, %[[Q:.+]] : tensor<16x64xbf16
// CHECK: %[[PART:.+]] = tilegpu.view %[[Q]] + 0
// CHECK: %[[HELD:.+]] = tilegpu.load_shared %[[PART]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[HELD]]
// CHECK: tilegpu.role_end

// Nobody stores a query over one that is still read.
// SYNC-LABEL: tile.kernel @between
// SYNC: role "first"
// SYNC: scf.for
// SYNC: tile.load %q2
// SYNC: tilegpu.sync role
// SYNC-NEXT: tilegpu.store_shared
// SYNC: tilegpu.sync role
// SYNC: tilegpu.load_shared
// SYNC: scf.for
// SYNC: tilegpu.role_end
tile.kernel @between warps(16) (%q : !vq, %q2 : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x64xbf16>
    %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
    %o_ = tile.full %f0 : f32 -> tensor<16x64xf32>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x64xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows rope : !rows -> tensor<32x64xbf16>
      %kt = tile.transpose %k : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o2 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x64xbf16>, tensor<16x64xf32>
      scf.yield %o2 : tensor<16x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %query2 = tile.load %q2[%t, %c0, %c0] : !vq -> tensor<16x64xbf16>
    %o3 = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o) -> (tensor<16x64xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows rope : !rows -> tensor<32x64xbf16>
      %kt = tile.transpose %k : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %s = tile.dot %query2, %kt, %zero : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o4 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x64xbf16>, tensor<16x64xf32>
      scf.yield %o4 : tensor<16x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o3, %out[%t, %c0, %c0] : tensor<16x64xf32>, !vo
  }
  tile.return
}

// -----

// What took the place of a record that was copied is held like it, through its
// view; what the loop over items carries is handed to the inner one, and counts
// there only.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @made
// CHECK: %[[RING:.+]] = tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x448xbf16
// CHECK: %[[FULL:.+]] = tilegpu.alloc "full"
// CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty"
// CHECK: role "first" warps(4) registers(128)
// CHECK: scf.for {{.*}} -> (tensor<16x32xf32
// CHECK: tilegpu.mbarrier_wait %[[FULL]][
// CHECK: %[[Q:.+]] = tilegpu.stage %[[RING]][
// CHECK: %[[PLACE:.+]] = tilegpu.view %[[Q]] + 0 : {{.*}} -> !tilegpu.buffer<16x448xf16
// CHECK: tilegpu.store_shared %{{.+}}, %[[PLACE]]
// CHECK-NEXT: tilegpu.sync role
// CHECK-NEXT: %[[PART:.+]] = tilegpu.view %[[PLACE]] + 0 : {{.*}} -> !tilegpu.buffer<16x224xf16
// CHECK-NEXT: %[[HELD:.+]] = tilegpu.load_shared %[[PART]] : {{.*}} -> tensor<16x224xf16
// CHECK-NEXT: scf.for
// CHECK: tilegpu.dot %[[HELD]]
// CHECK: %[[REST:.+]] = tilegpu.view %[[PLACE]] + 448 :
// CHECK: tilegpu.dot %[[REST]]
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]][
// CHECK: tilegpu.role_end
// CHECK: role "gather"
// CHECK: tilegpu.copy_async %q[

// The barriers stand already; none is added around the record.
// SYNC-LABEL: tile.kernel @made
// SYNC: role "first"
// SYNC: scf.for
// SYNC: tilegpu.mbarrier_wait
// SYNC: tilegpu.sync role
// SYNC-NEXT: tilegpu.load_shared
// SYNC-NOT: tilegpu.load_shared
// SYNC: tilegpu.sync role
// SYNC-NEXT: tilegpu.store_shared
// SYNC-NEXT: tilegpu.sync role
// SYNC-NEXT: tilegpu.view
// SYNC-NEXT: tilegpu.load_shared
// SYNC-NEXT: scf.for
// SYNC-NOT: tilegpu.sync
// SYNC: tilegpu.role_end
tile.kernel @made warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %sums : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
  %all = scf.for %t = %c0 to %n step %c1 iter_args(%all0 = %zero) -> (tensor<16x32xf32>) {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %q32 = arith.extf %query : tensor<16x448xbf16> to tensor<16x448xf32>
    %q16 = arith.truncf %q32 : tensor<16x448xf32> to tensor<16x448xf16>
    %all2, %o = scf.for %i = %c0 to %n step %c32 iter_args(%all1 = %all0, %o0 = %o_) -> (tensor<16x32xf32>, tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %k32 = arith.extf %k : tensor<32x448xbf16> to tensor<32x448xf32>
      %k16 = arith.truncf %k32 : tensor<32x448xf32> to tensor<32x448xf16>
      %kt = tile.transpose %k16 : tensor<32x448xf16> -> tensor<448x32xf16>
      %s = tile.dot %q16, %kt, %zero : tensor<16x448xf16>, tensor<448x32xf16>, tensor<16x32xf32>
      %all3 = arith.addf %all1, %s : tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o2 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %all3, %o2 : tensor<16x32xf32>, tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
    scf.yield %all2 : tensor<16x32xf32>
  }
  tile.store %all, %sums[%c0, %c0, %c0] : tensor<16x32xf32>, !vo
  tile.return
}
