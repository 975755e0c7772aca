// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#accT = #tilegpu.layout<reg = [[1, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[8, 0]], reps = [2, 1]>
#swapped = #tilegpu.layout<reg = [[8, 0], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#cols = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [[8]], reps = [2]>
#rows = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0]], reps = [1]>

// Thread part of the column: 2 (lane % 4) + 8 warp, one mask and shift each;
// then a constant a register.
// CHECK-LABEL: llvm.func @iota(
tile.kernel @iota warps(2) (%dst: !tile.view<[N], i32>) {
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
  // CHECK: %[[T:.*]] = llvm.and %[[TID]], %[[C3]]
  // CHECK: %[[T2:.*]] = llvm.shl %[[T]], %[[C1:.*]] : i32
  // CHECK: %[[C32:.*]] = llvm.mlir.constant(32 : i32)
  // CHECK: %[[W:.*]] = llvm.and %[[TID]], %[[C32]]
  // CHECK: %[[W8:.*]] = llvm.lshr %[[W]], %{{.*}}
  // CHECK: %[[COL:.*]] = llvm.or disjoint %[[T2]], %[[W8]]
  // CHECK: llvm.add %[[COL]], %[[C1]]
  // CHECK: %[[C16:.*]] = llvm.mlir.constant(16 : i32)
  // CHECK: llvm.add %[[COL]], %[[C16]]
  // CHECK: %[[C17:.*]] = llvm.mlir.constant(17 : i32)
  // CHECK: llvm.add %[[COL]], %[[C17]]
  %zero = arith.constant 0 : index
  %i = tile.iota : tensor<32xi32, #cols>
  tile.store %i, %dst[%zero] : tensor<32xi32, #cols>, !tile.view<[N], i32>
  tile.return
}

// Nothing but a choice of registers: each row value serves four columns.
// CHECK-LABEL: llvm.func @broadcast(
// CHECK: ^bb{{[0-9]+}}(%[[R0:[0-9]+]]: f32, %[[R8:[0-9]+]]: f32):
tile.kernel @broadcast warps(2) (%src: !tile.view<[T], f32>, %dst: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %r = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<16xf32, #rows>
  %b = tile.broadcast %r along 1 : tensor<16xf32, #rows> -> tensor<16x32xf32, #acc>
  // CHECK: llvm.fadd %{{.*}}, %[[R0]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R0]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R8]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R8]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R0]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R0]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R8]]
  // CHECK-NEXT: llvm.fadd %{{.*}}, %[[R8]]
  // CHECK-NOT: llvm.fadd
  // CHECK: llvm.return
  %x = tile.load %dst[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<16x32xf32, #acc>
  %sum = arith.addf %x, %b : tensor<16x32xf32, #acc>
  tile.store %sum, %dst[%zero, %zero] : tensor<16x32xf32, #acc>, !tile.view<[T, N], f32>
  tile.return
}

// Registers 1 and 2 of every four change places, twice, and the transposition
// keeps all: the sum is each value with itself.
// CHECK-LABEL: llvm.func @moves(
tile.kernel @moves warps(2) (%src: !tile.view<[T, N], f32>, %dst: !tile.view<[N, T], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<16x32xf32, #acc>
  %y = tilegpu.convert_layout %x : tensor<16x32xf32, #acc> -> tensor<16x32xf32, #swapped>
  %z = tilegpu.convert_layout %y : tensor<16x32xf32, #swapped> -> tensor<16x32xf32, #acc>
  %a = tile.transpose %x : tensor<16x32xf32, #acc> -> tensor<32x16xf32, #accT>
  %b = tile.transpose %z : tensor<16x32xf32, #acc> -> tensor<32x16xf32, #accT>
  // CHECK: %[[A0:.*]] = llvm.fadd %[[X0:.*]], %[[X0]] : f32
  // CHECK-NEXT: llvm.fadd %[[X1:.*]], %[[X1]] : f32
  // CHECK-NEXT: llvm.fadd %[[X2:.*]], %[[X2]] : f32
  %s = arith.addf %a, %b : tensor<32x16xf32, #accT>
  tile.store %s, %dst[%zero, %zero] : tensor<32x16xf32, #accT>, !tile.view<[N, T], f32>
  tile.return
}

// Columns change their places, not their registers.
#quads = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]], reps = [1, 1]>
#quadsPacked = #tilegpu.layout<reg = [[0, 1], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[8, 0]], reps = [1, 1]>
// CHECK-LABEL: llvm.func @packs(
tile.kernel @packs warps(2) (%src: !tile.view<[T, N], f32>, %dst: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<16x16xf32, #quads>
  // CHECK: %[[X0:.*]] = llvm.fadd
  // CHECK-NEXT: %[[X1:.*]] = llvm.fadd
  // CHECK-NEXT: %[[X2:.*]] = llvm.fadd
  // CHECK-NEXT: %[[X3:.*]] = llvm.fadd
  // CHECK: llvm.fmul %[[X0]], %[[X0]]
  // CHECK-NEXT: llvm.fmul %[[X1]], %[[X1]]
  // CHECK-NEXT: llvm.fmul %[[X2]], %[[X2]]
  // CHECK-NEXT: llvm.fmul %[[X3]], %[[X3]]
  %y = arith.addf %x, %x : tensor<16x16xf32, #quads>
  %p = tilegpu.pack_columns %y {pack = 1 : i64} : tensor<16x16xf32, #quads> -> tensor<16x16xf32, #quadsPacked>
  %s = arith.mulf %p, %p : tensor<16x16xf32, #quadsPacked>
  tile.store %s, %dst[%zero, %zero] : tensor<16x16xf32, #quadsPacked>, !tile.view<[T, N], f32>
  tile.return
}

// The second half of the columns goes to the first: registers 4 to 7 of eight
// (a repetition is four), added to the first ones.
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
// CHECK-LABEL: llvm.func @slices(
tile.kernel @slices warps(2) (%src: !tile.view<[T, N], f32>, %dst: !tile.view<[T, N], f32>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[T, N], f32> -> tensor<16x32xf32, #acc>
  // CHECK: ^bb{{[0-9]+}}(%[[X0:[0-9]+]]: f32, %[[X1:[0-9]+]]: f32, %[[X2:[0-9]+]]: f32, %[[X3:[0-9]+]]: f32, %[[X4:[0-9]+]]: f32, %[[X5:[0-9]+]]: f32, %[[X6:[0-9]+]]: f32, %[[X7:[0-9]+]]: f32):
  %h = tilegpu.extract_slice %x[0, 16] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #half>
  // CHECK: %[[N0:.*]] = llvm.fneg %[[X4]]
  // CHECK-NEXT: %[[N1:.*]] = llvm.fneg %[[X5]]
  // CHECK-NEXT: %[[N2:.*]] = llvm.fneg %[[X6]]
  // CHECK-NEXT: %[[N3:.*]] = llvm.fneg %[[X7]]
  %n = arith.negf %h : tensor<16x16xf32, #half>
  %y = tilegpu.insert_slice %n into %x[0, 0] : tensor<16x16xf32, #half> into tensor<16x32xf32, #acc>
  // CHECK: llvm.fadd %[[N0]], %[[X0]]
  // CHECK-NEXT: llvm.fadd %[[N1]], %[[X1]]
  // CHECK-NEXT: llvm.fadd %[[N2]], %[[X2]]
  // CHECK-NEXT: llvm.fadd %[[N3]], %[[X3]]
  // CHECK-NEXT: llvm.fadd %[[X4]], %[[X4]]
  %z = arith.addf %y, %x : tensor<16x32xf32, #acc>
  tile.store %z, %dst[%zero, %zero] : tensor<16x32xf32, #acc>, !tile.view<[T, N], f32>
  tile.return
}
