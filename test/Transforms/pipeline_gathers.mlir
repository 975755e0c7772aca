// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

// Two stages: both are filled before the loop, once the ids of both are on their
// way; an iteration, but the first, issues the next tile before it waits for its
// own, and loads the ids of the one after.
// CHECK-LABEL: @two
tile.kernel @two warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: %[[ROWS:.+]] = tilegpu.alloc "rows" : !tilegpu.ring<2, !tilegpu.buffer<32x576xi8, stride = 592>>
  // CHECK: tilegpu.alloc "scales" : !tilegpu.ring<2, !tilegpu.buffer<32x8xi8>>
  // CHECK: tilegpu.alloc "slots" : !tilegpu.ring<2, !tilegpu.buffer<32xi32>>
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 256 : i32}
  // CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[EMPTY]] {count = 128 : i32}
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-DAG: %[[FIRST:.+]] = tile.load %idx[%c0]
  // CHECK-DAG: %[[AHEAD:.+]] = tile.load %idx[%{{[0-9]+}}]
  // CHECK: scf.if
  // CHECK: tilegpu.gather_async %kv[%[[FIRST]]]
  // CHECK-NOT: tile.load
  // CHECK: scf.if
  // CHECK: tilegpu.gather_async %kv[%[[AHEAD]]]
  // CHECK: scf.for {{.*}} iter_args(%[[IDS:.+]] = %[[AHEAD]], %[[STAGE:.+]] = %{{.+}}, %[[PARITY:.+]] = %{{.+}})
  // CHECK: scf.if
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]][
  // CHECK: tilegpu.gather_async %kv[%[[IDS]]]
  // CHECK: tile.load %idx
  // CHECK: tilegpu.mbarrier_wait %[[FULL]][%[[STAGE]]], %[[PARITY]]
  scf.for %n = %c0 to %W step %c32 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    // CHECK: tilegpu.view %{{.*}} + 448 : {{.*}} -> !tilegpu.buffer<32x64xbf16, stride = 592>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
    // CHECK: tile.store
    tile.store %kr, %o[%n, %c0] : tensor<32x64xbf16>, !tile.view<[N, D], bf16>
  // CHECK: tilegpu.mbarrier_arrive %[[EMPTY]][%[[STAGE]]]
  // CHECK: scf.yield
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// Three stages: three tiles before the loop.
// CHECK-LABEL: @three
tile.kernel @three warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: tilegpu.ring<3, !tilegpu.buffer<32x576xi8
  // CHECK: tilegpu.mbarrier_init {{.*}}{count = 64 : i32} : !tilegpu.mbarriers<3>
  // CHECK: tilegpu.mbarrier_init {{.*}}{count = 32 : i32} : !tilegpu.mbarriers<3>
  // CHECK-COUNT-3: tilegpu.gather_async
  // CHECK: scf.for
  // CHECK-COUNT-1: tilegpu.gather_async
  // CHECK-NOT: tilegpu.gather_async
  scf.for %n = %c0 to %W step %c32 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
    tile.store %kr, %o[%n, %c0] : tensor<32x64xbf16>, !tile.view<[N, D], bf16>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  tile.return
}

// -----

// One stage, also where no pipeline is asked for: nothing is issued before the
// loop, and a tile is waited for right after its issue.
// CHECK-LABEL: @one
tile.kernel @one warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: tilegpu.ring<1,
  // CHECK-NOT: tilegpu.gather_async
  // CHECK: scf.for
  // CHECK: tilegpu.gather_async
  // CHECK: tilegpu.mbarrier_wait
  scf.for %n = %c0 to %W step %c32 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
    tile.store %kr, %o[%n, %c0] : tensor<32x64xbf16>, !tile.view<[N, D], bf16>
  }
  tile.return
}

// -----

// Two gathers in one loop have a ring each and share the mbarriers, which count
// the arrivals of both.
// CHECK-LABEL: @both
tile.kernel @both warps(1) (%kv : !tile.pool<"dsv4">, %kv2 : !tile.pool<"dsv3_2">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: tilegpu.alloc "rows" : !tilegpu.ring<2, !tilegpu.buffer<16x576xi8
  // CHECK: tilegpu.alloc "scales"
  // Scales of dsv3_2 stand in the row.
  // CHECK: tilegpu.alloc "rows" : !tilegpu.ring<2, !tilegpu.buffer<16x656xi8
  // CHECK-NOT: tilegpu.alloc "scales"
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full"
  // CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 128 : i32}
  // CHECK: tilegpu.mbarrier_init %{{.+}} {count = 32 : i32}
  // CHECK: scf.for {{.*}} iter_args(%[[IDS0:[^ ]+]] = %{{[^ ]+}}, %[[IDS1:[^ ]+]] =
  // CHECK: tilegpu.mbarrier_wait
  // CHECK: tilegpu.gather_async %kv[%[[IDS0]]]
  // CHECK: tilegpu.gather_async %kv2[%[[IDS1]]]
  // CHECK: tilegpu.mbarrier_wait
  // CHECK-NOT: tilegpu.mbarrier_wait
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    %n2 = arith.addi %n, %W : index
    %ids2 = tile.load %idx[%n2] : !tile.view<[W], i32> -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %rows2, %ok2 = tile.gather %kv2[%ids2] : !tile.pool<"dsv3_2">, tensor<16xi32> -> !tile.rows<"dsv3_2", [16]>, tensor<16xi1>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xbf16>
    tile.store %kr, %o[%n, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
    %kn = tile.dequant %rows2 nope : !tile.rows<"dsv3_2", [16]> -> tensor<16x512xbf16>
    tile.store %kn, %o[%n, %c0] : tensor<16x512xbf16>, !tile.view<[N, D], bf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// Outside of a loop a gather is issued and waited for where it stands, also
// under a condition.
// CHECK-LABEL: @in_place
tile.kernel @in_place warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>, %take : i1) {
  %c0 = arith.constant 0 : index
  // CHECK: tilegpu.mbarrier_init
  // CHECK: tilegpu.mbarrier_init
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK: %[[IDS:.+]] = tile.load %idx
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  // CHECK: tilegpu.gather_async %kv[%[[IDS]]]
  // CHECK: tilegpu.mbarrier_wait
  // CHECK: %[[SLOTS:.+]] = tilegpu.load_shared
  // CHECK: arith.cmpi sgt, %[[SLOTS]]
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
  // CHECK: tilegpu.dequant "dsv4"
  %kn = tile.dequant %rows nope : !tile.rows<"dsv4", [16]> -> tensor<16x448xbf16>
  tile.store %kn, %o[%c0, %c0] : tensor<16x448xbf16>, !tile.view<[N, D], bf16>
  // CHECK: scf.if %take
  scf.if %take {
    // CHECK: tilegpu.gather_async
    // CHECK: tilegpu.mbarrier_wait
    %rows1, %ok1 = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %kr = tile.dequant %rows1 rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xbf16>
    tile.store %kr, %o[%c0, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
  }
  tile.return
}

// -----

// A store to another argument, also one of ids, is no obstacle; nor is one to
// the view of the ids once the loop is over, or where the ids come from before.
// CHECK-LABEL: @other_store
tile.kernel @other_store warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %other : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  %same = tile.load %other[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  // CHECK: scf.for
  // CHECK-COUNT-2: tilegpu.gather_async
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %rows1, %ok1 = tile.gather %kv[%same] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    tile.store %ids, %other[%n] : tensor<16xi32>, !tile.view<[W], i32>
  }
  // CHECK: tile.store %{{.*}}, %idx
  tile.store %same, %idx[%c0] : tensor<16xi32>, !tile.view<[W], i32>
  tile.return
}
