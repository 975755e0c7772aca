// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathered rows as operands of dots: read as they are where every use allows it,
// else from one copy of 16 bits.
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --split-input-file | FileCheck %s

// Four bits: sixteen bytes are 32 columns. Scores and values read the same rows,
// scaled by e4m3.
// CHECK-LABEL: @four_bits
// CHECK-NOT: tilegpu.dequant
// CHECK: %[[KEYS:.+]] = tilegpu.view %{{.+}} + 0 : {{.*}} -> !tilegpu.buffer<32x512xf4E2M1FN, stride = 272>
// CHECK: %[[SCALES:.+]] = tilegpu.view %{{.+}} + 0 : {{.*}} -> !tilegpu.buffer<32x32xf8E4M3FN>
// CHECK: tilegpu.pack_columns %{{.+}} {pack = 2 : i64} : tensor<16x512xbf16
// CHECK: tilegpu.dot %{{.+}}, %[[KEYS]] scaled by %[[SCALES]], %{{.+}} {a_packed, b_transposed}
// CHECK: tilegpu.dot %{{.+}}, %[[KEYS]] scaled by %[[SCALES]], %{{.+}} :
// CHECK-NOT: {{tilegpu.(load_quantised|dequant)}}
tile.kernel @four_bits warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_1_fp4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_1_fp4">, tensor<32xi32> -> !tile.rows<"dsv4_1_fp4", [32]>, tensor<32xi1>
  %k = tile.dequant %rows nope : !tile.rows<"dsv4_1_fp4", [32]> -> tensor<32x512xbf16>
  %kT = tile.transpose %k : tensor<32x512xbf16> -> tensor<512x32xbf16>
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x512xbf16>
  %s = tile.dot %a, %kT, %s0 : tensor<16x512xbf16>, tensor<512x32xbf16>, tensor<16x32xf32>
  %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
  %v = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x512xbf16>, tensor<16x512xf32>
  tile.store %v, %o[%c0, %c0] : tensor<16x512xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// The keys are stored as well: all uses read the copy.
// CHECK-LABEL: @stored
// CHECK: %[[KEYS:.+]] = tilegpu.alloc "keys" : !tilegpu.buffer<32x448xbf16, stride = 912>
// CHECK: tilegpu.dequant "dsv4" %{{.+}}, %{{.+}} -> %[[KEYS]]
// CHECK: tilegpu.dot %{{.+}}, %[[KEYS]], %{{.+}} {b_transposed}
// CHECK-NOT: tilegpu.load_quantised
tile.kernel @stored warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>, %keys : !tile.view<[W, K], bf16>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
  %kT = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x448xbf16>
  %s = tile.dot %a, %kT, %s0 : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
  tile.store %s, %o[%c0, %c0] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.store %k, %keys[%c0, %c0] : tensor<32x448xbf16>, !tile.view<[W, K], bf16>
  tile.return
}

// -----

// f32 scales are not multiplied into 16 bits by a dot; the copy is rounded once.
// CHECK-LABEL: @float_scales
// CHECK: tilegpu.dequant "glm53_nope"
// CHECK-NOT: tilegpu.load_quantised
tile.kernel @float_scales warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"glm53_nope">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1>
  %k = tile.dequant %rows nope : !tile.rows<"glm53_nope", [32]> -> tensor<32x512xbf16>
  %kT = tile.transpose %k : tensor<32x512xbf16> -> tensor<512x32xbf16>
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x512xbf16>
  %s = tile.dot %a, %kT, %s0 : tensor<16x512xbf16>, tensor<512x32xbf16>, tensor<16x32xf32>
  tile.store %s, %o[%c0, %c0] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Factors of the kernel's own are multiplied in by whoever converts: from a copy.
// CHECK-LABEL: @factors
// CHECK: %[[F:.+]] = tilegpu.alloc "factors" : !tilegpu.buffer<32x8xf16>
// CHECK: tilegpu.dequant "dsv4" %{{.+}}, %[[F]] -> %[[KEYS:.+]] : {{.*}} -> !tilegpu.buffer<32x448xf16, stride = 912>
// CHECK-NOT: tilegpu.load_quantised
// CHECK: tilegpu.dot %{{.+}}, %[[KEYS]], %{{.+}} {b_transposed}
tile.kernel @factors warps(4) (%q : !tile.view<[M, K], f16>, %kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  %scale = tile.dequant %rows scale : !tile.rows<"dsv4", [32]> -> tensor<32x7xf32>
  %f = arith.truncf %scale : tensor<32x7xf32> to tensor<32x7xf16>
  %k = tile.dequant %rows payload times %f : !tile.rows<"dsv4", [32]>, tensor<32x7xf16> -> tensor<32x448xf16>
  %kT = tile.transpose %k : tensor<32x448xf16> -> tensor<448x32xf16>
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], f16> -> tensor<16x448xf16>
  %s = tile.dot %a, %kT, %s0 : tensor<16x448xf16>, tensor<448x32xf16>, tensor<16x32xf32>
  tile.store %s, %o[%c0, %c0] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Keys times keys: one side of a product is of 16 bits.
// CHECK-LABEL: @gram
// CHECK: tilegpu.dequant "dsv4"
// CHECK: tilegpu.dot %[[KEYS:.+]], %[[KEYS]], %{{.+}} {b_transposed} : !tilegpu.buffer<32x448xbf16
tile.kernel @gram warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
  %kT = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
  %s0 = tile.full %f0 : f32 -> tensor<32x32xf32>
  %s = tile.dot %k, %kT, %s0 : tensor<32x448xbf16>, tensor<448x32xbf16>, tensor<32x32xf32>
  tile.store %s, %o[%c0, %c0] : tensor<32x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Eight warps asked for along 512 columns of 4 bits are 256 at once; along 448
// they do not come out even.
// CHECK-LABEL: @arranged
// CHECK-NOT: tilegpu.dequant
// CHECK: tilegpu.dot {{.*}}xf4E2M1FN
tile.kernel @arranged warps(8) (%a : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_1_fp4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_1_fp4">, tensor<16xi32> -> !tile.rows<"dsv4_1_fp4", [16]>, tensor<16xi1>
  %v = tile.dequant %rows nope : !tile.rows<"dsv4_1_fp4", [16]> -> tensor<16x512xbf16>
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  %p = tile.load %a[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %r = tile.dot %p, %v, %o0 {warps = array<i64: 1, 8>} : tensor<16x16xbf16>, tensor<16x512xbf16>, tensor<16x512xf32>
  tile.store %r, %o[%c0, %c0] : tensor<16x512xf32>, !tile.view<[M, N], f32>
  tile.return
}
// CHECK-LABEL: @odd_arranged
// CHECK: tilegpu.dequant "dsv4_nvfp4"
// CHECK: tilegpu.dot {{.*}} !tilegpu.buffer<16x448xbf16
tile.kernel @odd_arranged warps(8) (%a : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_nvfp4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_nvfp4">, tensor<16xi32> -> !tile.rows<"dsv4_nvfp4", [16]>, tensor<16xi1>
  %v = tile.dequant %rows nope : !tile.rows<"dsv4_nvfp4", [16]> -> tensor<16x448xbf16>
  %o0 = tile.full %f0 : f32 -> tensor<16x448xf32>
  %p = tile.load %a[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %r = tile.dot %p, %v, %o0 {warps = array<i64: 1, 8>} : tensor<16x16xbf16>, tensor<16x448xbf16>, tensor<16x448xf32>
  tile.store %r, %o[%c0, %c0] : tensor<16x448xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Blocks that are not whole: 16 columns of 4 bits are 8 bytes.
// CHECK-LABEL: @narrow_blocks
// CHECK: tilegpu.dequant "dsv4_1_fp4" {{.*}} {unscaled}
// CHECK: tilegpu.dot {{.*}} !tilegpu.buffer<32x16xbf16
tile.kernel @narrow_blocks warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_1_fp4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_1_fp4">, tensor<32xi32> -> !tile.rows<"dsv4_1_fp4", [32]>, tensor<32xi1>
  %k = tile.dequant %rows payload : !tile.rows<"dsv4_1_fp4", [32]> -> tensor<32x512xbf16>
  %x = tile.dequant %rows scale : !tile.rows<"dsv4_1_fp4", [32]> -> tensor<32x32xf32>
  %kT = tile.transpose %k : tensor<32x512xbf16> -> tensor<512x32xbf16>
  %xT = tile.transpose %x : tensor<32x32xf32> -> tensor<32x32xf32>
  %s0 = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x512xbf16>
  %s = tile.dot_scaled %a, %kT, %xT, %s0 : tensor<16x512xbf16>, tensor<512x32xbf16>, tensor<32x32xf32>, tensor<16x32xf32>
  tile.store %s, %o[%c0, %c0] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Blocks across the rows: a scale of its own for 16 candidates of a column.
// CHECK-LABEL: @blocks_of_rows
// CHECK: tilegpu.dequant "dsv4_1" {{.*}} {unscaled}
// CHECK: tile.transpose %{{.*}} : tensor<32x512xbf16, {{.*}} -> tensor<512x32xbf16
// CHECK: tilegpu.dot {{.*}} {b_transposed} : {{.*}} !tilegpu.buffer<512x16xbf16
// CHECK-NOT: tilegpu.load_quantised
tile.kernel @blocks_of_rows warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_1">, %idx : !tile.view<[W], i32>, %x : !tile.view<[G, N], f32>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_1">, tensor<32xi32> -> !tile.rows<"dsv4_1", [32]>, tensor<32xi1>
  %k = tile.dequant %rows payload : !tile.rows<"dsv4_1", [32]> -> tensor<32x512xbf16>
  %xt = tile.load %x[%c0, %c0] : !tile.view<[G, N], f32> -> tensor<2x512xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x32xbf16>
  %r = tile.dot_scaled %a, %k, %xt, %o0 : tensor<16x32xbf16>, tensor<32x512xbf16>, tensor<2x512xf32>, tensor<16x512xf32>
  tile.store %r, %o[%c0, %c0] : tensor<16x512xf32>, !tile.view<[M, N], f32>
  tile.return
}
