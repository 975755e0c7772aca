// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

// 16 x 64 bf16 over four warps: a piece of 16 bytes a thread.
#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>

// CHECK-LABEL: llvm.func @tile(
// CHECK-SAME: %[[BASE:[^:]*]]: !llvm.ptr<1>, %[[T_:[^:]*]]: i64, %[[H_:[^:]*]]: i64, %[[D_:[^:]*]]: i64, %[[TSTRIDE:[^:]*]]: i64, %[[STRIDE:[^:]*]]: i64, %[[T:[^:]*]]: i64, %[[H:[^:]*]]: i64, %[[I:[^:]*]]: i32
tile.kernel @tile warps(4) (%v: !tile.view<[T, H, D], bf16>, %t: index, %h: index, %i: i32) {
  %c0 = arith.constant 0 : index
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x64xbf16, stride = 144>
  %full = tilegpu.alloc "full" {offset = 2304 : i64} : !tilegpu.mbarriers<2>
  // CHECK: %[[BARS:.*]] = llvm.getelementptr %{{.*}}[2304]

  // The leading index too is in range or not, a negative one is not; rows from
  // a negative one on are outside.
  // CHECK: %[[LEAD:.*]] = llvm.icmp "ult" %[[T]], %[[T_]] : i64
  // CHECK: %[[LOW64:.*]] = llvm.sub %{{.*}}, %[[H]] : i64
  // CHECK: %[[ROWS:.*]] = llvm.intr.smax(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
  // CHECK: llvm.intr.smin(%[[D_]], %{{.*}})
  // CHECK: %[[COLS:.*]] = llvm.trunc %{{.*}} : i64 to i32
  // CHECK: %[[TO:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  // CHECK: llvm.icmp "sgt" %[[ROWS]]
  // CHECK: llvm.icmp "sgt" %[[COLS]]
  // CHECK: %[[ANY:.*]] = llvm.and %{{.*}}, %{{.*}} : i1

  // Pieces where start and stride are multiples of 16 bytes, and all columns are
  // there; the stride of the leading dimension does not matter.
  // CHECK: llvm.ptrtoint
  // CHECK-NEXT: llvm.mul %[[STRIDE]]
  // CHECK-NOT: %[[TSTRIDE]]
  // CHECK: %[[LAST:.*]] = llvm.and %{{.*}}, %{{.*}} : i64
  // CHECK-NEXT: %[[ALIGNED:.*]] = llvm.icmp "eq" %[[LAST]]
  // CHECK: %[[WHOLE:.*]] = llvm.icmp "eq" %[[COLS]]
  // CHECK: %[[GOOD:.*]] = llvm.and %[[ALIGNED]], %[[WHOLE]]
  // CHECK: %[[FIT:.*]] = llvm.and %[[ANY]], %[[GOOD]]
  // CHECK: %[[OTHER:.*]] = llvm.xor %[[FIT]]
  // CHECK: %[[REST:.*]] = llvm.and %[[ANY]], %[[OTHER]]
  // CHECK: llvm.cond_br %[[FIT]], ^[[PIECES:bb[0-9]+]], ^[[BEHIND:bb[0-9]+]]

  // A row outside is no bytes of one inside, and so zeros.
  // CHECK: ^[[PIECES]]:
  // CHECK: %[[IN:.*]] = llvm.icmp "ult" %{{.*}}, %[[ROWS]]
  // CHECK-NEXT: %[[BYTES:.*]] = llvm.select %[[IN]], %{{.*}}, %{{.*}} : i1, i32
  // CHECK: %[[FROM:.*]] = llvm.select %[[IN]], %{{.*}}, %{{.*}} : i1, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 16, cache =  cg, %[[BYTES]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK-NEXT: llvm.br ^[[BEHIND]]
  // CHECK: ^[[BEHIND]]:
  // CHECK: llvm.cond_br %[[REST]], ^[[ELEMENTS:bb[0-9]+]], ^[[STORED:bb[0-9]+]]

  // Else element by element, masked by row and column.
  // CHECK: ^[[ELEMENTS]]:
  // CHECK-DAG: %[[ROW:.*]] = llvm.icmp "ult" %{{.*}}, %[[ROWS]]
  // CHECK-DAG: %[[COL:.*]] = llvm.icmp "ult" %{{.*}}, %[[COLS]]
  // CHECK: %[[BOTH:.*]] = llvm.and %[[ROW]], %[[COL]]
  // CHECK: %[[AT:.*]] = llvm.select %[[BOTH]], %{{.*}}, %{{.*}} : i1, !llvm.ptr<1>
  // CHECK-NEXT: %[[LOADED:.*]] = llvm.load %[[AT]] {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
  // CHECK-NEXT: %[[VALUE:.*]] = llvm.select %[[BOTH]], %[[LOADED]], %{{.*}} : i1, bf16
  // CHECK-NEXT: llvm.store %[[VALUE]], %[[TO]] {alignment = 2 : i64} : bf16, !llvm.ptr<3>
  // CHECK-COUNT-6: llvm.store %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
  // CHECK: %[[LAST:.*]] = llvm.getelementptr %[[TO]][14]
  // CHECK-NEXT: llvm.store %{{.*}}, %[[LAST]] {alignment = 2 : i64} : bf16, !llvm.ptr<3>
  // CHECK-NEXT: llvm.br ^[[STORED]]
  // CHECK: ^[[STORED]]:

  // Nothing in range: nothing is read.
  // CHECK: %[[NONE:.*]] = llvm.xor %[[ANY]]
  // CHECK: llvm.cond_br %[[NONE]], ^[[ZERO:bb[0-9]+]], ^[[END:bb[0-9]+]]
  // CHECK: ^[[ZERO]]:
  // CHECK-NEXT: llvm.store %{{.*}}, %[[TO]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  // CHECK-NEXT: llvm.br ^[[END]]

  // All threads arrive twice, whatever they copied.
  // CHECK: ^[[END]]:
  // CHECK: %[[BAR:.*]] = llvm.getelementptr %[[BARS]][%{{.*}}]
  // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %[[BAR]] {noinc = true} : !llvm.ptr<3>
  // CHECK-NEXT: nvvm.mbarrier.arrive %[[BAR]] : !llvm.ptr<3> -> i64
  // CHECK-NEXT: llvm.return
  tilegpu.copy_async %v[%t, %h, %c0] into %b signal %full[%i] by #pieces
    : !tile.view<[T, H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  tile.return
}

// Columns from a run-time index on: they may begin outside too. Two tiles of 32
// bits a thread, rows of the second eight further on; four elements a piece.
#words = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [2, 1]>

// CHECK-LABEL: llvm.func @words(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[D_:[^:]*]]: i64, %[[STRIDE:[^:]*]]: i64, %[[C:[^:]*]]: i64
// CHECK: llvm.sub %[[D_]], %[[C]]
// CHECK: %[[COLS:.*]] = llvm.intr.smax(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
// CHECK: %[[WHOLE:.*]] = llvm.icmp "eq" %[[COLS]]
// CHECK: llvm.cond_br
// CHECK: %[[IN0:.*]] = llvm.icmp "ult"
// CHECK: %[[BYTES0:.*]] = llvm.select %[[IN0]]
// CHECK: nvvm.cp.async.shared.global %[[TO:.*]], %{{.*}}, 16, cache =  cg, %[[BYTES0]]
// CHECK: %[[IN1:.*]] = llvm.icmp "ult"
// CHECK: %[[BYTES1:.*]] = llvm.select %[[IN1]]
// CHECK: %[[TO1:.*]] = llvm.getelementptr %[[TO]][640]
// CHECK: nvvm.cp.async.shared.global %[[TO1]], %{{.*}}, 16, cache =  cg, %[[BYTES1]]
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: llvm.cond_br
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
// CHECK-NOT: : f32, !llvm.ptr<3>
// CHECK: llvm.cond_br
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.cp.async.mbarrier.arrive
// CHECK-NEXT: nvvm.mbarrier.arrive
tile.kernel @words warps(1) (%v: !tile.view<[H, D], f32>, %c: index) {
  %c0 = arith.constant 0 : index
  %i = arith.constant 0 : i32
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16x16xf32, stride = 80>
  %full = tilegpu.alloc "full" {offset = 1280 : i64} : !tilegpu.mbarriers<1>
  tilegpu.copy_async %v[%c0, %c] into %b signal %full[%i] by #words
    : !tile.view<[H, D], f32>, !tilegpu.buffer<16x16xf32, stride = 80>, !tilegpu.mbarriers<1>
  tile.return
}

// One row: it is in range where anything is, so its pieces have no mask.
#row = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[0, 16], [0, 32], [0, 64], [0, 128], [0, 256]], warp = [], reps = [1, 1]>

// CHECK-LABEL: llvm.func @row(
// CHECK: %[[SIXTEEN:.*]] = llvm.mlir.constant(16 : i32)
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %[[SIXTEEN]]
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: llvm.cond_br
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
tile.kernel @row warps(1) (%v: !tile.view<[H, D], i8>, %h: index) {
  %c0 = arith.constant 0 : index
  %i = arith.constant 0 : i32
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<1x512xi8>
  %full = tilegpu.alloc "full" {offset = 512 : i64} : !tilegpu.mbarriers<1>
  tilegpu.copy_async %v[%h, %c0] into %b signal %full[%i] by #row
    : !tile.view<[H, D], i8>, !tilegpu.buffer<1x512xi8>, !tilegpu.mbarriers<1>
  tile.return
}
