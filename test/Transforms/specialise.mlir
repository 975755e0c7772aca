// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -tile-specialise="kernel=scores params='FMT=dsv4 BH=32 SPLIT=true'" | FileCheck %s
// RUN: mlatile-opt %s -tile-specialise="kernel=scores params=FMT=dsv3_2,BH=16" | FileCheck %s --check-prefix=OTHER
// RUN: mlatile-opt %s -mlir-print-op-generic -emit-bytecode | mlatile-opt -pass-pipeline='builtin.module(tile-specialise{kernel=scores params="FMT=dsv4 BH=32 SPLIT=true"})' | FileCheck %s

!v   = !tile.view<[T, BH, NOPE], bf16>
!q   = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!k   = tensor<?x?xbf16, #tile.dims<BN, NOPE>>
!kt  = tensor<?x?xbf16, #tile.dims<NOPE, BN>>
!s   = tensor<?x?xf32, #tile.dims<BH, BN>>
!ids = tensor<?xi32, #tile.dims<BN>>
!ok  = tensor<?xi1, #tile.dims<BN>>

// Given values, defaults and fields of the format; the names are gone, free
// names of views stay.
// CHECK-NOT: #tile.dims
// CHECK: tile.kernel @scores warps(8)(%q: !tile.view<[T, 32, 448], bf16>, %kv: !tile.pool<"dsv4">, %idx: !tile.view<[T, W], i32>, %out: !tile.view<[T, H, W], f32>)
// CHECK-SAME: attributes {tile.bound = {BH = 32 : index, BN = 64 : index, FMT = "dsv4", IN_V = true, NOPE = 448 : index, ROPE = 64 : index, SPLIT = true, WARPS = 8 : index}}
// OTHER: tile.kernel @scores warps(8)(%q: !tile.view<[T, 16, 512], bf16>
// OTHER-SAME: IN_V = false, NOPE = 512 : index, ROPE = 64 : index, SPLIT = false
tile.kernel @scores params(FMT : format, BH : index, BN : index = 64, SPLIT : i1 = false, WARPS : index = 8,
                           NOPE : index = FMT.nope, ROPE : index = FMT.rope,
                           IN_V : i1 = FMT.rope_in_value) warps(WARPS)
    (%q: !v, %kv: !tile.pool<FMT>, %idx: !tile.view<[T, W], i32>, %out: !tile.view<[T, H, W], f32>) {
  // CHECK-NOT: tile.require
  tile.require affine_set<(h, n) : (h mod 16 == 0, n mod 16 == 0)>(BH, BN), "tiles are whole mma rows"
  // CHECK-DAG: %[[C64:.+]] = arith.constant 64 : index
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.0
  %z = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %skip = arith.constant -1 : i32
  %bn = tile.param BN : index
  %t = tile.program_id 0 : index
  %w = tile.dim %idx, 1 : !tile.view<[T, W], i32>
  %zero = tile.full %f0 : f32 -> !s
  // CHECK: tile.load %q{{.*}} -> tensor<32x448xbf16>
  // OTHER: tile.load %q{{.*}} -> tensor<16x512xbf16>
  %Q = tile.load %q[%t, %z, %z] : !v -> !q
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[C64]] {
  scf.for %n = %z to %w step %bn {
    %ids = tile.load %idx[%t, %n] limit %w else %skip : !tile.view<[T, W], i32> -> !ids
    // CHECK: tile.gather %{{.*}} : !tile.pool<"dsv4">, tensor<64xi32> -> !tile.rows<"dsv4", [64]>, tensor<64xi1>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, !ids -> !tile.rows<FMT, [BN]>, !ok
    // CHECK: tile.dequant %{{.*}} nope : !tile.rows<"dsv4", [64]> -> tensor<64x448xbf16>
    %k = tile.dequant %rows nope : !tile.rows<FMT, [BN]> -> !k
    %kt = tile.transpose %k : !k -> !kt
    // CHECK: tile.dot %{{.*}} : tensor<32x448xbf16>, tensor<448x64xbf16>, tensor<32x64xf32>
    %s = tile.dot %Q, %kt, %zero : !q, !kt, !s
    // Only the taken branch is left.
    // CHECK-NOT: scf.if
    // OTHER-NOT: scf.if
    %split = tile.param SPLIT : i1
    // CHECK: arith.addf %{{.*}} : tensor<32x64xf32>
    // OTHER: arith.mulf %{{.*}} : tensor<16x64xf32>
    %r = scf.if %split -> !s {
      %x = arith.addf %s, %s : !s
      scf.yield %x : !s
    } else {
      %x = arith.mulf %s, %s : !s
      scf.yield %x : !s
    }
    tile.store %r, %out[%t, %z, %n] : !s, !tile.view<[T, H, W], f32>
  // CHECK: } {tile.pipeline = #tile.pipeline<stages = 2>}
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// The module's other kernels go.
// CHECK-NOT: @unused
tile.kernel @unused params(X : index) warps(1) () { tile.return }
