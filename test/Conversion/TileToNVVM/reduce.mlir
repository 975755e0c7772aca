// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 2]>
#part = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 1], [0, 2]], reps = [1, 1]>
#m = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], reps = [1, 2]>
#rows = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]], reps = [1]>

// Warps share the rows: four registers to one, two lane bits, one column a warp.
// CHECK-LABEL: llvm.func @across(
tile.kernel @across warps(4) (%dst: !tile.view<[T, N], f32>, %s: f32, %src: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<16x64xf32, #acc>
  // CHECK-COUNT-3: llvm.intr.maximum
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[B0:.*]], %{{.*}} : f32 -> f32
  // CHECK: llvm.intr.maximum
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-COUNT-4: llvm.intr.maximum
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  // CHECK-NOT: shfl
  %m = tilegpu.reduce_warp maximumf %x along 1 : tensor<16x64xf32, #acc> -> tensor<16x4xf32, #part>
  tile.store %m, %dst[%zero, %zero] : tensor<16x4xf32, #part>, !tile.view<[T, N], f32>
  tile.return
}

// Each warp has whole rows: the dimension is dropped.
// CHECK-LABEL: llvm.func @whole(
tile.kernel @whole warps(4) (%dst: !tile.view<[T], f32>, %src: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<64x16xf32, #m>
  // CHECK-COUNT-3: llvm.fadd
  // CHECK: nvvm.shfl.sync bfly
  // CHECK: llvm.fadd
  // CHECK: nvvm.shfl.sync bfly
  // CHECK: llvm.fadd
  %m = tilegpu.reduce_warp addf %x along 1 : tensor<64x16xf32, #m> -> tensor<64xf32, #rows>
  tile.store %m, %dst[%zero] : tensor<64xf32, #rows>, !tile.view<[T], f32>
  tile.return
}

// Along the rows: three lane bits for each of four columns; two are i32.
// CHECK-LABEL: llvm.func @integers(
tile.kernel @integers warps(1) (%dst: !tile.view<[T], i32>, %src: !tile.view<[T, N], i32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], i32> -> tensor<16x8xi32, #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>>
  // CHECK: llvm.intr.smax
  // CHECK-COUNT-3: nvvm.shfl.sync bfly %{{.*}} : i32 -> i32
  // CHECK: llvm.intr.smax
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK-NOT: shfl
  %m = tilegpu.reduce_warp maxsi %x along 0 : tensor<16x8xi32, #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>> -> tensor<8xi32, #tilegpu.layout<reg = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [], reps = [1]>>
  tile.store %m, %dst[%zero] : tensor<8xi32, #tilegpu.layout<reg = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [], reps = [1]>>, !tile.view<[T], i32>
  tile.return
}

// Bits of lanes from the highest on, so that where they hold a coordinate the
// order is that of registers that would.
// CHECK-LABEL: llvm.func @highest_first(
tile.kernel @highest_first warps(1) (%dst: !tile.view<[T], f32>, %src: !tile.view<[T], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<32xf32, #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>>
  %c = tile.broadcast %x along 0 : tensor<32xf32, #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>> -> tensor<1x32xf32, #tilegpu.layout<reg = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], reps = [1, 1]>>
  // CHECK: %[[B16:.+]] = llvm.mlir.constant(16 : i32)
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[B16]],
  // CHECK: %[[B8:.+]] = llvm.mlir.constant(8 : i32)
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[B8]],
  // CHECK: %[[B1:.+]] = llvm.mlir.constant(1 : i32)
  // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[B1]],
  // CHECK-NOT: shfl
  %m = tilegpu.reduce_warp addf %c along 1 : tensor<1x32xf32, #tilegpu.layout<reg = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], reps = [1, 1]>> -> tensor<1xf32, #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], reps = [1]>>
  tile.store %m, %dst[%zero] : tensor<1xf32, #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], reps = [1]>>, !tile.view<[T], f32>
  tile.return
}
