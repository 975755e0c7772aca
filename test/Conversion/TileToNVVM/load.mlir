// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

// 16 x 64 bf16 over four warps: 8 registers, one vector of 16 bytes.
#blocked = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
// One of 64 ids a pair of threads, on two warps.
#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [[16]], reps = [2]>

// CHECK-LABEL: llvm.func @tile(
// CHECK-SAME: %[[BASE:[^:]*]]: !llvm.ptr<1>, %[[ROWS:[^:]*]]: i64, %[[COLS:[^:]*]]: i64, %[[STRIDE:[^:]*]]: i64
tile.kernel @tile warps(4) (%src: !tile.view<[T, D], bf16>, %dst: !tile.view<[T, D], bf16>, %i: index) {
  %zero = arith.constant 0 : index
  // A negative row is outside too: the box starts at -i.
  // CHECK: llvm.sub %{{.*}}, %[[I:arg[0-9]+]] : i64
  // Nothing in range: no load at all.
  // CHECK: llvm.cond_br %{{.*}}, ^[[SOME:bb[0-9]+]], ^[[JOIN:bb[0-9]+]](%[[PAD:[0-9]+]], %[[PAD]], %[[PAD]], %[[PAD]] : i32, i32, i32, i32)
  // Vectors where start and strides are multiples of 16 bytes.
  // CHECK: ^[[SOME]]:
  // CHECK: llvm.ptrtoint
  // CHECK: %[[MASK:.*]] = llvm.mlir.constant(15 : i64)
  // CHECK: llvm.and %{{.*}}, %[[MASK]]
  // CHECK: llvm.cond_br %{{.*}}, ^[[VECTOR:bb[0-9]+]], ^[[SCALAR:bb[0-9]+]]
  // CHECK: ^[[VECTOR]]:
  // CHECK: %[[IN:.*]] = llvm.icmp "ult"
  // An element outside the view is never addressed.
  // CHECK: %[[FROM:.*]] = llvm.select %[[IN]], %{{.*}}, %{{.*}} : i1, !llvm.ptr<1>
  // CHECK: llvm.load %[[FROM]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK-NOT: llvm.load
  // CHECK: llvm.br ^[[JOIN]](
  // CHECK: ^[[SCALAR]]:
  // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
  // CHECK: ^[[JOIN]](
  %x = tile.load %src[%i, %zero] : !tile.view<[T, D], bf16> -> tensor<16x64xbf16, #blocked>
  tile.store %x, %dst[%i, %zero] : tensor<16x64xbf16, #blocked>, !tile.view<[T, D], bf16>
  tile.return
}

// CHECK-LABEL: llvm.func @limit(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[WIDTH:[^:]*]]: i64, %{{[^:]*}}: i64, %[[LIMIT:[^:]*]]: i64, %[[N:[^:]*]]: i64
tile.kernel @limit warps(2) (%src: !tile.view<[T, W], i32>, %limit: index, %n: index) {
  %zero = arith.constant 0 : index
  %minus = arith.constant -1 : i32
  // CHECK: %[[END:.*]] = llvm.intr.smin(%[[WIDTH]], %[[LIMIT]])
  // CHECK: llvm.sub %[[END]], %[[N]]
  // CHECK: llvm.cond_br %{{.*}}, ^[[LOADS:bb[0-9]+]], ^[[JOIN:bb[0-9]+]](%[[PAD:[0-9]+]], %[[PAD]] : i32, i32)
  // CHECK: ^[[LOADS]]:
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  // CHECK: ^[[JOIN]](
  %x = tile.load %src[%zero, %n] limit %limit else %minus : !tile.view<[T, W], i32> -> tensor<64xi32, #ids>
  tile.store %x, %src[%zero, %zero] : tensor<64xi32, #ids>, !tile.view<[T, W], i32>
  tile.return
}

// CHECK-LABEL: llvm.func @scalar(
// CHECK-SAME: %[[BASE:[^:]*]]: !llvm.ptr<1>, %[[LENGTH:[^:]*]]: i64, %[[I:[^:]*]]: i64
tile.kernel @scalar warps(1) (%src: !tile.view<[T], f32>, %i: index) {
  // CHECK: %[[IN:.*]] = llvm.icmp "ult" %[[I]], %[[LENGTH]]
  // CHECK: llvm.cond_br %[[IN]], ^[[LOAD:bb[0-9]+]], ^[[JOIN:bb[0-9]+]](%{{.*}} : f32)
  // CHECK: ^[[LOAD]]:
  // CHECK-NEXT: %[[VALUE:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK-NEXT: llvm.br ^[[JOIN]](%[[VALUE]] : f32)
  %x = tile.load %src[%i] : !tile.view<[T], f32> -> f32
  tile.store %x, %src[%i] : f32, !tile.view<[T], f32>
  tile.return
}

// What is in range of one row is the row: vectors have no mask, and nothing that
// waits for them stands before the next load.
#line = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [], reps = [1, 1]>
// CHECK-LABEL: llvm.func @row(
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.select
// CHECK: llvm.br
tile.kernel @row warps(1) (%src: !tile.view<[T, D], f32>, %dst: !tile.view<[T, D], f32>, %i: index) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%i, %zero] : !tile.view<[T, D], f32> -> tensor<1x128xf32, #line>
  tile.store %a, %dst[%i, %zero] : tensor<1x128xf32, #line>, !tile.view<[T, D], f32>
  tile.return
}

// One element a thread: a branch around its load instead of a choice behind it,
// which would wait for the load. Both skipped branches hand on what pads.
#id = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [[16]], reps = [1]>
// CHECK-LABEL: llvm.func @one(
// CHECK: llvm.cond_br %{{.*}}, ^[[SOME:bb[0-9]+]], ^[[JOIN:bb[0-9]+]](%[[PAD:[0-9]+]] : i32)
// CHECK: ^[[SOME]]:
// CHECK-NOT: llvm.select
// CHECK: %[[IN:.*]] = llvm.icmp "ult"
// CHECK-NOT: llvm.select
// CHECK: llvm.cond_br %[[IN]], ^[[LOAD:bb[0-9]+]], ^[[LOADED:bb[0-9]+]](%[[PAD]] : i32)
// CHECK: ^[[LOAD]]:
// CHECK-NEXT: %[[VALUE:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK-NEXT: llvm.br ^[[LOADED]](%[[VALUE]] : i32)
// CHECK: ^[[LOADED]](%[[RESULT:.*]]: i32):
// CHECK-NEXT: llvm.br ^[[JOIN]](%[[RESULT]] : i32)
tile.kernel @one warps(2) (%src: !tile.view<[T, W], i32>, %limit: index, %n: index) {
  %zero = arith.constant 0 : index
  %minus = arith.constant -1 : i32
  %x = tile.load %src[%zero, %n] limit %limit else %minus : !tile.view<[T, W], i32> -> tensor<32xi32, #id>
  tile.store %x, %src[%zero, %zero] : tensor<32xi32, #id>, !tile.view<[T, W], i32>
  tile.return
}

// The only element of a tile is there where anything is.
#same = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], reps = [1]>
// CHECK-LABEL: llvm.func @only(
// CHECK: llvm.cond_br %{{.*}}, ^[[LOAD:bb[0-9]+]], ^[[JOIN:bb[0-9]+]](%{{.*}} : f32)
// CHECK: ^[[LOAD]]:
// CHECK-NOT: llvm.cond_br
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT: llvm.br ^[[JOIN]](
tile.kernel @only warps(1) (%src: !tile.view<[W], f32>, %dst: !tile.view<[W], f32>, %n: index) {
  %x = tile.load %src[%n] : !tile.view<[W], f32> -> tensor<1xf32, #same>
  tile.store %x, %dst[%n] : tensor<1xf32, #same>, !tile.view<[W], f32>
  tile.return
}
