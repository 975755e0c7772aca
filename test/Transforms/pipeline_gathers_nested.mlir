// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

// The loop around carries stage and parity on. Copies before the inner loop go
// to the next stages, once these have been read.
// CHECK-LABEL: @items
tile.kernel @items warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[T, W], i32>, %o : !tile.view<[T, N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %T = tile.dim %idx, 0 : !tile.view<[T, W], i32>
  %W = tile.dim %idx, 1 : !tile.view<[T, W], i32>
  %first = tile.program_id 0 : index
  %step = tile.num_programs 0 : index
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full"
  // CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty"
  // CHECK: %[[ALL:.+]]:2 = scf.for {{.*}} iter_args(%[[S:.+]] = %c0_i32{{.*}}, %[[P:.+]] = %c0_i32{{.*}})
  // CHECK: %[[S1:.+]] = arith.select
  // CHECK: %[[P1:.+]] = arith.select
  // CHECK: tile.load %idx[%{{.+}}, %c0]
  // CHECK-NEXT: tile.load %idx
  // CHECK-NEXT: scf.if
  // CHECK: %[[FREED:.+]] = arith.xori %[[P]]
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[S]]], %[[FREED]]
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%[[S]]]
  // CHECK: scf.if
  // CHECK: %[[FREED1:.+]] = arith.xori %[[P1]]
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[S1]]], %[[FREED1]]
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%[[S1]]]
  // CHECK: %[[IN:.+]]:3 = scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %[[STAGE:.+]] = %[[S]], %[[PARITY:.+]] = %[[P]])
  // CHECK: tilegpu.mbarrier_wait %[[FULL]][%[[STAGE]]], %[[PARITY]]
  // CHECK: scf.yield %[[IN]]#1, %[[IN]]#2
  scf.for %t = %first to %T step %step {
    scf.for %n = %c0 to %W step %c32 {
      %ids = tile.load %idx[%t, %n] : !tile.view<[T, W], i32> -> tensor<32xi32>
      %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
      %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
      tile.store %kr, %o[%t, %n, %c0] : tensor<32x64xbf16>, !tile.view<[T, N, D], bf16>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
  }
  tile.return
}

// -----

// One stage: nothing before the inner loop. Two loops around carry the parity,
// and what they carry besides stays.
// CHECK-LABEL: @three_deep
tile.kernel @three_deep warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[T, W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %T = tile.dim %idx, 0 : !tile.view<[T, W], i32>
  %W = tile.dim %idx, 1 : !tile.view<[T, W], i32>
  // CHECK: %[[A:.+]]:3 = scf.for {{.*}} iter_args(%[[AT:.+]] = %c0, %[[S0:.+]] = %{{.+}}, %[[P0:.+]] = %{{.+}})
  // CHECK: %[[B:.+]]:2 = scf.for {{.*}} iter_args(%[[S1:.+]] = %[[S0]], %[[P1:.+]] = %[[P0]])
  // CHECK-NOT: tilegpu.gather_async
  // CHECK: %[[C:.+]]:3 = scf.for {{.*}}, %{{.+}} = %[[S1]], %{{.+}} = %[[P1]])
  // CHECK: tilegpu.gather_async
  // CHECK: scf.yield %[[C]]#1, %[[C]]#2
  // CHECK: scf.yield %{{.+}}, %[[B]]#0, %[[B]]#1
  %end = scf.for %t = %c0 to %T step %c1 iter_args(%at = %c0) -> (index) {
    scf.for %u = %c0 to %T step %c1 {
      scf.for %n = %c0 to %W step %c16 {
        %ids = tile.load %idx[%t, %n] : !tile.view<[T, W], i32> -> tensor<16xi32>
        %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
        %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xbf16>
        tile.store %kr, %o[%at, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
      }
    }
    %next = arith.addi %at, %W : index
    scf.yield %next : index
  }
  tile.return
}

// -----

// A loop with one inside counts the stages of both; one behind it has stages of
// its own.
!vid  = !tile.view<[W], i32>
!vo   = !tile.view<[N, D], f32>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!kr   = tensor<16x64xbf16>
!sum  = tensor<16x64xf32>
// CHECK-LABEL: @behind_a_nest
// CHECK-COUNT-3: tilegpu.alloc "rows"
// CHECK-NOT: tilegpu.alloc "rows"
// CHECK: %[[A:.+]]:6 = scf.for
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[A]]#0, %{{.+}} = %{{.+}}, %{{.+}} = %c0_i32{{.*}}, %{{.+}} = %c0_i32
tile.kernel @behind_a_nest warps(1) (%kv : !pool, %idx : !vid, %idx2 : !vid, %idx3: !vid, %o : !vo) {
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
    %in = scf.for %m = %c0 to %W2 step %c16 iter_args(%s2 = %next) -> (!sum) {
      %ids2 = tile.load %idx2[%m] : !vid -> tensor<16xi32>
      %rows2, %ok2 = tile.gather %kv[%ids2] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
      %kk = tile.dequant %rows2 rope : !rows -> !kr
      %kk32 = arith.extf %kk : !kr to !sum
      %next2 = arith.addf %s2, %kk32 : !sum
      scf.yield %next2 : !sum
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    scf.yield %in : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  %b = scf.for %n = %c0 to %W2 step %c16 iter_args(%s = %a) -> (!sum) {
    %ids = tile.load %idx3[%n] : !vid -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
    %k = tile.dequant %rows rope : !rows -> !kr
    %k32 = arith.extf %k : !kr to !sum
    %next = arith.addf %s, %k32 : !sum
    scf.yield %next : !sum
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %b, %o[%c0, %c0] : !sum, !vo
  tile.return
}
