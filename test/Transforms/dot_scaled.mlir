// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --canonicalize --cse \
// RUN:   --tilegpu-plan-shared --tilegpu-insert-syncs | FileCheck %s

// Keys of four blocks of 128: scores with blocks along K, values with blocks
// along N. Keys and scales come from the gathered rows as they stand there.
// CHECK-LABEL: tile.kernel @both
// CHECK-NOT: tilegpu.dequant
tile.kernel @both warps(4) (%kv: !tile.pool<"glm53_nope">, %q: !tile.view<[H, D], bf16>, %out: !tile.view<[H, D], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  %qt = tile.load %q[%zero, %zero] : !tile.view<[H, D], bf16> -> tensor<16x512xbf16>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1>
  %k = tile.dequant %rows payload : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xbf16>
  %x = tile.dequant %rows scale : !tile.rows<"glm53_nope", [32]> -> tensor<32x4xf32>
  %kt = tile.transpose %k : tensor<32x512xbf16> -> tensor<512x32xbf16>
  %xt = tile.transpose %x : tensor<32x4xf32> -> tensor<4x32xf32>
  // Four columns of scales in the registers of a thread, one for each dot.
  // CHECK: tilegpu.pack_columns %{{.*}} {pack = 1 : i64} : tensor<16x512xbf16
  // (Those for the values are read beside them, by other threads.)
  // CHECK: %{{.*}} = tilegpu.load_shared %[[ROWS:.*]] : !tilegpu.buffer<32x4xf32, stride = 528> -> tensor<32x4xf32, #{{.*}}>
  // CHECK-NEXT: %[[SCALES:.*]] = tilegpu.load_shared %[[ROWS]] : !tilegpu.buffer<32x4xf32, stride = 528> -> tensor<32x4xf32, #{{.*}}>
  // CHECK: %[[K0:.*]] = tilegpu.view %{{.*}} + 0 : {{.*}} -> !tilegpu.buffer<32x128xf8E4M3FN, stride = 528>
  // CHECK: %[[Q0:.*]] = tilegpu.view %{{.*}} + 0 : {{.*}} -> !tilegpu.buffer<16x128xbf16, stride = 1040>
  // CHECK: tilegpu.sync cta
  // CHECK: %[[P0:.*]] = tilegpu.dot %[[Q0]], %[[K0]], %{{.*}} {a_packed, b_transposed}
  // CHECK: tilegpu.extract_slice %[[SCALES]][0, 0]
  // CHECK: math.fma %[[P0]], %{{.*}}, %{{.*}} : tensor<16x32xf32
  // CHECK: %[[K3:.*]] = tilegpu.view %{{.*}} + 384 : {{.*}} -> !tilegpu.buffer<32x128xf8E4M3FN, stride = 528>
  // CHECK: tilegpu.extract_slice %[[SCALES]][0, 3]
  %s = tile.dot_scaled %qt, %kt, %xt, %s0 : tensor<16x512xbf16>, tensor<512x32xbf16>, tensor<4x32xf32>, tensor<16x32xf32>
  // The scores move once, in f32; then each block scales and rounds them in
  // registers and multiplies, without a barrier.
  // CHECK: tilegpu.store_shared %{{.*}} : tensor<16x32xf32
  // CHECK: tilegpu.sync cta
  // CHECK-NOT: {{tilegpu.(sync|store_shared)}}
  // CHECK: %[[P:.*]] = tilegpu.convert_layout %{{.*}} : tensor<16x32xbf16
  // CHECK: tilegpu.dot %[[P]], %[[K0]], %{{.*}} : {{.*}} tensor<16x128xf32
  // CHECK: tilegpu.insert_slice %{{.*}} into %{{.*}}[0, 0]
  // CHECK-NOT: {{tilegpu.(sync|store_shared)}}
  // CHECK: tilegpu.dot %{{.*}}, %[[K3]], %{{.*}} : {{.*}} tensor<16x128xf32
  // CHECK: tilegpu.insert_slice %{{.*}} into %{{.*}}[0, 384]
  %o = tile.dot_scaled %s, %k, %x, %o0 : tensor<16x32xf32>, tensor<32x512xbf16>, tensor<32x4xf32>, tensor<16x512xf32>
  tile.store %o, %out[%zero, %zero] : tensor<16x512xf32>, !tile.view<[H, D], f32>
  tile.return
}

// Nothing stands in shared memory yet, and b runs along the wrong dimension: it
// is turned in registers and stored.
// CHECK-LABEL: tile.kernel @registers
tile.kernel @registers warps(4) (%a: !tile.view<[M, K], f16>, %b: !tile.view<[K, N], f16>, %x: !tile.view<[G, N], f32>, %out: !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<16x32xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], f16> -> tensor<16x96xf16>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], f16> -> tensor<96x32xf16>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[G, N], f32> -> tensor<3x32xf32>
  // CHECK: tile.transpose %{{.*}} : tensor<96x32xf16, {{.*}} -> tensor<32x96xf16
  // CHECK: tile.transpose %{{.*}} : tensor<3x32xf32, {{.*}} -> tensor<32x3xf32
  // CHECK: tilegpu.dot {{.*}} {b_transposed} : !tilegpu.buffer<16x32xf16, {{.*}}, !tilegpu.buffer<32x32xf16
  %s = tile.dot_scaled %at, %bt, %xt, %c : tensor<16x96xf16>, tensor<96x32xf16>, tensor<3x32xf32>, tensor<16x32xf32>
  tile.store %s, %out[%zero, %zero] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.return
}
