// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

// By bulk copies a warp arrives once; with scales in a footer every row's first
// thread arrives too: 4 + 32. Readers arrive as ever.
// CHECK-LABEL: @footer
tile.kernel @footer warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: tilegpu.mbarrier_init %[[FULL:.+]] {count = 36 : i32}
  // CHECK: tilegpu.mbarrier_init %{{.+}} {count = 128 : i32}
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%{{.+}}] {bulk}
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%{{.+}}] {bulk}
  // CHECK: scf.for
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%{{.+}}] {bulk}
  scf.for %n = %c0 to %W step %c32 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %kv[%ids] {bulk} : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
    tile.store %kr, %o[%n, %c0] : tensor<32x64xbf16>, !tile.view<[N, D], bf16>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// Two gathers share mbarriers, each in its own form: 2 x 32 threads, and one
// warp whose scales stand in the rows. Outside of a loop as well.
// CHECK-LABEL: @both
tile.kernel @both warps(1) (%kv : !tile.pool<"dsv4">, %kv2 : !tile.pool<"dsv3_2">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  // CHECK: tilegpu.mbarrier_init %{{.+}} {count = 65 : i32}
  // CHECK: tilegpu.mbarrier_init %{{.+}} {count = 32 : i32}
  // CHECK: tilegpu.mbarrier_init %[[ALONE:.+]] {count = 1 : i32}
  // CHECK-NEXT: tilegpu.sync cta {proxy_fence}
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %rows2, %ok2 = tile.gather %kv2[%ids] {bulk} : !tile.pool<"dsv3_2">, tensor<16xi32> -> !tile.rows<"dsv3_2", [16]>, tensor<16xi1>
    %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xbf16>
    tile.store %kr, %o[%n, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
    %kr2 = tile.dequant %rows2 rope : !tile.rows<"dsv3_2", [16]> -> tensor<16x64xbf16>
    tile.store %kr2, %o[%n, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
  }
  // CHECK: tilegpu.gather_async %kv2{{.*}} signal %[[ALONE]][%{{.+}}] {bulk}
  %last = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows3, %ok3 = tile.gather %kv2[%last] {bulk} : !tile.pool<"dsv3_2">, tensor<16xi32> -> !tile.rows<"dsv3_2", [16]>, tensor<16xi1>
  %kr3 = tile.dequant %rows3 rope : !tile.rows<"dsv3_2", [16]> -> tensor<16x64xbf16>
  tile.store %kr3, %o[%c0, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
  tile.return
}
