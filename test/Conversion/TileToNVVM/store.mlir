// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 2]>
#row = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0], [0]], reps = [1]>

// The same elements in registers that no exchange makes longer vectors of.
#two = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 1]>

// Two rows a thread, hence two masks; all vectors of a row share its branch.
// CHECK-LABEL: llvm.func @masks(
tile.kernel @masks warps(4) (%dst: !tile.view<[T, D], f32>, %i: index, %s: f32) {
  %zero = arith.constant 0 : index
  %x = tile.full %s : f32 -> tensor<16x64xf32, #two>
  // CHECK: llvm.cond_br %{{.*}}, ^[[VECTOR:bb[0-9]+]], ^[[SCALAR:bb[0-9]+]]
  // CHECK: llvm.cond_br %{{.*}}, ^[[VECTOR:bb[0-9]+]], ^[[SCALAR:bb[0-9]+]]
  // CHECK: ^[[VECTOR]]:
  // CHECK: llvm.cond_br %[[LOW:.*]], ^[[A:bb[0-9]+]], ^[[B:bb[0-9]+]]
  // CHECK: ^[[A]]:
  // CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
  // CHECK: llvm.br ^[[B]]
  // CHECK: ^[[B]]:
  // CHECK: llvm.cond_br %[[HIGH:.*]], ^[[C:bb[0-9]+]], ^{{bb[0-9]+}}
  // CHECK: ^[[C]]:
  // CHECK-COUNT-2: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
  // CHECK: ^[[SCALAR]]:
  // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK-NOT: llvm.store
  tile.store %x, %dst[%i, %zero] : tensor<16x64xf32, #two>, !tile.view<[T, D], f32>
  tile.return
}

// Two repetitions of pairs: neighbouring lanes give each other one of two, and
// have four in a row. Scalars are stored of the registers that are there.
// CHECK-LABEL: llvm.func @exchanged(
// CHECK: (%{{[0-9]+}}: f32, %{{[0-9]+}}: f32, %{{[0-9]+}}: f32, {{.*}}):
// CHECK: llvm.cond_br %{{.*}}, ^[[FIRST:bb[0-9]+]], ^[[AFTER:bb[0-9]+]]
// CHECK: ^[[FIRST]]:
// CHECK: llvm.cond_br %{{.*}}, ^[[VECTORS:bb[0-9]+]], ^[[SCALARS:bb[0-9]+]]
// CHECK: ^[[VECTORS]]:
// CHECK: %[[UPPER:.*]] = llvm.icmp "ne"
// CHECK: %[[GIVEN:.*]] = llvm.select %[[UPPER]], %[[A:.*]], %[[B:.*]] : i1, i32
// CHECK: %[[GOT:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[GIVEN]], %{{.*}}, %{{.*}} : i32 -> i32
// CHECK: %[[KEPT:.*]] = llvm.select %[[UPPER]], %[[B]], %[[A]] : i1, i32
// CHECK: llvm.select %[[UPPER]], %[[GOT]], %[[KEPT]]
// CHECK: llvm.select %[[UPPER]], %[[KEPT]], %[[GOT]]
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: ^[[SCALARS]]:
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
tile.kernel @exchanged warps(4) (%src: !tile.view<[T, D], f32>, %dst: !tile.view<[T, D], f32>, %i: index) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%i, %zero] : !tile.view<[T, D], f32> -> tensor<16x64xf32, #acc>
  tile.store %x, %dst[%i, %zero] : tensor<16x64xf32, #acc>, !tile.view<[T, D], f32>
  tile.return
}

// 16 bits: two steps, of lanes 1 and 2 apart, make 16 bytes of four. Of seven
// repetitions four are stored so, then two with one step, and the last as it is.
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 7]>
// CHECK-LABEL: llvm.func @split(
// CHECK-COUNT-8: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 8 : i64} : vector<4xbf16>, !llvm.ptr<1>
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK-NOT: {{llvm.store|nvvm.shfl}}
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
tile.kernel @split warps(2) (%dst: !tile.view<[T, D], bf16>, %i: index, %s: bf16, %limit: index) {
  %zero = arith.constant 0 : index
  %x = tile.full %s : bf16 -> tensor<16x112xbf16, #half>
  tile.store %x, %dst[%i, %zero] limit %limit : tensor<16x112xbf16, #half>, !tile.view<[T, D], bf16>
  tile.return
}

// Copies in lanes 1, 2, 3 of each quad and in warps 1, 2, 3: bits 3 + 96.
// CHECK-LABEL: llvm.func @copies(
tile.kernel @copies warps(4) (%dst: !tile.view<[T], f32>, %i: index, %s: f32) {
  // CHECK-DAG: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK-DAG: %[[FREE:.*]] = llvm.mlir.constant(99 : i32)
  // CHECK: %[[BITS:.*]] = llvm.and %[[TID]], %[[FREE]]
  // CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %[[BITS]], %{{.*}} : i32
  // CHECK: %[[DO:.*]] = llvm.and %{{.*}}, %[[FIRST]] : i1
  // CHECK: llvm.cond_br %[[DO]]
  %x = tile.full %s : f32 -> tensor<16xf32, #row>
  tile.store %x, %dst[%i] : tensor<16xf32, #row>, !tile.view<[T], f32>
  tile.return
}

// Columns of an accumulator in packed order: neighbours are registers 0, 4, 1
// and 5, one vector of 16 bytes.
#packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[0, 16], [0, 32]], reps = [1, 1]>
// CHECK-LABEL: llvm.func @packed(
tile.kernel @packed warps(4) (%src: !tile.view<[T, D], f32>, %dst: !tile.view<[T, D], f32>, %i: index) {
  %zero = arith.constant 0 : index
  // CHECK: %[[V:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  %x = tile.load %src[%i, %zero] : !tile.view<[T, D], f32> -> tensor<16x64xf32, #packed>
  // CHECK: ^[[VECTOR:bb[0-9]+]]:
  // CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
  // CHECK-NOT: llvm.store
  // CHECK: llvm.return
  tile.store %x, %dst[%i, %zero] : tensor<16x64xf32, #packed>, !tile.view<[T, D], f32>
  tile.return
}

// The vector has its elements in the order of columns, not of registers.
#one = #tilegpu.layout<reg = [[2], [1]], lane = [[4], [8], [16], [32], [64]], warp = [], reps = [1]>
// CHECK-LABEL: llvm.func @order(
// CHECK: %[[C0:.*]] = llvm.shl
// CHECK-NEXT: %[[C2:.*]] = llvm.add %[[C0]], %{{.*}} : i32
// CHECK-NEXT: llvm.mlir.constant(1 : i32)
// CHECK-NEXT: %[[C1:.*]] = llvm.add %[[C0]], %{{.*}} : i32
// CHECK: llvm.insertelement %[[C0]], %{{.*}}
// CHECK-NEXT: llvm.insertelement %[[C1]], %{{.*}}
// CHECK-NEXT: llvm.insertelement %[[C2]], %{{.*}}
// CHECK-NEXT: llvm.insertelement
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
tile.kernel @order warps(1) (%dst: !tile.view<[128], i32>) {
  %zero = arith.constant 0 : index
  %x = tile.iota : tensor<128xi32, #one>
  tile.store %x, %dst[%zero] : tensor<128xi32, #one>, !tile.view<[128], i32>
  tile.return
}
