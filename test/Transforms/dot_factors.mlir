// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --canonicalize --cse \
// RUN:   --tilegpu-plan-shared --tilegpu-insert-syncs --split-input-file | FileCheck %s

// Scales of the products' own type along N: one dot, and a buffer of factors
// whose rows run along K. One barrier serves both stores.
// CHECK-LABEL: tile.kernel @values
// CHECK-DAG: %[[FACTORS:.*]] = tilegpu.alloc "factors" {{.*}} : !tilegpu.buffer<4x32xf16, stride = 80>
// CHECK-DAG: %[[P:.*]] = tilegpu.alloc "a" {{.*}} : !tilegpu.buffer<16x32xf16, stride = 80>
// CHECK-NOT: tilegpu.dequant
// CHECK: tilegpu.store_shared %{{.*}}, %[[P]]
// CHECK-NEXT: tilegpu.store_shared %{{.*}}, %[[FACTORS]] : tensor<4x32xf16
// CHECK-NEXT: tilegpu.sync cta
// CHECK-NEXT: tilegpu.dot %[[P]] times %[[FACTORS]], %{{.*}}, %{{.*}} : {{.*}} times {{.*}}, !tilegpu.buffer<32x512xf8E4M3FN, stride = 528>, tensor<16x512xf32
// CHECK-NOT: tilegpu.dot
tile.kernel @values warps(4) (%kv: !tile.pool<"glm53_nope">, %s: !tile.view<[H, C], f32>, %out: !tile.view<[H, D], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1>
  %v = tile.dequant %rows payload : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xf16>
  %x32 = tile.dequant %rows scale : !tile.rows<"glm53_nope", [32]> -> tensor<32x4xf32>
  %x = arith.truncf %x32 : tensor<32x4xf32> to tensor<32x4xf16>
  %p32 = tile.load %s[%zero, %zero] : !tile.view<[H, C], f32> -> tensor<16x32xf32>
  %p = arith.truncf %p32 : tensor<16x32xf32> to tensor<16x32xf16>
  %o = tile.dot_scaled %p, %v, %x, %o0 : tensor<16x32xf16>, tensor<32x512xf16>, tensor<32x4xf16>, tensor<16x512xf32>
  tile.store %o, %out[%zero, %zero] : tensor<16x512xf32>, !tile.view<[H, D], f32>
  tile.return
}

// -----

// The first operand is scaled, in bf16: factors of the second.
// CHECK-LABEL: tile.kernel @swapped
// CHECK-DAG: %[[FACTORS:.*]] = tilegpu.alloc "factors" {{.*}} : !tilegpu.buffer<4x16xbf16, stride = 48>
// CHECK-DAG: %[[P:.*]] = tilegpu.alloc "b" {{.*}} : !tilegpu.buffer<16x16xbf16, stride = 48>
// CHECK: tilegpu.dot %{{.*}}, %[[P]] times %[[FACTORS]], %{{.*}} {a_transposed} : !tilegpu.buffer<16x512xf8E4M3FN, stride = 528>, {{.*}} times
// CHECK-NOT: tilegpu.dot
tile.kernel @swapped warps(2) (%kv: !tile.pool<"glm53_nope">, %s: !tile.view<[C, H], f32>, %out: !tile.view<[D, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %o0 = tile.full %f0 : f32 -> tensor<512x16xf32>
  %ids = tile.iota : tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<16xi32> -> !tile.rows<"glm53_nope", [16]>, tensor<16xi1>
  %v = tile.dequant %rows payload : !tile.rows<"glm53_nope", [16]> -> tensor<16x512xbf16>
  %x32 = tile.dequant %rows scale : !tile.rows<"glm53_nope", [16]> -> tensor<16x4xf32>
  %x = arith.truncf %x32 : tensor<16x4xf32> to tensor<16x4xbf16>
  %vT = tile.transpose %v : tensor<16x512xbf16> -> tensor<512x16xbf16>
  %xT = tile.transpose %x : tensor<16x4xbf16> -> tensor<4x16xbf16>
  %p32 = tile.load %s[%zero, %zero] : !tile.view<[C, H], f32> -> tensor<16x16xf32>
  %p = arith.truncf %p32 : tensor<16x16xf32> to tensor<16x16xbf16>
  %o = tile.dot_scaled %vT, %p, %xT, %o0 {scale_a} : tensor<512x16xbf16>, tensor<16x16xbf16>, tensor<4x16xbf16>, tensor<512x16xf32>
  tile.store %o, %out[%zero, %zero] : tensor<512x16xf32>, !tile.view<[D, H], f32>
  tile.return
}

// -----

// What is in place as an operand stays in registers; factors are read beside it.
// CHECK-LABEL: tile.kernel @registers
// CHECK-NOT: tilegpu.alloc "a" {{.*}} : !tilegpu.buffer<16x32x
// CHECK: %[[P:.*]] = tilegpu.convert_layout
// CHECK: tilegpu.dot %[[P]] times %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xf16, {{.*}} times !tilegpu.buffer<2x32xf16, stride = 80>, !tilegpu.buffer<32x64xf16
tile.kernel @registers warps(1) (%q: !tile.view<[M, K], f16>, %x: !tile.view<[K, G], f16>, %out: !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x64xf32>
  %a = tile.load %q[%zero, %zero] : !tile.view<[M, K], f16> -> tensor<16x16xf16>
  %b = tile.load %q[%zero, %zero] : !tile.view<[M, K], f16> -> tensor<16x32xf16>
  %s = tile.dot %a, %b, %s0 : tensor<16x16xf16>, tensor<16x32xf16>, tensor<16x32xf32>
  %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xf16>
  %v = tile.load %q[%zero, %zero] : !tile.view<[M, K], f16> -> tensor<32x64xf16>
  %xt = tile.load %x[%zero, %zero] : !tile.view<[K, G], f16> -> tensor<32x2xf16>
  %o = tile.dot_scaled %p, %v, %xt, %o0 : tensor<16x32xf16>, tensor<32x64xf16>, tensor<32x2xf16>, tensor<16x64xf32>
  tile.store %o, %out[%zero, %zero] : tensor<16x64xf32>, !tile.view<[M, N], f32>
  tile.return
}
