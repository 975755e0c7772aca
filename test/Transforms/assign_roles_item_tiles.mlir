// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --tile-assign-roles | FileCheck %s --check-prefixes=CHECK,COPIED
// RUN: sed s/4c+4+8/4+4+8/ %s | mlatile-opt --split-input-file --tile-assign-roles | FileCheck %s --check-prefixes=CHECK,SECOND

// What is read once an item. Where rows are converted once for all, the tile is
// sent as it is loaded, and made what is needed by who needs it; a vector is
// loaded by whoever needs it. Else both are sent as they are used, from where
// they are used by both; constants and what only spreads a tile out are made
// anew.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vb   = !tile.view<[T, H], f32>

// CHECK-LABEL: tile.kernel @made
// COPIED: %[[ITEM:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16x448xbf16>]>
// SECOND: %[[ITEM:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16xf32>, tensor<16x448xbf16>]>
// CHECK-NOT: tilegpu.channel "item"
// CHECK: role "second"
// CHECK: scf.for
// CHECK: %[[BIAS:.+]] = tile.load %bias
// COPIED-NOT: tile.load
// SECOND: tile.load %q
// SECOND: %[[TWICE:.+]] = arith.addf
// SECOND-NEXT: tilegpu.send %[[BIAS]], %[[TWICE]] to %[[ITEM]]
// CHECK: scf.for
// CHECK: tile.broadcast %[[BIAS]] along 1 : tensor<16xf32> -> tensor<16x448xf32>
// CHECK: tilegpu.role_end
// CHECK: role "first"
// SECOND-NOT: tile.load
// COPIED: %[[OWN:.+]] = tile.load %bias
// COPIED: tile.broadcast %[[OWN]] along 1 : tensor<16xf32> -> tensor<16x32xf32>
// COPIED: %[[GOT:.+]] = tilegpu.receive %[[ITEM]]
// SECOND: %[[GOT:.+]]:2 = tilegpu.receive %[[ITEM]]
// CHECK-NOT: tile.load
// COPIED: %[[MADE:.+]] = arith.addf %[[GOT]], %[[GOT]]
// SECOND: tile.broadcast %[[GOT]]#0 along 1 : tensor<16xf32> -> tensor<16x32xf32>
// CHECK: scf.for
// COPIED: tile.dot %[[MADE]], %
// SECOND: tile.dot %[[GOT]]#1, %
// CHECK: tilegpu.role_end
// CHECK: role "gather"
// COPIED: tilegpu.send_copy %q[
// CHECK-NOT: tile.load %{{q|bias}}
// CHECK: tilegpu.role_end
tile.kernel @made warps(16) (%q : !vq, %bias : !vb, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  scf.for %t = %c0 to %n step %c1 {
    %b = tile.load %bias[%t, %c0] : !vb -> tensor<16xf32>
    %bs = tile.broadcast %b along 1 : tensor<16xf32> -> tensor<16x32xf32>
    %half = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %query = arith.addf %half, %half : tensor<16x448xbf16>
    %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %query, %kt, %bs : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %bo = tile.broadcast %b along 1 : tensor<16xf32> -> tensor<16x448xf32>
    %y = arith.mulf %o, %bo : tensor<16x448xf32>
    tile.store %y, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
  }
  tile.return
}

// -----

// A query that is the output of the item before is loaded by who stored it. (Not
// so where rows are converted: assign_roles_items_invalid.mlir.)
// CHECK-LABEL: tile.kernel @output_of_the_last
// CHECK: %[[ITEM:.+]] = tilegpu.channel "item"
// CHECK: role "second"
// CHECK: tile.load %out
// CHECK: tilegpu.send %{{.+}} to %[[ITEM]]
// CHECK: tile.store %{{.+}}, %out
// CHECK: tilegpu.role_end
// CHECK-NOT: tile.load %out
tile.kernel @output_of_the_last warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32,
                                           %out : !tile.view<[T, H, D], f32>) attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %zero = tile.full %x : f32 -> tensor<16x32xf32>
  scf.for %t = %c0 to %n step %c1 {
    %q0 = tile.load %out[%t, %c0, %c0] : !tile.view<[T, H, D], f32> -> tensor<16x448xf32>
    %q = arith.truncf %q0 : tensor<16x448xf32> to tensor<16x448xbf16>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
      %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %q, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    }
    %next = arith.addi %t, %c1 : index
    tile.store %o, %out[%next, %c0, %c0] : tensor<16x448xf32>, !tile.view<[T, H, D], f32>
  }
  tile.return
}

// -----

// A tile that two roles need is sent once, to both of them.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>

// CHECK-LABEL: tile.kernel @of_both
// COPIED: %[[ITEM:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16x448xbf16>]>
// COPIED-NOT: tilegpu.channel "item"
// COPIED: role "second"
// COPIED: scf.for
// COPIED: scf.for
// COPIED: %[[AGAIN:.+]] = tilegpu.receive %[[ITEM]]
// COPIED: arith.extf %[[AGAIN]]
// COPIED: role "first"
// COPIED: %[[GOT:.+]] = tilegpu.receive %[[ITEM]]
// COPIED: scf.for
// COPIED: tile.dot %[[GOT]]
// COPIED: role "gather"
// COPIED: tilegpu.send_copy %q[{{.*}}] to %[[ITEM]]
// COPIED-NOT: tilegpu.send_copy
tile.kernel @of_both warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %q32 = arith.extf %query : tensor<16x448xbf16> to tensor<16x448xf32>
    %y = arith.addf %o, %q32 : tensor<16x448xf32>
    tile.store %y, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
  }
  tile.return
}

// -----

// Each tile has a channel, in the order of its loads. Not copied are tiles that
// end before their view does, those whose rows are no whole pieces of 16 bytes,
// and what is loaded between two lists.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>
!vs   = !tile.view<[T, H, N], f32>

// CHECK-LABEL: tile.kernel @which
// COPIED-DAG: %[[NOPE:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16x448xbf16>]>
// COPIED-DAG: %[[ROPE:.+]] = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<16x64xbf16>]>
// COPIED: role "first"
// COPIED-NOT: tile.load %q
// COPIED: tile.load %start[{{.*}}] limit %n else
// COPIED: tile.load %start[{{.*}}] : !tile.view<[T, H, N], f32> -> tensor<16x2xf32>
// COPIED: scf.for
// COPIED: tile.load %q2
// COPIED: scf.for
// COPIED: role "gather"
// COPIED: tilegpu.send_copy %q[%{{.+}}, %c0, %c0] to %[[NOPE]]
// COPIED: tilegpu.send_copy %q[%{{.+}}, %c0, %c448] to %[[ROPE]]
// COPIED-NOT: tilegpu.send_copy
// COPIED-NOT: tile.load %{{start|q}}
// COPIED: tilegpu.role_end
tile.kernel @which warps(16) (%q : !vq, %q2 : !vq, %start : !vs, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c448 = arith.constant 448 : index
  %f0 = arith.constant 0.0 : f32
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
  scf.for %t = %c0 to %n step %c1 {
    %qn = tile.load %q[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %qr = tile.load %q[%t, %c0, %c448] : !vq -> tensor<16x64xbf16>
    %ended = tile.load %start[%t, %c0, %c0] limit %n else %f0 : !vs -> tensor<16x32xf32>
    %narrow = tile.load %start[%t, %c0, %c0] : !vs -> tensor<16x2xf32>
    %most = tile.reduce maximumf %narrow along 1 : tensor<16x2xf32> -> tensor<16xf32>
    %spread = tile.broadcast %most along 1 : tensor<16xf32> -> tensor<16x32xf32>
    %zero = arith.addf %ended, %spread : tensor<16x32xf32>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %r = tile.dequant %rows rope : !rows -> tensor<32x64xbf16>
      %rt = tile.transpose %r : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %s0 = tile.dot %qn, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %s = tile.dot %qr, %rt, %s0 : tensor<16x64xbf16>, tensor<64x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    %qb = tile.load %q2[%t, %c0, %c0] : !vq -> tensor<16x448xbf16>
    %o2 = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o) -> (tensor<16x448xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %qb, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o2, %out[%t, %c0, %c0] : tensor<16x448xf32>, !vo
  }
  tile.return
}
