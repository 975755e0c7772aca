// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --canonicalize --cse | FileCheck %s

// Scores and values of a format whose scales are powers of two: payload and
// scales are read as they were copied, by both products; only the query, whose
// columns run along K, is stored.
// CHECK-LABEL: tile.kernel @ue8m0
// CHECK-NOT: {{tilegpu.(dequant|load_quantised)}}
tile.kernel @ue8m0 warps(4) (%kv: !tile.pool<"dsv4">, %q: !tile.view<[H, D], f8E4M3FN>, %out: !tile.view<[H, D], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x448xf32>
  %qt = tile.load %q[%zero, %zero] : !tile.view<[H, D], f8E4M3FN> -> tensor<16x448xf8E4M3FN>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  %k = tile.dequant %rows payload : !tile.rows<"dsv4", [32]> -> tensor<32x448xf8E4M3FN>
  %x = tile.dequant %rows scale : !tile.rows<"dsv4", [32]> -> tensor<32x7xf8E8M0FNU>
  %kt = tile.transpose %k : tensor<32x448xf8E4M3FN> -> tensor<448x32xf8E4M3FN>
  %xt = tile.transpose %x : tensor<32x7xf8E8M0FNU> -> tensor<7x32xf8E8M0FNU>
  // CHECK: tilegpu.dot %{{.*}}, %[[K:.*]] scaled by %{{.*}}, %{{.*}} {b_transposed} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 464>, !tilegpu.buffer<32x448xf8E4M3FN, stride = 592> by !tilegpu.buffer<32x7xf8E8M0FNU, stride = {{.*}}>, tensor<16x32xf32,
  %s = tile.dot_scaled %qt, %kt, %xt, %s0 : tensor<16x448xf8E4M3FN>, tensor<448x32xf8E4M3FN>, tensor<7x32xf8E8M0FNU>, tensor<16x32xf32>
  %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xf16>
  %xf = tile.dequant %rows scale : !tile.rows<"dsv4", [32]> -> tensor<32x7xf32>
  %x16 = arith.truncf %xf : tensor<32x7xf32> to tensor<32x7xf16>
  // CHECK: tilegpu.dot %{{.*}} times %{{.*}}, %[[K]], %{{.*}} {narrow} : !tilegpu.buffer<16x32xf16, stride = 80> times !tilegpu.buffer<7x32xf16, stride = 80>, !tilegpu.buffer<32x448xf8E4M3FN, stride = 592>, tensor<16x448xf32,
  %o = tile.dot_scaled %p, %k, %x16, %o0 : tensor<16x32xf16>, tensor<32x448xf8E4M3FN>, tensor<32x7xf16>, tensor<16x448xf32>
  tile.store %o, %out[%zero, %zero] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}

// f32 scales multiply the sums of their blocks.
// CHECK-LABEL: tile.kernel @f32
tile.kernel @f32 warps(4) (%kv: !tile.pool<"glm53_nope">, %q: !tile.view<[H, D], f8E4M3FN>, %out: !tile.view<[H, D], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %qt = tile.load %q[%zero, %zero] : !tile.view<[H, D], f8E4M3FN> -> tensor<16x512xf8E4M3FN>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1>
  %k = tile.dequant %rows payload : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xf8E4M3FN>
  %x = tile.dequant %rows scale : !tile.rows<"glm53_nope", [32]> -> tensor<32x4xf32>
  %kt = tile.transpose %k : tensor<32x512xf8E4M3FN> -> tensor<512x32xf8E4M3FN>
  %xt = tile.transpose %x : tensor<32x4xf32> -> tensor<4x32xf32>
  // CHECK-COUNT-4: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} {b_transposed} : !tilegpu.buffer<16x128xf8E4M3FN, stride = 528>, !tilegpu.buffer<32x128xf8E4M3FN, stride = 528>, tensor<16x32xf32,
  // CHECK-NOT: tilegpu.dot
  %s = tile.dot_scaled %qt, %kt, %xt, %s0 : tensor<16x512xf8E4M3FN>, tensor<512x32xf8E4M3FN>, tensor<4x32xf32>, tensor<16x32xf32>
  tile.store %s, %out[%zero, %zero] : tensor<16x32xf32>, !tile.view<[H, D], f32>
  tile.return
}

// What runs along the wrong dimension is turned in registers and stored.
// CHECK-LABEL: tile.kernel @turned
tile.kernel @turned warps(1) (%a: !tile.view<[M, K], f8E4M3FN>, %b: !tile.view<[K, N], f8E4M3FN>, %out: !tile.view<[M, N], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %c = tile.full %f0 : f32 -> tensor<16x16xf32>
  %at = tile.load %a[%zero, %zero] : !tile.view<[M, K], f8E4M3FN> -> tensor<16x32xf8E4M3FN>
  %bt = tile.load %b[%zero, %zero] : !tile.view<[K, N], f8E4M3FN> -> tensor<32x16xf8E4M3FN>
  // CHECK: tile.transpose %{{.*}} : tensor<32x16xf8E4M3FN, {{.*}} -> tensor<16x32xf8E4M3FN
  // CHECK: tilegpu.dot {{.*}} {b_transposed} : !tilegpu.buffer<16x32xf8E4M3FN, {{.*}}, !tilegpu.buffer<16x32xf8E4M3FN
  %s = tile.dot %at, %bt, %c : tensor<16x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<16x16xf32>
  tile.store %s, %out[%zero, %zero] : tensor<16x16xf32>, !tile.view<[M, N], f32>
  tile.return
}
