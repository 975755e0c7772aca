// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu --tilegpu-hold-operands | FileCheck %s

// A query that is stored anew for each item: its first columns are read once an
// item, before the inner loop, and the rest in each iteration.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @items
// CHECK: role "first"
// CHECK: scf.for
// CHECK: tilegpu.store_shared %{{.+}}, %[[Q:.+]] : tensor<16x448xbf16
// CHECK: %[[PART:.+]] = tilegpu.view %[[Q]] + 0
// CHECK: %[[HELD:.+]] = tilegpu.load_shared %[[PART]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[HELD]]
// CHECK: %[[REST:.+]] = tilegpu.view %[[Q]] +
// CHECK: tilegpu.dot %[[REST]]
// CHECK: tilegpu.role_end
tile.kernel @items warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %max : !vm)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  %T = tile.dim %idx, 0 : !vid
  %W = tile.dim %idx, 1 : !vid
  %first = tile.program_id 0 : index
  %step = tile.num_programs 0 : index
  scf.for %t = %first to %T step %step {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
    %m_ = tile.full %f0 : f32 -> tensor<16xf32>
    %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
    %m, %o = scf.for %i = %c0 to %W step %c32 iter_args(%m0 = %m_, %o0 = %o_) -> (tensor<16xf32>, tensor<16x448xf32>) {
      %ids = tile.load %idx[%t, %i] limit %W else %skip : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %mt = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
      %m1 = arith.maximumf %m0, %mt : tensor<16xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o2 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %m1, %o2 : tensor<16xf32>, tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %mb = tile.broadcast %m along 1 : tensor<16xf32> -> tensor<16x448xf32>
    %scaled = arith.mulf %o, %mb : tensor<16x448xf32>
    tile.store %scaled, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
    tile.store %m, %max[%t, %c0] : tensor<16xf32>, !vm
  }
  tile.return
}

// -----

// Another query in each iteration: nothing can be held.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vm   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @changes
// CHECK: role "first"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tilegpu.store_shared %{{.+}}, %[[Q:.+]] : tensor<16x448xbf16
// CHECK: tilegpu.dot %[[Q]], %{{.+}} : !tilegpu.buffer<16x448xbf16
// CHECK: tilegpu.role_end
tile.kernel @changes warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %max : !vm)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  %T = tile.dim %idx, 0 : !vid
  %W = tile.dim %idx, 1 : !vid
  %first = tile.program_id 0 : index
  %step = tile.num_programs 0 : index
  scf.for %t = %first to %T step %step {
    %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
    %m_ = tile.full %f0 : f32 -> tensor<16xf32>
    %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
    %m, %o = scf.for %i = %c0 to %W step %c32 iter_args(%m0 = %m_, %o0 = %o_) -> (tensor<16xf32>, tensor<16x448xf32>) {
      %ids = tile.load %idx[%t, %i] limit %W else %skip : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %query = tile.load %q[%t, %i, %c0] : !vq -> tensor<16x448xbf16>
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %mt = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
      %m1 = arith.maximumf %m0, %mt : tensor<16xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o2 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %m1, %o2 : tensor<16xf32>, tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %mb = tile.broadcast %m along 1 : tensor<16xf32> -> tensor<16x448xf32>
    %scaled = arith.mulf %o, %mb : tensor<16x448xf32>
    tile.store %scaled, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
    tile.store %m, %max[%t, %c0] : tensor<16xf32>, !vm
  }
  tile.return
}
