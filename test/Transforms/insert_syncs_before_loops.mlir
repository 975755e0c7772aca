// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-insert-syncs --split-input-file | FileCheck %s

// What a loop needs of the accesses before it stands before it, once. Two warps,
// 8 x 16 elements: in #rows and #rows2 a warp holds four rows, by other threads;
// in #cols eight columns.
#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#rows2 = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[4, 0]], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[0, 8]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// CHECK-LABEL: @cta
tile.kernel @cta warps(2) (%x : f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: scf.for
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK-NEXT: tilegpu.load_shared
    %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
    // CHECK-NEXT: }
  }
  // It holds behind the loop too, which may have no iteration.
  // CHECK-NEXT: tilegpu.load_shared
  %after = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
  tile.return
}

// CHECK-LABEL: @warp
tile.kernel @warp warps(2) (%x : f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.sync warp
  // CHECK-NEXT: scf.for
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK-NEXT: tilegpu.load_shared
    %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows2>
    // CHECK-NEXT: }
  }
  tile.return
}

// A barrier that iterations need of each other comes first: none before the loop.
// CHECK-LABEL: @in_the_loop
tile.kernel @in_the_loop warps(2) (%x : f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %outer = tilegpu.alloc "outer" {offset = 0 : i64} : !b
  %inner = tilegpu.alloc "inner" {offset = 512 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %outer : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: scf.for
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK-NEXT: tilegpu.sync cta
    // CHECK-NEXT: tilegpu.store_shared
    tilegpu.store_shared %t, %inner : tensor<8x16xf32, #rows>, !b
    // CHECK-NEXT: tilegpu.sync cta
    // CHECK-NEXT: tilegpu.load_shared
    %l = tilegpu.load_shared %inner : !b -> tensor<8x16xf32, #cols>
    // CHECK-NEXT: tilegpu.load_shared
    %o = tilegpu.load_shared %outer : !b -> tensor<8x16xf32, #cols>
    // CHECK-NEXT: }
  }
  tile.return
}

// Of two loops the inner one reads what an iteration of the outer one writes:
// between them, and one for what the next iteration overwrites.
// CHECK-LABEL: @nested
tile.kernel @nested warps(2) (%x : f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: scf.for
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK-NEXT: tilegpu.sync cta
    // CHECK-NEXT: tilegpu.store_shared
    tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
    // CHECK-NEXT: tilegpu.sync cta
    // CHECK-NEXT: scf.for
    scf.for %j = %c0 to %c4 step %c1 {
      // CHECK-NEXT: tilegpu.load_shared
      %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
      // CHECK-NEXT: }
    }
  }
  tile.return
}
