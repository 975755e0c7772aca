// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

!v2 = !tile.view<[T, W], i32>
!v3 = !tile.view<[T, H, 512], bf16>

// CHECK-LABEL: func.func @load
func.func @load(%ids: !v2, %q: !v3, %i: index, %n: index, %pad: i32) {
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] limit %{{.*}} else %{{.*}} : !tile.view<[T, W], i32> -> tensor<64xi32>
  %a = tile.load %ids[%i, %i] limit %n else %pad : !v2 -> tensor<64xi32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] limit %{{.*}} : !tile.view<[T, W], i32> -> i32
  %b = tile.load %ids[%i, %i] limit %n : !v2 -> i32
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] else %{{.*}} : !tile.view<[T, W], i32> -> !i32_BN
  %c = tile.load %ids[%i, %i] else %pad : !v2 -> tensor<?xi32, #tile.dims<BN>>
  // CHECK: tile.load {{.*}} : !tile.view<[T, H, 512], bf16> -> tensor<16x512xbf16>
  %d = tile.load %q[%i, %i, %i] : !v3 -> tensor<16x512xbf16>
  // CHECK: tile.store {{.*}} : tensor<16x512xbf16>, !tile.view<[T, H, 512], bf16>
  tile.store %d, %q[%i, %i, %i] : tensor<16x512xbf16>, !v3
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] limit %{{.*}} : i32, !tile.view<[T, W], i32>
  tile.store %b, %ids[%i, %i] limit %n : i32, !v2
  return
}

// Names, sizes, and ids without a name.
// CHECK-LABEL: func.func @gather
func.func @gather(%kv: !tile.pool<FMT>, %bound: !tile.pool<"dsv4">, %ids: tensor<?xi32, #tile.dims<BN>>, %fixed: tensor<64xi32>) {
  // CHECK: %[[R:.+]], %{{.+}} = tile.gather %{{.*}}[%{{.*}}] : !tile.pool<FMT>, !i32_BN -> !tile.rows<FMT, [BN]>, !i1_BN
  %r, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
  // CHECK: tile.dequant %[[R]] nope : !tile.rows<FMT, [BN]> -> !bf16_BN_NOPE
  %k = tile.dequant %r nope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
  // CHECK: %[[S:.+]], %{{.+}} = tile.gather {{.*}} : !tile.pool<"dsv4">, tensor<64xi32> -> !tile.rows<"dsv4", [64]>, tensor<64xi1>
  %s, %ok2 = tile.gather %bound[%fixed] : !tile.pool<"dsv4">, tensor<64xi32> -> !tile.rows<"dsv4", [64]>, tensor<64xi1>
  // CHECK: tile.gather {{.*}} {bulk} : !tile.pool<"dsv4">
  %b, %ok3 = tile.gather %bound[%fixed] {bulk} : !tile.pool<"dsv4">, tensor<64xi32> -> !tile.rows<"dsv4", [64]>, tensor<64xi1>
  // CHECK: tile.dequant %[[S]] nope : !tile.rows<"dsv4", [64]> -> tensor<64x448xf16>
  %l = tile.dequant %s nope : !tile.rows<"dsv4", [64]> -> tensor<64x448xf16>
  // CHECK: tile.dequant %[[S]] rope : !tile.rows<"dsv4", [64]> -> tensor<64x64xbf16>
  %m = tile.dequant %s rope : !tile.rows<"dsv4", [64]> -> tensor<64x64xbf16>
  // CHECK: tile.dequant %[[S]] payload : !tile.rows<"dsv4", [64]> -> tensor<64x448xbf16>
  %n = tile.dequant %s payload : !tile.rows<"dsv4", [64]> -> tensor<64x448xbf16>
  // CHECK: tile.dequant %[[S]] scale : !tile.rows<"dsv4", [64]> -> tensor<64x7xf32>
  %o = tile.dequant %s scale : !tile.rows<"dsv4", [64]> -> tensor<64x7xf32>
  // CHECK: tile.dequant %[[S]] payload : !tile.rows<"dsv4", [64]> -> tensor<64x448xf8E4M3FN>
  %p8 = tile.dequant %s payload : !tile.rows<"dsv4", [64]> -> tensor<64x448xf8E4M3FN>
  // CHECK: tile.dequant %[[S]] payload times %{{.*}} : !tile.rows<"dsv4", [64]>, tensor<64x7xf16> -> tensor<64x448xf16>
  %o16 = arith.truncf %o : tensor<64x7xf32> to tensor<64x7xf16>
  %times = tile.dequant %s payload times %o16 : !tile.rows<"dsv4", [64]>, tensor<64x7xf16> -> tensor<64x448xf16>
  // CHECK: tile.dequant %[[S]] scale : !tile.rows<"dsv4", [64]> -> tensor<64x7xf8E8M0FNU>
  %s8 = tile.dequant %s scale : !tile.rows<"dsv4", [64]> -> tensor<64x7xf8E8M0FNU>
  // CHECK: tile.dequant %[[R]] scale : !tile.rows<FMT, [BN]> -> !f32_BN_GROUPS
  %p = tile.dequant %r scale : !tile.rows<FMT, [BN]> -> tensor<?x?xf32, #tile.dims<BN, GROUPS>>
  // CHECK: tile.dequant %[[R]] payload times %{{.*}} : !tile.rows<FMT, [BN]>, !bf16_BN_GROUPS -> !bf16_BN_NOPE
  %pb = arith.truncf %p : tensor<?x?xf32, #tile.dims<BN, GROUPS>> to tensor<?x?xbf16, #tile.dims<BN, GROUPS>>
  %kp = tile.dequant %r payload times %pb : !tile.rows<FMT, [BN]>, tensor<?x?xbf16, #tile.dims<BN, GROUPS>> -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
  return
}

// A foreign encoding (a layout, say) is left alone; sizes are still checked.
// CHECK-LABEL: func.func @foreign
func.func @foreign(%ids: !v2, %i: index) -> tensor<64xi32, "layout"> {
  // CHECK: tile.load {{.*}} -> tensor<64xi32, "layout">
  %a = tile.load %ids[%i, %i] : !v2 -> tensor<64xi32, "layout">
  return %a : tensor<64xi32, "layout">
}
