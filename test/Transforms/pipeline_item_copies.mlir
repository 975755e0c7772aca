// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file | FileCheck %s

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, N, D], bf16>
!ring = !tilegpu.ring<1, !tilegpu.buffer<16x64xbf16, stride = 144>>
!buf  = !tilegpu.buffer<16x64xbf16, stride = 144>
!bar  = !tilegpu.mbarriers<1>

// A copy for something else stands in front of a loop over rows, behind the wait
// for its place: ids, in their order, and the rows of the first tiles go before
// both, since they are needed sooner.
// CHECK-LABEL: tile.kernel @before_copies
// CHECK: %[[FREE:.+]] = tilegpu.alloc "free" :
// CHECK: %[[FREE2:.+]] = tilegpu.alloc "free2" :
// CHECK: scf.for %[[T:[a-z0-9]+]] =
// CHECK: %[[FIRST:.+]] = tile.load %idx[%[[T]], %c0]
// CHECK: %[[SECOND:.+]] = tile.load %idx[%[[T]], %{{[0-9]+}}]
// CHECK: scf.if
// CHECK: tilegpu.gather_async %kv[%[[FIRST]]]
// CHECK: scf.if
// CHECK: tilegpu.gather_async %kv[%[[SECOND]]]
// CHECK-NOT: tile.load
// CHECK: tilegpu.mbarrier_wait %[[FREE]][
// CHECK: tilegpu.copy_async %q[%[[T]], %c0, %c0]
// CHECK: tilegpu.mbarrier_wait %[[FREE2]][
// CHECK: tilegpu.copy_async %q[%[[T]], %c0, %c64]
// CHECK-NOT: tile.load
// CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[SECOND]],
tile.kernel @before_copies warps(4) (%kv : !pool, %idx : !vid, %q : !vq, %o : !vo, %n : index, %i0 : i32, %parity : i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %item = tilegpu.alloc "item" : !ring
  %free = tilegpu.alloc "free" : !bar
  %full = tilegpu.alloc "full" : !bar
  %item2 = tilegpu.alloc "item2" : !ring
  %free2 = tilegpu.alloc "free2" : !bar
  scf.for %t = %c0 to %n step %c1 {
    %place = tilegpu.stage %item[%i0] : !ring -> !buf
    tilegpu.mbarrier_wait %free[%i0], %parity : !bar
    tilegpu.copy_async %q[%t, %c0, %c0] into %place signal %full[%i0] by #pieces : !vq, !buf, !bar
    tilegpu.mbarrier_wait %free2[%i0], %parity : !bar
    %place2 = tilegpu.stage %item2[%i0] : !ring -> !buf
    %other = arith.xori %parity, %one : i32
    tilegpu.copy_async %q[%t, %c0, %c64] into %place2 signal %full[%i0] by #pieces : !vq, !buf, !bar
    scf.for %w = %c0 to %n step %c16 {
      %ids = tile.load %idx[%t, %w] : !vid -> tensor<16xi32>
      %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
      %k = tile.dequant %rows rope : !rows -> tensor<16x64xbf16>
      tile.store %k, %o[%t, %w, %c0] : tensor<16x64xbf16>, !vo
    } {tile.pipeline = #tile.pipeline<stages = 2>}
  }
  tile.return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, N, D], bf16>
!buf  = !tilegpu.buffer<16x64xbf16, stride = 144>
!bar  = !tilegpu.mbarriers<1>

// Two rows a candidate: all ids of a tile, then those of the next, as they stand
// in the loop; none of them passes another.
// CHECK-LABEL: tile.kernel @in_order
// CHECK: %[[FREE:.+]] = tilegpu.alloc "free" :
// CHECK: scf.for %[[T:[a-z0-9]+]] =
// CHECK: tile.load %idx[%[[T]], %c0]
// CHECK: tile.load %idx2[%[[T]], %c0]
// CHECK: tile.load %idx[%[[T]], %[[AHEAD:[0-9]+]]]
// CHECK: tile.load %idx2[%[[T]], %[[AHEAD]]]
// CHECK: scf.if
// CHECK: scf.if
// CHECK: tilegpu.mbarrier_wait %[[FREE]][
// CHECK: tilegpu.copy_async
// CHECK-NOT: tile.load
// CHECK: scf.for
tile.kernel @in_order warps(4) (%kv : !pool, %idx : !vid, %idx2 : !vid, %q : !vq, %o : !vo, %n : index, %i0 : i32, %parity : i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %item = tilegpu.alloc "item" : !buf
  %free = tilegpu.alloc "free" : !bar
  %full = tilegpu.alloc "full" : !bar
  scf.for %t = %c0 to %n step %c1 {
    tilegpu.mbarrier_wait %free[%i0], %parity : !bar
    tilegpu.copy_async %q[%t, %c0, %c0] into %item signal %full[%i0] by #pieces : !vq, !buf, !bar
    scf.for %w = %c0 to %n step %c16 {
      %ids = tile.load %idx[%t, %w] : !vid -> tensor<16xi32>
      %ids2 = tile.load %idx2[%t, %w] : !vid -> tensor<16xi32>
      %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
      %rows2, %ok2 = tile.gather %kv[%ids2] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
      %k = tile.dequant %rows rope : !rows -> tensor<16x64xbf16>
      %k2 = tile.dequant %rows2 rope : !rows -> tensor<16x64xbf16>
      %sum = arith.addf %k, %k2 : tensor<16x64xbf16>
      tile.store %sum, %o[%t, %w, %c0] : tensor<16x64xbf16>, !vo
    } {tile.pipeline = #tile.pipeline<stages = 2>}
  }
  tile.return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
!pool = !tile.pool<"dsv4">
!rows = !tile.rows<"dsv4", [16]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, N, D], bf16>
!buf  = !tilegpu.buffer<16x64xbf16, stride = 144>
!bar  = !tilegpu.mbarriers<1>

// A copy that does not stand behind its wait stays in front, and so does a wait
// for something else.
// CHECK-LABEL: tile.kernel @stays
// CHECK: scf.for
// CHECK-NOT: tile.load
// CHECK: tilegpu.mbarrier_wait
// CHECK-NOT: tile.load
// CHECK: tilegpu.mbarrier_arrive
// CHECK-NEXT: tilegpu.copy_async
// CHECK: tile.load %idx
// CHECK: tile.load %idx
// CHECK: scf.if
// CHECK: scf.for
tile.kernel @stays warps(4) (%kv : !pool, %idx : !vid, %q : !vq, %o : !vo, %n : index, %i0 : i32, %parity : i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %item = tilegpu.alloc "item" : !buf
  %free = tilegpu.alloc "free" : !bar
  %full = tilegpu.alloc "full" : !bar
  scf.for %t = %c0 to %n step %c1 {
    tilegpu.mbarrier_wait %free[%i0], %parity : !bar
    tilegpu.mbarrier_arrive %free[%i0] : !bar
    tilegpu.copy_async %q[%t, %c0, %c0] into %item signal %full[%i0] by #pieces : !vq, !buf, !bar
    scf.for %w = %c0 to %n step %c16 {
      %ids = tile.load %idx[%t, %w] : !vid -> tensor<16xi32>
      %rows, %ok = tile.gather %kv[%ids] : !pool, tensor<16xi32> -> !rows, tensor<16xi1>
      %k = tile.dequant %rows rope : !rows -> tensor<16x64xbf16>
      tile.store %k, %o[%t, %w, %c0] : tensor<16x64xbf16>, !vo
    } {tile.pipeline = #tile.pipeline<stages = 2>}
  }
  tile.return
}
