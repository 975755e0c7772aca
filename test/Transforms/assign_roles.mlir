// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles --split-input-file | FileCheck %s

// A query, keys, values, and a running maximum: nothing of attention but two
// products after each other.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[T, W], i32>
!vq   = !tile.view<[H, D], bf16>
!vo   = !tile.view<[H, D], f32>
!vm   = !tile.view<[H], f32>

// CHECK-LABEL: tile.kernel @chain warps(16)
// CHECK-NOT: tile.roles
tile.kernel @chain warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %n : index, %out : !vo, %max : !vm)
    attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  // CHECK-NOT: tile.load
  // CHECK-DAG: %[[ROWS:.+]] = tilegpu.channel "rows" : !tilegpu.channel<3, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>
  // CHECK-DAG: %[[HAND:.+]] = tilegpu.channel "handover" : !tilegpu.channel<2, [tensor<16xf32>, tensor<16x32xbf16>]>
  // CHECK-DAG: %[[QB:.+]] = tilegpu.channel "before" : !tilegpu.channel<1, [tensor<16x448xbf16>]>
  // CHECK: tilegpu.roles
  %query = tile.load %q[%c0, %c0] : !vq -> tensor<16x448xbf16>
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %m_ = tile.full %f0 : f32 -> tensor<16xf32>
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>

  // The query is sent by those who have nothing to do yet. What depends on the
  // second product, and the vector as a vector.
  // CHECK-NEXT: role "second" warps(8) registers(176) {
  // CHECK: %[[Q:.+]] = tile.load %q
  // CHECK-NEXT: tilegpu.send %[[Q]] to %[[QB]]
  // CHECK: %[[O:.+]] = scf.for {{.*}} iter_args(%[[O0:.+]] = %{{.+}}) -> (tensor<16x448xf32>)
  // CHECK-DAG: %[[R:.+]]:2 = tilegpu.receive %[[ROWS]]
  // CHECK-DAG: %[[H:.+]]:2 = tilegpu.receive %[[HAND]]
  // CHECK-DAG: tilegpu.scale %[[O0]] by %[[H]]#0 along 1
  // CHECK-DAG: %[[V:.+]] = tile.dequant %[[R]]#0 nope
  // CHECK: tile.dot %[[H]]#1, %[[V]], %
  // CHECK-NOT: tile.gather
  // CHECK: tile.store %[[O]], %out
  // CHECK: tilegpu.role_end

  // The first product, its warps along the rows, and what is stored of it.
  // CHECK: role "first" warps(4) registers(128) {
  // CHECK-NOT: tile.load
  // CHECK: %[[QR:.+]] = tilegpu.receive %[[QB]]
  // CHECK: scf.for {{.*}} -> (tensor<16xf32>)
  // CHECK: %[[K:.+]]:2 = tilegpu.receive %[[ROWS]]
  // CHECK: tile.dot %[[QR]], %{{.+}}, %{{.+}} {warps = array<i64: 1, 4>}
  // CHECK: tilegpu.send %{{.+}}, %{{.+}} to %[[HAND]] : tensor<16xf32>, tensor<16x32xbf16>
  // CHECK: tile.store %{{.+}}, %max
  // CHECK: tilegpu.role_end

  // CHECK: role "gather" warps(4) registers(32) {
  // CHECK: tile.load %idx
  // CHECK: %[[G:.+]], %[[OK:.+]] = tile.gather
  // CHECK: tilegpu.send %[[G]], %[[OK]] to %[[ROWS]]
  // CHECK-NOT: tile.d
  // CHECK: tilegpu.role_end
  // CHECK-NOT: scf.for
  %m, %o = scf.for %i = %c0 to %n step %c32 iter_args(%m0 = %m_, %o0 = %o_) -> (tensor<16xf32>, tensor<16x448xf32>) {
    %ids = tile.load %idx[%c0, %i] limit %n else %skip : !vid -> !ids
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
    %k = tile.dequant %rows nope : !rows -> tensor<32x448xbf16>
    %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
    %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
    %mt = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
    %m1 = arith.maximumf %m0, %mt : tensor<16xf32>
    %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
    %mb = tile.broadcast %m1 along 1 : tensor<16xf32> -> tensor<16x448xf32>
    %o1 = arith.mulf %o0, %mb : tensor<16x448xf32>
    %o2 = tile.dot %p, %k, %o1 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
    scf.yield %m1, %o2 : tensor<16xf32>, tensor<16x448xf32>
  } {tile.pipeline = #tile.pipeline<stages = 3>}
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !vo
  tile.store %m, %max[%c0] : tensor<16xf32>, !vm
  tile.return
}

// -----

// Without roles nothing changes.
// CHECK-LABEL: @none
// CHECK-NOT: tilegpu
tile.kernel @none warps(4) (%x : f32, %max : !tile.view<[H], f32>) {
  %c0 = arith.constant 0 : index
  %t = tile.full %x : f32 -> tensor<16xf32>
  tile.store %t, %max[%c0] : tensor<16xf32>, !tile.view<[H], f32>
  tile.return
}

// -----

// Rows converted once, by the warps that gather: their own ring, three stages.
// CHECK-LABEL: tile.kernel @converts warps(12)
// CHECK-NOT: tile.load %q
// CHECK-DAG: %[[CONV:.+]] = tilegpu.channel "converted" : !tilegpu.channel<1, [tensor<32x448xbf16>]>
// CHECK-DAG: %[[HAND:.+]] = tilegpu.channel "handover" : !tilegpu.channel<1, [tensor<16x32xbf16>]>
// CHECK: tilegpu.roles
// CHECK-NEXT: role "second" warps(4)
// CHECK-NEXT: %[[Q:.+]] = tile.load %q
// CHECK-NEXT: tilegpu.send %[[Q]] to %[[BEFORE:[^ ]+]]
// CHECK: tilegpu.receive %[[CONV]]
// CHECK-NOT: tile.dequant
// CHECK: role "first" warps(4)
// CHECK: tilegpu.receive %[[BEFORE]]
// CHECK: tilegpu.receive %[[CONV]]
// CHECK: tilegpu.send %{{.+}} to %[[HAND]]
// CHECK: role "gather" warps(4)
// CHECK: %[[ROWS:.+]], %{{.+}} = tile.gather
// CHECK: %[[K:.+]] = tile.dequant %[[ROWS]] nope
// CHECK: tilegpu.send %[[K]] to %[[CONV]]
// CHECK: } {tile.pipeline = #tile.pipeline<stages = 3>}
tile.kernel @converts warps(12) (%q : !tile.view<[H, D], bf16>, %pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index,
                                 %out : !tile.view<[H, D], f32>) attributes {tile.roles = "4c+4+4@3:1"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %query = tile.load %q[%c0, %c0] : !tile.view<[H, D], bf16> -> tensor<16x448xbf16>
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
    %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
    %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
    %s = tile.dot %query, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
    %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
    %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
    scf.yield %o1 : tensor<16x448xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}

// -----

// All that follows from rows alone belongs to those who convert: the scales, the
// largest of each row, the factors. What the others need of it crosses, a vector
// as a vector, which is made a tile on the far side.
// CHECK-LABEL: tile.kernel @of_rows warps(12)
// CHECK: %[[CONV:.+]] = tilegpu.channel "converted" : !tilegpu.channel<1, [tensor<32xf32>, tensor<32x448xf16>]>
// CHECK: role "second" warps(4)
// CHECK-NOT: tile.{{dequant|reduce}}
// CHECK: %[[V:.+]]:2 = tilegpu.receive %[[CONV]]
// CHECK: tile.dot %{{.+}}, %[[V]]#1, %
// CHECK: role "first" warps(4)
// CHECK-NOT: tile.{{dequant|reduce}}
// CHECK: %[[R:.+]]:2 = tilegpu.receive %[[CONV]]
// CHECK: %[[B:.+]] = tile.broadcast %[[R]]#0 along 0
// CHECK: arith.mulf %{{.+}}, %[[B]]
// CHECK: role "gather" warps(4)
// CHECK: %[[ROWS:.+]], %{{.+}} = tile.gather
// CHECK: %[[S:.+]] = tile.dequant %[[ROWS]] scale
// CHECK-DAG: %[[MOST:.+]] = tile.reduce maximumf %[[S]] along 1
// CHECK-DAG: %[[F:.+]] = arith.truncf %[[S]]
// CHECK-DAG: %[[K:.+]] = tile.dequant %[[ROWS]] payload times %[[F]]
// CHECK: tilegpu.send %[[MOST]], %[[K]] to %[[CONV]]
tile.kernel @of_rows warps(12) (%q : !tile.view<[H, D], f16>, %pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index,
                                %out : !tile.view<[H, D], f32>) attributes {tile.roles = "4c+4+4@3:1"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %query = tile.load %q[%c0, %c0] : !tile.view<[H, D], f16> -> tensor<16x448xf16>
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  %o_ = tile.full %f0 : f32 -> tensor<16x448xf32>
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
    %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %scale = tile.dequant %rows scale : !tile.rows<"dsv4", [32]> -> tensor<32x7xf32>
    %most = tile.reduce maximumf %scale along 1 : tensor<32x7xf32> -> tensor<32xf32>
    %most2 = tile.broadcast %most along 0 : tensor<32xf32> -> tensor<16x32xf32>
    %f = arith.truncf %scale : tensor<32x7xf32> to tensor<32x7xf16>
    %k = tile.dequant %rows payload times %f : !tile.rows<"dsv4", [32]>, tensor<32x7xf16> -> tensor<32x448xf16>
    %kt = tile.transpose %k : tensor<32x448xf16> -> tensor<448x32xf16>
    %s = tile.dot %query, %kt, %zero : tensor<16x448xf16>, tensor<448x32xf16>, tensor<16x32xf32>
    %s2 = arith.mulf %s, %most2 : tensor<16x32xf32>
    %p = arith.truncf %s2 : tensor<16x32xf32> to tensor<16x32xf16>
    %o1 = tile.dot %p, %k, %o0 : tensor<16x32xf16>, tensor<32x448xf16>, tensor<16x448xf32>
    scf.yield %o1 : tensor<16x448xf32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}
