// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#keys = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [2, 8]>
#scales = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 0], [0, 0]], reps = [1, 1]>

// All that is read of the rows goes to a buffer, and scales: rows stand at an odd
// multiple of 64 bytes, and there is no second copy of the keys.
// CHECK-LABEL: @copied
// CHECK: tilegpu.alloc "rows" : !tilegpu.ring<1, !tilegpu.buffer<32x528xi8, stride = 576>>
// CHECK-NOT: tilegpu.alloc "keys"
// CHECK: tilegpu.dequant "glm53_nope" %{{.+}}, %{{.+}} -> %[[TO:.+]] {unscaled}
tile.kernel @copied warps(4) (%kv : !tile.pool<"glm53_nope">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], f32>) {
  %c0 = arith.constant 0 : index
  %to = tilegpu.alloc "to" : !tilegpu.buffer<32x512xf16, stride = 1040>
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32, #ids>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32, #ids> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1, #ids>
  %s = tile.dequant %rows scale : !tile.rows<"glm53_nope", [32]> -> tensor<32x4xf32, #scales>
  tile.store %s, %o[%c0, %c0] : tensor<32x4xf32, #scales>, !tile.view<[N, D], f32>
  %k = tile.dequant %rows payload : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xf16, #keys>
  tilegpu.store_shared %k, %to : tensor<32x512xf16, #keys>, !tilegpu.buffer<32x512xf16, stride = 1040>
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#keys = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [2, 8]>

// Another reader may use ldmatrix: an odd multiple of 16 bytes.
// CHECK-LABEL: @read
// CHECK: tilegpu.alloc "rows" : !tilegpu.ring<1, !tilegpu.buffer<32x528xi8>>
tile.kernel @read warps(4) (%kv : !tile.pool<"glm53_nope">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], f16>) {
  %c0 = arith.constant 0 : index
  %to = tilegpu.alloc "to" : !tilegpu.buffer<32x512xf16, stride = 1040>
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32, #ids>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32, #ids> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1, #ids>
  %k = tile.dequant %rows payload : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xf16, #keys>
  tilegpu.store_shared %k, %to : tensor<32x512xf16, #keys>, !tilegpu.buffer<32x512xf16, stride = 1040>
  tile.store %k, %o[%c0, %c0] : tensor<32x512xf16, #keys>, !tile.view<[N, D], f16>
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#keys = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [2, 7]>
#seven = #tilegpu.layout<reg = [], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 0], [0, 0]], reps = [1, 7]>

// Factors go through a buffer of whole vectors of eight.
// CHECK-LABEL: @factors
// CHECK: %[[F:.+]] = tilegpu.alloc "factors" : !tilegpu.buffer<32x8xf16>
// CHECK: %[[SEVEN:.+]] = tilegpu.view %[[F]] + 0 : !tilegpu.buffer<32x8xf16> -> !tilegpu.buffer<32x7xf16, stride = 16>
// CHECK: tilegpu.store_shared %{{.+}}, %[[SEVEN]]
// CHECK: tilegpu.dequant "dsv4" %{{.+}}, %[[F]] -> %{{.+}} : {{.*}}, !tilegpu.buffer<32x8xf16> ->
tile.kernel @factors warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %x : f16) {
  %c0 = arith.constant 0 : index
  %to = tilegpu.alloc "to" : !tilegpu.buffer<32x448xf16, stride = 912>
  %f = tile.full %x : f16 -> tensor<32x7xf16, #seven>
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32, #ids>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32, #ids> -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids>
  %k = tile.dequant %rows payload times %f : !tile.rows<"dsv4", [32]>, tensor<32x7xf16, #seven> -> tensor<32x448xf16, #keys>
  tilegpu.store_shared %k, %to : tensor<32x448xf16, #keys>, !tilegpu.buffer<32x448xf16, stride = 912>
  tile.return
}
