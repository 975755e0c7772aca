// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles --tile-assign-layouts --tilegpu-lower-channels --tilegpu-pipeline-gathers --tile-to-tilegpu | FileCheck %s

// What is made element by element of a record that was copied takes its place,
// as wide as it is. It is read once more for that, behind a barrier of the role,
// so that nobody holds it meanwhile; another barrier, and it is stored. The place
// is free behind the loop that multiplies it.
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

// CHECK-LABEL: tile.kernel @in_place
// CHECK-NOT: tilegpu.alloc "a"
// CHECK: %[[RING:.+]] = tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x448xbf16, stride = 912>>
// CHECK-NEXT: tilegpu.alloc "full"
// CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty"
// CHECK-NOT: tilegpu.alloc "a"
// CHECK: role "first"
// CHECK: %[[Q:.+]] = tilegpu.stage %[[RING]][
// CHECK: tilegpu.load_shared %[[Q]]
// CHECK: tilegpu.reduce_warp maximumf
// CHECK: %[[FACTOR:.+]] = tile.broadcast
// CHECK: tilegpu.sync role
// CHECK-NEXT: %[[AGAIN:.+]] = tilegpu.load_shared %[[Q]]
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[AGAIN]]
// CHECK-NEXT: %[[SCALED:.+]] = arith.mulf %[[WIDE]], %[[FACTOR]]
// CHECK-NEXT: %[[MADE:.+]] = arith.truncf %[[SCALED]] : {{.*}} to tensor<16x448xf16
// CHECK-NEXT: %[[PLACE:.+]] = tilegpu.view %[[Q]] + 0 : !tilegpu.buffer<16x448xbf16, stride = 912> -> !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK-NEXT: tilegpu.sync role
// CHECK-NEXT: tilegpu.store_shared %[[MADE]], %[[PLACE]]
// CHECK-NEXT: tilegpu.sync role
// CHECK: scf.for
// CHECK: tilegpu.dot %[[PLACE]], %
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]]
// CHECK: tilegpu.role_end
tile.kernel @in_place warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
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
    %a = math.absf %q32 : !q32
    %most = tile.reduce maximumf %a along 1 : !q32 -> !row
    %factor = tile.broadcast %most along 1 : !row -> !q32
    %scaled = arith.mulf %q32, %factor : !q32
    %q16 = arith.truncf %scaled : !q32 to !q16
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

// There is one place: a second operand of the same record has a buffer, stored
// from what was read before.
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

// CHECK-LABEL: tile.kernel @second_operand
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK-NOT: tilegpu.alloc "a"
// CHECK: role "first"
// CHECK: %[[Q:.+]] = tilegpu.stage
// CHECK: %[[READ:.+]] = tilegpu.load_shared %[[Q]]
// CHECK: %[[WIDE:.+]] = arith.extf %[[READ]]
// CHECK: %[[PLACE:.+]] = tilegpu.view %[[Q]] + 0
// CHECK: tilegpu.store_shared %{{.+}}, %[[PLACE]]
// CHECK-NOT: tilegpu.load_shared
// CHECK: %[[SUM:.+]] = arith.addf %[[WIDE]], %[[WIDE]]
// CHECK: %[[TWICE:.+]] = arith.truncf %[[SUM]]
// CHECK: tilegpu.store_shared %[[TWICE]], %[[OWN]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[PLACE]], %
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.role_end
tile.kernel @second_operand warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
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
    %sum = arith.addf %q32, %q32 : !q32
    %twice = arith.truncf %sum : !q32 to !q16
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s0 = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %s = tile.dot %twice, %kt16, %s0 : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

// Elements of another width do not take the place.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], f32>
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

// CHECK-LABEL: tile.kernel @other_width
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK: tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x448xf32
// CHECK: role "first"
// CHECK-NOT: tilegpu.sync
// CHECK: tilegpu.store_shared %{{.+}}, %[[OWN]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.role_end
tile.kernel @other_width warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> !s
  %o_ = tile.full %f0 : f32 -> !q32
  scf.for %t = %c0 to %n step %c1 {
    %q32 = tile.load %q[%t, %c0, %c0] : !vq -> !q32
    %q16 = arith.truncf %q32 : !q32 to !q16
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %s = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

// Nor does anything where another role reads the record as well.
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

// CHECK-LABEL: tile.kernel @other_reader
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK: role "second"
// CHECK: tile.store
// CHECK: role "first"
// CHECK-NOT: tilegpu.sync
// CHECK: tilegpu.store_shared %{{.+}}, %[[OWN]]
// CHECK: scf.for
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.role_end
tile.kernel @other_reader warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
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
      %s = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %more = arith.addf %o, %q32 : !q32
    tile.store %more, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}

// -----

// Nor what a loop makes of it: the next iteration makes it again.
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

// CHECK-LABEL: tile.kernel @in_the_loop
// CHECK: %[[OWN:.+]] = tilegpu.alloc "a" : !tilegpu.buffer<16x448xf16, stride = 912>
// CHECK: role "first"
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tilegpu.sync
// CHECK: tilegpu.store_shared %{{.+}}, %[[OWN]]
// CHECK: tilegpu.dot %[[OWN]], %
// CHECK: tilegpu.role_end
tile.kernel @in_the_loop warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
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
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (!q32) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> !k
      %k32 = arith.extf %k : !k to !k32
      %k16 = arith.truncf %k32 : !k32 to !k16
      %kt = tile.transpose %k : !k -> !kt
      %kt16 = tile.transpose %k16 : !k16 -> !kt16
      %q16 = arith.truncf %q32 : !q32 to !q16
      %s = tile.dot %q16, %kt16, %zero : !q16, !kt16, !s
      %p = arith.truncf %s : !s to !p
      %o1 = tile.dot %p, %k, %o0 : !p, !k, !q32
      scf.yield %o1 : !q32
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : !q32, !vo
  }
  tile.return
}
