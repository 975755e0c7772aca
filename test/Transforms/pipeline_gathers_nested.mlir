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
