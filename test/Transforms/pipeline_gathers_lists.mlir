// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

// Two lists, one after the other, share stages. The ids that the second begins
// with are on their way while the first is walked; its rows come behind that
// loop, to the stages behind its last, once these are read; where the first has
// nothing, they come in its place.
!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>

// CHECK-LABEL: tile.kernel @second_ids
// CHECK: %[[ROWS:.+]] = tilegpu.alloc "rows"
// CHECK-NOT: tilegpu.alloc "rows"
// CHECK: %[[FULL:.+]] = tilegpu.alloc "full"
// CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 64
// CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty"
// CHECK: tilegpu.mbarrier_init %[[EMPTY]] {count = 32
// CHECK-NEXT: tilegpu.sync cta
// CHECK-NOT: tilegpu.mbarrier_init
// CHECK-DAG: %[[W:.+]] = tile.dim %idx, 0
// CHECK-DAG: %[[W2:.+]] = tile.dim %idx2, 0
// CHECK-DAG: %[[IDS:.+]] = tile.load %idx2[%c0]
// CHECK-DAG: %[[AHEAD:.+]] = tile.load %idx2[%{{[0-9]+}}]
// CHECK-DAG: %[[NONE:.+]] = arith.cmpi sge, %c0, %[[W]]
// CHECK-DAG: %[[HAS:.+]] = arith.cmpi slt, %{{.+}}, %[[W2]]
// CHECK-DAG: %[[EARLY:.+]] = arith.andi %[[NONE]], %[[HAS]]
// CHECK: scf.if %[[EARLY]] {
// CHECK-NOT: tilegpu.mbarrier_wait
// CHECK: tilegpu.stage %[[ROWS]][%c0_i32
// CHECK: tilegpu.gather_async %kv[%[[IDS]]]{{.*}} signal %[[FULL]][%c0_i32
// CHECK: scf.if
// CHECK-NOT: tilegpu.mbarrier_wait
// CHECK: tilegpu.gather_async %kv[%[[AHEAD]]]{{.*}} signal %[[FULL]][%c1_i32
// CHECK: %[[FIRST:.+]]:4 = scf.for
// CHECK: tilegpu.gather_async %kv[
// CHECK: scf.yield
// CHECK-NOT: tile.load
// CHECK: scf.if
// CHECK: %[[FREED:.+]] = arith.xori %[[FIRST]]#3,
// CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[FIRST]]#2], %[[FREED]]
// CHECK: tilegpu.stage %[[ROWS]][%[[FIRST]]#2]
// CHECK: tilegpu.gather_async %kv[%[[IDS]]]{{.*}} signal %[[FULL]][%[[FIRST]]#2]
// CHECK-NOT: tile.load
// CHECK: scf.if
// CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[NEXT:.+]]], %
// CHECK: tilegpu.gather_async %kv[%[[AHEAD]]]{{.*}} signal %[[FULL]][%[[NEXT]]]
// CHECK-NOT: tile.load
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[FIRST]]#0, %{{.+}} = %[[AHEAD]], %{{.+}} = %[[FIRST]]#2, %{{.+}} = %[[FIRST]]#3)
tile.kernel @second_ids warps(1) (%kv : !pool, %idx : !vid, %idx2 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W = tile.dim %idx, 0 : !vid
  %W2 = tile.dim %idx2, 0 : !vid
  %zero = tile.full %f0 : f32 -> !sum
  %a = scf.for %n = %c0 to %W step %c16 iter_args(%s = %zero) -> (!sum) {
    %ids = tile.load %idx[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %b = scf.for %n = %c0 to %W2 step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx2[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %b, %o[%c0, %c0] : !sum, !vo
  tile.return
}

// -----

// A store may write what a load reads, in the loop before or beside it; nor does
// a load pass what it must wait for.
!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], bf16>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>

// CHECK-LABEL: tile.kernel @stored_before
// CHECK-NOT: tile.load %idx2
// CHECK: scf.for
// CHECK: tile.store
// CHECK: scf.yield
// CHECK: tile.load %idx2
// CHECK: tile.load %idx2
// CHECK: scf.if
// CHECK: tilegpu.gather_async
// CHECK: scf.for
// CHECK: scf.yield
// CHECK-NOT: tile.load
// CHECK: tile.store %{{.+}}, %o
// CHECK: tile.load %idx3
// CHECK: scf.for
// CHECK: scf.yield
// CHECK-NOT: tile.load
// CHECK: tile.wait_dependencies
// CHECK: tile.load %idx4
// CHECK: scf.for
tile.kernel @stored_before warps(1) (%kv : !pool, %idx : !vid, %idx2 : !vid, %idx3 : !vid, %idx4 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : bf16
  %W = tile.dim %idx, 0 : !vid
  %zero = tile.full %f0 : bf16 -> !kr
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    tile.store %k, %o[%n, %c0] : !kr, !vo
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %b = scf.for %n = %c0 to %W step %c16 iter_args(%s = %zero) -> (!kr) {
    %ids = tile.load %idx2[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %next = arith.addf %s, %k : !kr
    scf.yield %next : !kr
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %b, %o[%c0, %c0] : !kr, !vo
  %c = scf.for %n = %c0 to %W step %c16 iter_args(%s = %zero) -> (!kr) {
    %ids = tile.load %idx3[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %next = arith.addf %s, %k : !kr
    scf.yield %next : !kr
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.wait_dependencies
  %d = scf.for %n = %c0 to %W step %c16 iter_args(%s = %c) -> (!kr) {
    %ids = tile.load %idx4[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %next = arith.addf %s, %k : !kr
    scf.yield %next : !kr
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %d, %o[%c16, %c0] : !kr, !vo
  tile.return
}

// -----

// Nor does it pass the loop that it follows from.
!vid  = !tile.view<[W], i32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>

// CHECK-LABEL: tile.kernel @from_the_first
// CHECK: %[[FIRST:.+]]:{{.+}} = scf.for
// CHECK: scf.yield
// CHECK: tile.load %idx2[%[[FIRST]]#0]
// CHECK: scf.for
tile.kernel @from_the_first warps(1) (%kv : !pool, %idx : !vid, %idx2 : !vid, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !vid
  %at = scf.for %n = %c0 to %W step %c16 iter_args(%s = %c0) -> (index) {
    %ids = tile.load %idx[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %next = arith.addi %s, %n : index
    scf.yield %next : index
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  scf.for %n = %at to %W step %c16 {
    %ids = tile.load %idx2[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> tensor<16x64xbf16>
    tile.store %k, %o[%n, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// Rows of another shape have a ring of their own, and wait for the loop.
!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>

// CHECK-LABEL: tile.kernel @another_format
// CHECK-COUNT-2: tilegpu.alloc "rows"
// CHECK: %[[FIRST:.+]]:4 = scf.for
// CHECK: scf.yield
// CHECK: scf.if
// CHECK-NOT: tilegpu.mbarrier_wait
// CHECK: tilegpu.gather_async %kv2[
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[FIRST]]#0, %{{.+}} = %{{.+}}, %{{.+}} = %c0_i32{{.*}}, %{{.+}} = %c0_i32
tile.kernel @another_format warps(1) (%kv : !pool, %kv2 : !tile.pool<"dsv3_2">, %idx : !vid, %idx2 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W = tile.dim %idx, 0 : !vid
  %zero = tile.full %f0 : f32 -> !sum
  %a = scf.for %n = %c0 to %W step %c16 iter_args(%s = %zero) -> (!sum) {
    %ids = tile.load %idx[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %k = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %b = scf.for %n = %c0 to %W step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx2[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv2[%ids] : !tile.pool<"dsv3_2">, tensor<16xi32> -> !tile.rows<"dsv3_2", [16]>, tensor<16xi1>
    %k = tile.dequant %rows rope : !tile.rows<"dsv3_2", [16]> -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %b, %o[%c0, %c0] : !sum, !vo
  tile.return
}

// -----

!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>

// Three lists in three stages: each goes on where the one before it stopped; only
// the first two can be the first to have a tile.
// CHECK-LABEL: tile.kernel @three
// CHECK: tilegpu.alloc "rows" : !tilegpu.ring<3
// CHECK-NOT: tilegpu.alloc "rows"
// CHECK-COUNT-6: tilegpu.gather_async
// CHECK: %[[A:.+]]:4 = scf.for
// CHECK: scf.yield
// CHECK-COUNT-3: tilegpu.mbarrier_wait %{{.+}}[
// CHECK: %[[B:.+]]:4 = scf.for {{.*}} iter_args(%{{.+}} = %[[A]]#0, %{{.+}}, %{{.+}} = %[[A]]#2, %{{.+}} = %[[A]]#3)
// CHECK: scf.yield
// CHECK-COUNT-3: tilegpu.mbarrier_wait %{{.+}}[
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[B]]#0, %{{.+}}, %{{.+}} = %[[B]]#2, %{{.+}} = %[[B]]#3)
tile.kernel @three warps(1) (%kv : !pool, %idx0 : !vid, %idx1 : !vid, %idx2 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W0 = tile.dim %idx0, 0 : !vid
  %W1 = tile.dim %idx1, 0 : !vid
  %W2 = tile.dim %idx2, 0 : !vid
  %zero = tile.full %f0 : f32 -> !sum
  %a = scf.for %n = %c0 to %W0 step %c16 iter_args(%s = %zero) -> (!sum) {
    %ids = tile.load %idx0[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %b = scf.for %n = %c0 to %W1 step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx1[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  %c = scf.for %n = %c0 to %W2 step %c16 iter_args(%s = %b) -> (!sum) {
    %ids = tile.load %idx2[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  tile.store %c, %o[%c0, %c0] : !sum, !vo
  tile.return
}

// -----

!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>

// One stage: nothing is issued before the loops, and the second waits for what
// the first has read.
// CHECK-LABEL: tile.kernel @one_stage
// CHECK: tilegpu.alloc "rows" : !tilegpu.ring<1
// CHECK-NOT: tilegpu.gather_async
// CHECK: %[[A:.+]]:4 = scf.for
// CHECK: scf.yield
// CHECK-NOT: tilegpu.gather_async
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[A]]#0, %{{.+}}, %{{.+}} = %[[A]]#2, %{{.+}} = %[[A]]#3)
// CHECK: tilegpu.mbarrier_wait
// CHECK-NEXT: tilegpu.stage
tile.kernel @one_stage warps(1) (%kv : !pool, %idx0 : !vid, %idx1 : !vid, %idx2 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W0 = tile.dim %idx0, 0 : !vid
  %W1 = tile.dim %idx1, 0 : !vid
  %W2 = tile.dim %idx2, 0 : !vid
  %zero = tile.full %f0 : f32 -> !sum
  %a = scf.for %n = %c0 to %W0 step %c16 iter_args(%s = %zero) -> (!sum) {
    %ids = tile.load %idx0[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 1>}
  %b = scf.for %n = %c0 to %W1 step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx1[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 1>}
  tile.store %b, %o[%c0, %c0] : !sum, !vo
  tile.return
}

// -----

!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>

// As the loops compare.
// CHECK-LABEL: tile.kernel @unsigned
// CHECK-NOT: arith.cmpi s{{lt|ge}}
// CHECK: scf.for unsigned
// CHECK-NOT: arith.cmpi s{{lt|ge}}
// CHECK: scf.for unsigned
// CHECK-NOT: arith.cmpi s{{lt|ge}}
// CHECK: tile.return
tile.kernel @unsigned warps(1) (%kv : !pool, %idx0 : !vid, %idx1 : !vid, %idx2 : !vid, %o : !vo) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W0 = tile.dim %idx0, 0 : !vid
  %W1 = tile.dim %idx1, 0 : !vid
  %W2 = tile.dim %idx2, 0 : !vid
  %zero = tile.full %f0 : f32 -> !sum
  %a = scf.for unsigned %n = %c0 to %W0 step %c16 iter_args(%s = %zero) -> (!sum) {
    %ids = tile.load %idx0[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %b = scf.for unsigned %n = %c0 to %W1 step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx1[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %b, %o[%c0, %c0] : !sum, !vo
  tile.return
}
