// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --split-input-file | FileCheck %s

// Register operands of a dot go to a buffer of their own, a transposition turns
// into a transposed operand. Row strides are odd multiples of 16 bytes.
// CHECK-LABEL: @operands
tile.kernel @operands warps(4) (%q : !tile.view<[M, K], bf16>, %k : !tile.view<[N, K], bf16>, %o : !tile.view<[M, N], f32>) {
  // CHECK-DAG: %[[A:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x64xbf16, stride = 144>
  // CHECK-DAG: %[[B:.+]] = tilegpu.alloc "b" : !tilegpu.buffer<32x64xbf16, stride = 144>
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  // CHECK: %[[Q:.+]] = tile.load %q
  // CHECK-NEXT: tilegpu.store_shared %[[Q]], %[[A]]
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x64xbf16>
  // CHECK: %[[K:.+]] = tile.load %k
  // CHECK-NEXT: tilegpu.store_shared %[[K]], %[[B]]
  // CHECK-NOT: tile.transpose
  %b = tile.load %k[%c0, %c0] : !tile.view<[N, K], bf16> -> tensor<32x64xbf16>
  %bt = tile.transpose %b : tensor<32x64xbf16> -> tensor<64x32xbf16>
  // CHECK: %[[S:.+]] = tilegpu.dot %[[A]], %[[B]], %{{.+}} {b_transposed}
  %s = tile.dot %a, %bt, %zero : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
  // A second use of an operand reads the same buffer.
  // CHECK-NEXT: tilegpu.dot %[[A]], %[[B]], %[[S]] {b_transposed}
  %t = tile.dot %a, %bt, %s : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
  tile.store %t, %o[%c0, %c0] : tensor<16x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// With one warp along N the result of a dot is in place as operand A of the next.
// CHECK-LABEL: @registers
tile.kernel @registers warps(2) (%q : !tile.view<[M, K], bf16>, %o : !tile.view<[M, N], f32>) {
  // CHECK-COUNT-2: tilegpu.alloc
  // CHECK-NOT: tilegpu.alloc
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<32x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<32x32xbf16>
  %b = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<32x32xbf16>
  %s = tile.dot %a, %b, %zero {warps = array<i64: 2, 1>} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
  // CHECK: %[[P:.+]] = arith.truncf
  %p = arith.truncf %s : tensor<32x32xf32> to tensor<32x32xbf16>
  // CHECK: %[[OP:.+]] = tilegpu.convert_layout %[[P]]
  // CHECK: tilegpu.dot %[[OP]], %{{.+}}, %{{.+}} : tensor<32x32xbf16
  %t = tile.dot %p, %b, %zero {warps = array<i64: 2, 1>} : tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>
  tile.store %t, %o[%c0, %c0] : tensor<32x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Both dots read the quantised field and its scales where the gather put them,
// likewise the field in 16 bits.
// CHECK-LABEL: @rows
tile.kernel @rows warps(4) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>) {
  // CHECK-NOT: tilegpu.alloc "keys"
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  // CHECK-NOT: tilegpu.dequant
  // CHECK: %[[KEYS:.+]] = tilegpu.view %{{.+}} + 0 : {{.*}} -> !tilegpu.buffer<32x448xf8E4M3FN, stride = 592>
  // CHECK: %[[SCALES:.+]] = tilegpu.view %{{.+}} + 0 : {{.*}} -> !tilegpu.buffer<32x7xf8E8M0FNU, stride = 8>
  // CHECK-NOT: tilegpu.load_quantised
  %kn = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
  // CHECK: %[[ROPE:.+]] = tilegpu.view %{{.+}} + 448
  // CHECK-NOT: tilegpu.load_shared %[[ROPE]]
  %kr = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
  %s_zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %qn = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x448xbf16>
  %qr = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x64xbf16>
  %knt = tile.transpose %kn : tensor<32x448xbf16> -> tensor<448x32xbf16>
  %krt = tile.transpose %kr : tensor<32x64xbf16> -> tensor<64x32xbf16>
  // The partner of the quantised field is stored in its order; the others are not.
  // CHECK: %[[QP:.+]] = tilegpu.pack_columns %{{.+}} {pack = 1 : i64} : tensor<16x448xbf16
  // CHECK-NEXT: tilegpu.store_shared %[[QP]], %[[QN:.+]] : tensor<16x448xbf16
  // CHECK-NOT: tilegpu.pack_columns
  // CHECK: tilegpu.dot %[[QN]], %[[KEYS]] scaled by %[[SCALES]], %{{.+}} {a_packed, b_transposed}
  %s0 = tile.dot %qn, %knt, %s_zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
  // CHECK: tilegpu.dot %{{.+}}, %[[ROPE]], %{{.+}} {b_transposed}
  %s1 = tile.dot %qr, %krt, %s0 : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
  %p = arith.truncf %s1 : tensor<16x32xf32> to tensor<16x32xbf16>
  %o_zero = tile.full %f0 : f32 -> tensor<16x448xf32>
  // CHECK: tilegpu.dot %{{.+}}, %[[KEYS]] scaled by %[[SCALES]], %{{.+}} : !tilegpu.buffer<16x32xbf16
  %o0 = tile.dot %p, %kn, %o_zero : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
  tile.store %o0, %o[%c0, %c0] : tensor<16x448xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Warps that share a dimension exchange one value a row; where one warp holds
// the whole of it nothing leaves the registers.
// CHECK-LABEL: @reductions
tile.kernel @reductions warps(4) (%q : !tile.view<[M, K], bf16>, %o : !tile.view<[M], f32>) {
  // CHECK: %[[SCRATCH:.+]] = tilegpu.alloc "reduce" : !tilegpu.buffer<16x4xf32>
  // CHECK-NOT: tilegpu.alloc "reduce"
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %b = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x32xbf16>
  %s = tile.dot %a, %b, %zero : tensor<16x16xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>
  // CHECK: %[[PART:.+]] = tilegpu.reduce_warp addf %{{.+}} along 1 : {{.*}} -> tensor<16x4xf32
  // CHECK-NEXT: tilegpu.store_shared %[[PART]], %[[SCRATCH]]
  // CHECK-NEXT: %[[ALL:.+]] = tilegpu.load_shared %[[SCRATCH]]
  // CHECK-NEXT: tilegpu.reduce_warp addf %[[ALL]] along 1 : {{.*}} -> tensor<16xf32
  %m = tile.reduce addf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
  tile.store %m, %o[%c0] : tensor<16xf32>, !tile.view<[M], f32>
  // CHECK: tilegpu.reduce_warp maximumf %{{.+}} along 0 : {{.*}} -> tensor<32xf32
  %n = tile.reduce maximumf %s along 0 : tensor<16x32xf32> -> tensor<32xf32>
  // CHECK-NEXT: tile.store
  tile.store %n, %o[%c0] : tensor<32xf32>, !tile.view<[M], f32>
  tile.return
}

// -----

// A conversion between threads goes through shared memory, a mask as bytes: its
// maxima stand in registers.
// CHECK-LABEL: @conversion
tile.kernel @conversion warps(4) (%q : !tile.view<[M, K], bf16>, %v : !tile.view<[M], f32>, %o : !tile.view<[M, N], f32>) {
  // CHECK: %[[SCRATCH:.+]] = tilegpu.alloc "convert" : !tilegpu.buffer<16xi8>
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %s = tile.dot %a, %a, %zero : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  %m = tile.reduce maximumf %s along 0 : tensor<16x16xf32> -> tensor<16xf32>
  %row_zero = tile.full %f0 : f32 -> tensor<16xf32>
  // CHECK: %[[OK:.+]] = arith.cmpf
  // CHECK-NEXT: %[[BYTES:.+]] = arith.extui %[[OK]] : tensor<16xi1, #{{.+}}> to tensor<16xi8
  // CHECK-NEXT: tilegpu.store_shared %[[BYTES]], %[[SCRATCH]]
  // CHECK-NEXT: %[[BACK:.+]] = tilegpu.load_shared %[[SCRATCH]]
  // CHECK-NEXT: arith.trunci %[[BACK]]
  // CHECK-NEXT: tile.broadcast
  %ok = arith.cmpf ogt, %m, %row_zero : tensor<16xf32>
  %okb = tile.broadcast %ok along 1 : tensor<16xi1> -> tensor<16x16xi1>
  %r = arith.select %okb, %s, %zero : tensor<16x16xi1>, tensor<16x16xf32>
  tile.store %r, %o[%c0, %c0] : tensor<16x16xf32>, !tile.view<[M, N], f32>
  tile.return
}
