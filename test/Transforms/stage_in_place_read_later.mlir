// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu | FileCheck %s

// The record itself is multiplied too: it stays. Whichever comes first.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!q    = tensor<16x448xbf16>
!q16  = tensor<16x448xf16>
!q32  = tensor<16x448xf32>
!row  = tensor<16xf32>
!k    = tensor<32x448xbf16>
!k16  = tensor<32x448xf16>
!k32  = tensor<32x448xf32>
!kt   = tensor<448x32xbf16>
!kt16 = tensor<448x32xf16>
!s    = tensor<16x32xf32>
!p    = tensor<16x32xbf16>

// CHECK-LABEL: tile.kernel @multiplied_before
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK: %[[RING:.+]] = tilegpu.alloc "item"
// CHECK: role "first"
// CHECK: %[[Q:.+]] = tilegpu.stage %[[RING]][
// CHECK-NOT: tilegpu.sync
// CHECK: tilegpu.store_shared %{{.+}}, %[[OWN]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[Q]], %
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.role_end
tile.kernel @multiplied_before warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> !s
  %o_ = tile.full %f0 : f32 -> !q32
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> !q
    %q32 = arith.extf %query : !q to !q32
    %q16 = arith.truncf %q32 : !q32 to !q16
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s0 = tile.dot %query, %kt, %zero : !q, !kt, !s
      %s = tile.dot %q16, %kt16, %s0 : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!q    = tensor<16x448xbf16>
!q16  = tensor<16x448xf16>
!q32  = tensor<16x448xf32>
!row  = tensor<16xf32>
!k    = tensor<32x448xbf16>
!k16  = tensor<32x448xf16>
!k32  = tensor<32x448xf32>
!kt   = tensor<448x32xbf16>
!kt16 = tensor<448x32xf16>
!s    = tensor<16x32xf32>
!p    = tensor<16x32xbf16>

// CHECK-LABEL: tile.kernel @multiplied_after
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK: %[[RING:.+]] = tilegpu.alloc "item"
// CHECK: role "first"
// CHECK: %[[Q:.+]] = tilegpu.stage %[[RING]][
// CHECK: tilegpu.store_shared %{{.+}}, %[[OWN]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.dot %[[Q]], %
// CHECK: tilegpu.role_end
tile.kernel @multiplied_after warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> !s
  %o_ = tile.full %f0 : f32 -> !q32
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> !q
    %q32 = arith.extf %query : !q to !q32
    %q16 = arith.truncf %q32 : !q32 to !q16
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s0 = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %s = tile.dot %query, %kt, %s0 : !q, !kt, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

// Reduced in the loop, by other warps: read again where it is read, before f16
// takes its place.
!ids  = tensor<64xi32>
!ok   = tensor<64xi1>
!rows = !tile.rows<"dsv4", [64]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vr   = !tile.view<[T, H], f32>
!q    = tensor<16x64xbf16>
!q16  = tensor<16x64xf16>
!q32  = tensor<16x64xf32>
!o32  = tensor<16x64xf32>
!row  = tensor<16xf32>
!k    = tensor<64x64xbf16>
!k16  = tensor<64x64xf16>
!k32  = tensor<64x64xf32>
!kt16 = tensor<64x64xf16>
!s    = tensor<16x64xf32>
!p    = tensor<16x64xbf16>
// CHECK-LABEL: tile.kernel @reduced_later
// CHECK: role "first"
// CHECK: %[[REC:.+]] = tilegpu.stage
// CHECK: %[[ONE:.+]] = tilegpu.load_shared %[[REC]]
// CHECK-NEXT: %[[TWO:.+]] = tilegpu.load_shared %[[REC]]
// CHECK: tilegpu.store_shared %{{.+}} : tensor<16x64xf16
// CHECK: scf.for
// CHECK-NOT: tilegpu.load_shared %[[REC]]
// CHECK: tilegpu.role_end
tile.kernel @reduced_later warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %rowout : !vr, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> !s
  %r0 = tile.full %f0 : f32 -> !row
  %o_ = tile.full %f0 : f32 -> !o32
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> !q
    %q32 = arith.extf %query : !q to !q32
    %q16 = arith.truncf %q32 : !q32 to !q16
    %o, %rr = scf.for %i = %c0 to %n step %c64 iter_args(%o0 = %o_, %ra = %r0) -> (!o32, !row) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows rope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s0 = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %mx = tile.reduce maximumf %s0 along 1 : !s -> !row
      %m2 = tile.reduce maximumf %q32 along 1 : !q32 -> !row
      %mm = arith.addf %mx, %m2 : !row
      %rn = arith.addf %mm, %ra : !row
      %mb = tile.broadcast %mm along 1 : !row -> !s
      %s1 = arith.subf %s0, %mb : !s
      %s = arith.mulf %s1, %q32 : !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !o32
      scf.yield %o1, %rn : !o32, !row
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !o32, !vo
  }
  tile.return
}
