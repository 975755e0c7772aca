// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that follow from shared memory are computed again in another layout;
// others are moved through a buffer.
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --tile-to-tilegpu --canonicalize --cse --split-input-file | FileCheck %s

// The largest scale of each candidate, over rows and over columns of scores: two
// reads of the scales where they stand, no buffer. Constants, a broadcast, a reduction and
// elementwise operations on the way.
// CHECK-LABEL: tile.kernel @again
// CHECK-NOT: tilegpu.alloc "{{convert|reduce}}"
// CHECK: %[[SCALES:.*]] = tilegpu.view %{{.*}} + 512 : {{.*}} -> !tilegpu.buffer<32x4xf32, stride = 528>
// CHECK: %[[X:.*]] = tilegpu.load_shared %[[SCALES]] {{.*}} -> tensor<32x4xf32, #[[FIRST:.*]]>
// CHECK-NEXT: %[[Y:.*]] = tilegpu.load_shared %[[SCALES]] {{.*}} -> tensor<32x4xf32, #[[SECOND:.*]]>
// CHECK: arith.mulf %[[X]], %{{.*}} : tensor<32x4xf32, #[[FIRST]]>
// CHECK: tilegpu.reduce_warp maximumf %{{.*}} along 1 : tensor<32x4xf32, #[[FIRST]]>
// CHECK: tilegpu.dot
// CHECK-NOT: {{store_shared|convert_layout}}
// CHECK: arith.mulf %[[Y]], %{{.*}} : tensor<32x4xf32, #[[SECOND]]>
// CHECK: %[[MOST:.*]] = tilegpu.reduce_warp maximumf %{{.*}} along 1 : tensor<32x4xf32, #[[SECOND]]>
// CHECK: tile.broadcast %[[MOST]] along 0
// CHECK-NOT: {{store_shared|convert_layout}}
tile.kernel @again warps(4) (%kv: !tile.pool<"glm53_nope">, %q: !tile.view<[M, K], bf16>, %out: !tile.view<[C, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %half_ = arith.constant 0.5 : f32
  %s0 = tile.full %f0 : f32 -> tensor<32x32xf32>
  %half = tile.full %half_ : f32 -> tensor<32x4xf32>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"glm53_nope">, tensor<32xi32> -> !tile.rows<"glm53_nope", [32]>, tensor<32xi1>
  %x0 = tile.dequant %rows scale : !tile.rows<"glm53_nope", [32]> -> tensor<32x4xf32>
  %x = arith.mulf %x0, %half : tensor<32x4xf32>
  %most = tile.reduce maximumf %x along 1 : tensor<32x4xf32> -> tensor<32xf32>
  %a = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<32x16xbf16>
  %b = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x32xbf16>
  %s = tile.dot %a, %b, %s0 : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>
  %r = tile.broadcast %most along 1 : tensor<32xf32> -> tensor<32x32xf32>
  %c = tile.broadcast %most along 0 : tensor<32xf32> -> tensor<32x32xf32>
  %t = arith.mulf %s, %r : tensor<32x32xf32>
  %u = arith.mulf %t, %c : tensor<32x32xf32>
  tile.store %u, %out[%zero, %zero] : tensor<32x32xf32>, !tile.view<[C, H], f32>
  tile.return
}

// -----

// What comes from global memory is moved.
// CHECK-LABEL: tile.kernel @global
// CHECK: tilegpu.alloc "convert" : !tilegpu.buffer<32xf32>
tile.kernel @global warps(4) (%x: !tile.view<[M], f32>, %q: !tile.view<[M, K], bf16>, %out: !tile.view<[C, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<32x32xf32>
  %most = tile.load %x[%zero] : !tile.view<[M], f32> -> tensor<32xf32>
  %a = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<32x16xbf16>
  %b = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x32xbf16>
  %s = tile.dot %a, %b, %s0 : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>
  %r = tile.broadcast %most along 1 : tensor<32xf32> -> tensor<32x32xf32>
  %c = tile.broadcast %most along 0 : tensor<32xf32> -> tensor<32x32xf32>
  %t = arith.mulf %s, %r : tensor<32x32xf32>
  %u = arith.mulf %t, %c : tensor<32x32xf32>
  tile.store %u, %out[%zero, %zero] : tensor<32x32xf32>, !tile.view<[C, H], f32>
  tile.return
}

// -----

// A second copy of this tile would take 128 registers: it is moved.
// CHECK-LABEL: tile.kernel @wide
// CHECK: tilegpu.alloc "convert"
tile.kernel @wide warps(1) (%kv: !tile.pool<"dsv4">, %q: !tile.view<[M, K], bf16>, %out: !tile.view<[C, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<64x64xf32>
  %ids = tile.iota : tensor<64xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<64xi32> -> !tile.rows<"dsv4", [64]>, tensor<64xi1>
  %x = tile.dequant %rows rope : !tile.rows<"dsv4", [64]> -> tensor<64x64xbf16>
  %x32 = arith.extf %x : tensor<64x64xbf16> to tensor<64x64xf32>
  %xT = tile.transpose %x32 : tensor<64x64xf32> -> tensor<64x64xf32>
  %a = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<64x16xbf16>
  %b = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x64xbf16>
  %s = tile.dot %a, %b, %s0 : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x64xf32>
  %t = arith.addf %s, %x32 : tensor<64x64xf32>
  %u = arith.addf %t, %xT : tensor<64x64xf32>
  tile.store %u, %out[%zero, %zero] : tensor<64x64xf32>, !tile.view<[C, H], f32>
  tile.return
}

// -----

// Half of that, 64 registers, is read twice.
// CHECK-LABEL: tile.kernel @narrow
// CHECK-NOT: tilegpu.alloc "convert"
// CHECK: tilegpu.load_shared %{{.*}} -> tensor<32x64xbf16
// CHECK: tilegpu.load_shared %{{.*}} -> tensor<32x64xbf16
tile.kernel @narrow warps(1) (%kv: !tile.pool<"dsv4">, %q: !tile.view<[M, K], bf16>, %out: !tile.view<[C, H], f32>) {
  %zero = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %s0 = tile.full %f0 : f32 -> tensor<32x64xf32>
  %ids = tile.iota : tensor<32xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  %x = tile.dequant %rows rope : !tile.rows<"dsv4", [32]> -> tensor<32x64xbf16>
  %x32 = arith.extf %x : tensor<32x64xbf16> to tensor<32x64xf32>
  %xT = tile.transpose %x32 : tensor<32x64xf32> -> tensor<64x32xf32>
  %a = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<32x16xbf16>
  %b = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x64xbf16>
  %s = tile.dot %a, %b, %s0 : tensor<32x16xbf16>, tensor<16x64xbf16>, tensor<32x64xf32>
  %t = arith.addf %s, %x32 : tensor<32x64xf32>
  %aT = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<64x16xbf16>
  %bT = tile.load %q[%zero, %zero] : !tile.view<[M, K], bf16> -> tensor<16x32xbf16>
  %s1 = tile.full %f0 : f32 -> tensor<64x32xf32>
  %sT = tile.dot %aT, %bT, %s1 : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32>
  %u = arith.addf %sT, %xT : tensor<64x32xf32>
  tile.store %t, %out[%zero, %zero] : tensor<32x64xf32>, !tile.view<[C, H], f32>
  tile.store %u, %out[%zero, %zero] : tensor<64x32xf32>, !tile.view<[C, H], f32>
  tile.return
}

// -----

// A sum of what follows from loads, whose rows stand in all warps as those of the
// large tile do: every warp loads all of it again, beside the first load, an
// element a lane. Two elements a lane are the most; others are exchanged.
// CHECK-LABEL: tile.kernel @loaded
// CHECK: tilegpu.alloc "reduce" : !tilegpu.buffer<4x1x128xf32
// CHECK-NOT: tilegpu.alloc
// CHECK: %[[X:.+]] = tile.load %x[%c0, %c0] {{.*}} -> tensor<16x1xf32, #[[SPREAD:.+]]>
// CHECK-NEXT: %[[AGAIN:.+]] = tile.load %x[%c0, %c0] {{.*}} -> tensor<16x1xf32, #[[LANES:.+]]>
// CHECK: %[[E:.+]] = math.exp2 %[[X]] : tensor<16x1xf32, #[[SPREAD]]>
// CHECK: %[[F:.+]] = math.exp2 %[[AGAIN]] : tensor<16x1xf32, #[[LANES]]>
// CHECK-NEXT: tilegpu.reduce_warp addf %[[F]] along 0 : tensor<16x1xf32, #[[LANES]]> -> tensor<1xf32
// CHECK: tile.broadcast %[[E]] along 2
// CHECK: tilegpu.reduce_warp addf %{{.+}} along 0 : tensor<16x1x128xf32, #{{.+}}> -> tensor<4x1x128xf32
// CHECK-LABEL: tile.kernel @more
// CHECK: tilegpu.alloc "reduce" : !tilegpu.buffer<4x1xf32
// CHECK: tile.load %x
// CHECK-NOT: tile.load %x
// CHECK: tilegpu.store_shared
tile.kernel @loaded warps(4) (%x: !tile.view<[M, N], f32>, %p: !tile.view<[M, N, K], f32>, %out: !tile.view<[M], f32>,
                            %y: !tile.view<[N, K], f32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<[M, N], f32> -> tensor<16x1xf32>
  %e = math.exp2 %a : tensor<16x1xf32>
  %sum = tile.reduce addf %e along 0 : tensor<16x1xf32> -> tensor<1xf32>
  tile.store %sum, %out[%c0] : tensor<1xf32>, !tile.view<[M], f32>
  %b = tile.load %p[%c0, %c0, %c0] : !tile.view<[M, N, K], f32> -> tensor<16x1x128xf32>
  %w = tile.broadcast %e along 2 : tensor<16x1xf32> -> tensor<16x1x128xf32>
  %c = arith.mulf %b, %w : tensor<16x1x128xf32>
  %all = tile.reduce addf %c along 0 : tensor<16x1x128xf32> -> tensor<1x128xf32>
  tile.store %all, %y[%c0, %c0] : tensor<1x128xf32>, !tile.view<[N, K], f32>
  tile.return
}
tile.kernel @more warps(4) (%x: !tile.view<[M, N], f32>, %p: !tile.view<[M, N, K], f32>, %out: !tile.view<[M], f32>,
                            %y: !tile.view<[N, K], f32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<[M, N], f32> -> tensor<128x1xf32>
  %e = math.exp2 %a : tensor<128x1xf32>
  %sum = tile.reduce addf %e along 0 : tensor<128x1xf32> -> tensor<1xf32>
  tile.store %sum, %out[%c0] : tensor<1xf32>, !tile.view<[M], f32>
  %b = tile.load %p[%c0, %c0, %c0] : !tile.view<[M, N, K], f32> -> tensor<128x1x128xf32>
  %w = tile.broadcast %e along 2 : tensor<128x1xf32> -> tensor<128x1x128xf32>
  %c = arith.mulf %b, %w : tensor<128x1x128xf32>
  %all = tile.reduce addf %c along 0 : tensor<128x1x128xf32> -> tensor<1x128xf32>
  tile.store %all, %y[%c0, %c0] : tensor<1x128xf32>, !tile.view<[N, K], f32>
  tile.return
}

// -----

// What the kernel stores is exchanged: a warp that loads for itself what another
// one's thread stores would need a barrier between.
// CHECK-LABEL: tile.kernel @in_place
// CHECK: tilegpu.alloc "reduce" : !tilegpu.buffer<4x1xf32
// CHECK: tile.load %x
// CHECK-NOT: tile.load %x
// CHECK: tile.store %{{.+}}, %x
tile.kernel @in_place warps(4) (%x: !tile.view<[M, N], f32>, %p: !tile.view<[M, N, K], f32>, %out: !tile.view<[M, N, K], f32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<[M, N], f32> -> tensor<16x1xf32>
  %sum = tile.reduce addf %a along 0 : tensor<16x1xf32> -> tensor<1xf32>
  %all = tile.broadcast %sum along 0 : tensor<1xf32> -> tensor<16x1xf32>
  %part = arith.divf %a, %all : tensor<16x1xf32>
  %b = tile.load %p[%c0, %c0, %c0] : !tile.view<[M, N, K], f32> -> tensor<16x1x128xf32>
  %w = tile.broadcast %part along 2 : tensor<16x1xf32> -> tensor<16x1x128xf32>
  %c = arith.mulf %b, %w : tensor<16x1x128xf32>
  tile.store %c, %out[%c0, %c0, %c0] : tensor<16x1x128xf32>, !tile.view<[M, N, K], f32>
  tile.store %part, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Nor what it counts.
// CHECK-LABEL: tile.kernel @counted
// CHECK: tilegpu.alloc "reduce" : !tilegpu.buffer<4x1xf32
// CHECK: tile.load %counters
// CHECK-NOT: tile.load %counters
// CHECK: tilegpu.store_shared
tile.kernel @counted warps(4) (%counters: !tile.view<[M, N], i32>, %p: !tile.view<[M, N, K], f32>, %out: !tile.view<[M, N, K], f32>) {
  %c0 = arith.constant 0 : index
  %c99 = arith.constant 99 : index
  %x = tile.load %counters[%c0, %c0] : !tile.view<[M, N], i32> -> tensor<16x1xi32>
  %a = arith.sitofp %x : tensor<16x1xi32> to tensor<16x1xf32>
  tile.atomic_inc relaxed %counters[%c0, %c0] modulo %c99 : !tile.view<[M, N], i32>
  %sum = tile.reduce addf %a along 0 : tensor<16x1xf32> -> tensor<1xf32>
  %all = tile.broadcast %sum along 0 : tensor<1xf32> -> tensor<16x1xf32>
  %part = arith.divf %a, %all : tensor<16x1xf32>
  %b = tile.load %p[%c0, %c0, %c0] : !tile.view<[M, N, K], f32> -> tensor<16x1x128xf32>
  %w = tile.broadcast %part along 2 : tensor<16x1xf32> -> tensor<16x1x128xf32>
  %c = arith.mulf %b, %w : tensor<16x1x128xf32>
  tile.store %c, %out[%c0, %c0, %c0] : tensor<16x1x128xf32>, !tile.view<[M, N, K], f32>
  tile.return
}
