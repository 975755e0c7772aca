// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --canonicalize --cse \
// RUN:   --tilegpu-plan-shared --tilegpu-insert-syncs | FileCheck %s

// The first operand is scaled: keys on the rows of the scores, with blocks along
// K, and on the columns of the values' operand, with blocks along M.
// CHECK-LABEL: tile.kernel @swapped
// CHECK-NOT: tilegpu.dequant
tile.kernel @swapped warps(2) (%kv: !tile.pool<"glm53_nope">, %q: !tile.view<[H, D], bf16>, %out: !tile.view<[D, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<16x16xf32>
  %o0 = tile.full %f0 : f32 -> tensor<512x16xf32>
  %qt = tile.load %q[%zero, %zero] : !tile.view<[H, D], bf16> -> tensor<16x512xbf16>
  %qT = tile.transpose %qt : tensor<16x512xbf16> -> tensor<512x16xbf16>
  %ids = tile.iota : tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<16xi32> -> !tile.rows<"glm53_nope", [16]>, tensor<16xi1>
  %k = tile.dequant %rows payload : !tile.rows<"glm53_nope", [16]> -> tensor<16x512xbf16>
  %x = tile.dequant %rows scale : !tile.rows<"glm53_nope", [16]> -> tensor<16x4xf32>
  // CHECK: %[[SCALES:.*]] = tilegpu.load_shared %{{.*}} : !tilegpu.buffer<16x4xf32, stride = 528> -> tensor<16x4xf32, #{{.*}}>
  // CHECK: %[[K0:.*]] = tilegpu.view %{{.*}} + 0 : {{.*}} -> !tilegpu.buffer<16x128xf8E4M3FN, stride = 528>
  // CHECK: %[[Q0:.*]] = tilegpu.view %{{.*}} + 0 : {{.*}} -> !tilegpu.buffer<16x128xbf16, stride = 1040>
  // CHECK: %[[P0:.*]] = tilegpu.dot %[[K0]], %[[Q0]], %{{.*}} {b_packed, b_transposed}
  // CHECK: tilegpu.extract_slice %[[SCALES]][0, 0]
  // CHECK: %[[ROW:.*]] = tile.broadcast %{{.*}} along 1
  // CHECK: math.fma %[[P0]], %[[ROW]], %{{.*}} : tensor<16x16xf32
  // CHECK: %[[K3:.*]] = tilegpu.view %{{.*}} + 384 : {{.*}} -> !tilegpu.buffer<16x128xf8E4M3FN, stride = 528>
  // CHECK: tilegpu.extract_slice %[[SCALES]][0, 3]
  // CHECK: %[[ROW3:.*]] = tile.broadcast
  %s = tile.dot_scaled %k, %qT, %x, %s0 {scale_a} : tensor<16x512xbf16>, tensor<512x16xbf16>, tensor<16x4xf32>, tensor<16x16xf32>
  %kT = tile.transpose %k : tensor<16x512xbf16> -> tensor<512x16xbf16>
  %xT = tile.transpose %x : tensor<16x4xf32> -> tensor<4x16xf32>
  // Each block scales and rounds the scores and turns them over in registers;
  // the scales are those that are there already.
  // CHECK-NOT: {{tilegpu.(sync|store_shared|load_shared)}}
  // CHECK: arith.mulf %{{.*}}, %[[ROW]]
  // CHECK: %[[P:.*]] = tilegpu.convert_layout %{{.*}} : tensor<16x16xbf16
  // CHECK: tilegpu.extract_slice %{{.*}}[0, 0] : tensor<512x16xf32, {{.*}} -> tensor<128x16xf32
  // CHECK: tilegpu.dot %[[K0]], %[[P]], %{{.*}} {a_transposed}
  // CHECK: tilegpu.insert_slice %{{.*}} into %{{.*}}[0, 0]
  // CHECK-NOT: {{tilegpu.(sync|store_shared|load_shared)}}
  // CHECK: arith.mulf %{{.*}}, %[[ROW3]]
  // CHECK: tilegpu.dot %[[K3]], %{{.*}}, %{{.*}} {a_transposed}
  // CHECK: tilegpu.insert_slice %{{.*}} into %{{.*}}[384, 0]
  // CHECK-NOT: {{tilegpu.(sync|store_shared|load_shared)}}
  %o = tile.dot_scaled %kT, %s, %xT, %o0 {scale_a} : tensor<512x16xbf16>, tensor<16x16xf32>, tensor<4x16xf32>, tensor<512x16xf32>
  tile.store %o, %out[%zero, %zero] : tensor<512x16xf32>, !tile.view<[D, H], f32>
  tile.return
}

// Nothing stands in shared memory yet, and the scaled operand runs along the
// wrong dimension: it is turned in registers and stored.
// CHECK-LABEL: tile.kernel @registers
tile.kernel @registers warps(4) (%a: !tile.view<[M, K], f16>, %b: !tile.view<[K, N], f32>, %x: !tile.view<[G, K], f32>, %out: !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<96x32xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], f16> -> tensor<96x16xf16>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], f32> -> tensor<16x32xf32>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[G, K], f32> -> tensor<3x16xf32>
  // CHECK: tile.transpose %{{.*}} : tensor<96x16xf16, {{.*}} -> tensor<16x96xf16
  // CHECK: tile.transpose %{{.*}} : tensor<3x16xf32, {{.*}} -> tensor<16x3xf32
  // CHECK: tilegpu.dot {{.*}} {a_transposed} : !tilegpu.buffer<16x32xf16, {{.*}}, tensor<16x32xf16
  %s = tile.dot_scaled %at, %bt, %xt, %c {scale_a} : tensor<96x16xf16>, tensor<16x32xf32>, tensor<3x16xf32>, tensor<96x32xf32>
  tile.store %s, %out[%zero, %zero] : tensor<96x32xf32>, !tile.view<[M, N], f32>
  tile.return
}
