// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-batch-exchanges --split-input-file | FileCheck %s
// RUN: mlatile-opt %s --tilegpu-batch-exchanges --tilegpu-plan-shared --tilegpu-insert-syncs --split-input-file | FileCheck %s --check-prefix=SYNC

// Two warps, columns of 16 rows: 16 each, one, both.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
#warps = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 1]], reps = [1, 1]>
#all = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], reps = [1, 1]>
#row = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0]], reps = [1]>
!t = tensor<16x16xf32, #acc>
!w = tensor<16x2xf32, #warps>
!a = tensor<16x2xf32, #all>
!r = tensor<16xf32, #row>
!b = !tilegpu.buffer<16x2xf32>

// Both sums are read where they are added, behind one barrier; what is stored at
// the end is read there.
// CHECK-LABEL: @sums
// CHECK: tilegpu.store_shared %{{.+}}, %[[B0:.+]] :
// CHECK: tilegpu.store_shared %{{.+}}, %[[B1:.+]] :
// CHECK: tilegpu.store_shared %{{.+}}, %[[B2:.+]] :
// CHECK-NEXT: %[[A1:.+]] = tilegpu.load_shared %[[B1]]
// CHECK-NEXT: %[[R1:.+]] = tilegpu.reduce_warp addf %[[A1]]
// CHECK-NEXT: %[[A2:.+]] = tilegpu.load_shared %[[B2]]
// CHECK-NEXT: %[[R2:.+]] = tilegpu.reduce_warp addf %[[A2]]
// CHECK-NEXT: arith.addf %[[R1]], %[[R2]]
// CHECK-NEXT: tile.store
// CHECK-NEXT: %[[A0:.+]] = tilegpu.load_shared %[[B0]]
// CHECK-NEXT: %[[R0:.+]] = tilegpu.reduce_warp maximumf %[[A0]]
// CHECK-NEXT: tile.store %[[R0]]
// SYNC-LABEL: @sums
// SYNC-COUNT-3: tilegpu.store_shared
// SYNC-NEXT: tilegpu.sync cta
// SYNC-NOT: tilegpu.sync
// SYNC: tile.return
tile.kernel @sums warps(2) (%fx : f32, %fy : f32, %o : !tile.view<[M], f32>) {
  %x = tile.full %fx : f32 -> !t
  %y = tile.full %fy : f32 -> !t
  %c0 = arith.constant 0 : index
  %b0 = tilegpu.alloc "reduce" : !b
  %b1 = tilegpu.alloc "reduce" : !b
  %b2 = tilegpu.alloc "reduce" : !b
  %w0 = tilegpu.reduce_warp maximumf %x along 1 : !t -> !w
  tilegpu.store_shared %w0, %b0 : !w, !b
  %a0 = tilegpu.load_shared %b0 : !b -> !a
  %r0 = tilegpu.reduce_warp maximumf %a0 along 1 : !a -> !r
  %w1 = tilegpu.reduce_warp addf %x along 1 : !t -> !w
  tilegpu.store_shared %w1, %b1 : !w, !b
  %a1 = tilegpu.load_shared %b1 : !b -> !a
  %r1 = tilegpu.reduce_warp addf %a1 along 1 : !a -> !r
  %w2 = tilegpu.reduce_warp addf %y along 1 : !t -> !w
  tilegpu.store_shared %w2, %b2 : !w, !b
  %a2 = tilegpu.load_shared %b2 : !b -> !a
  %r2 = tilegpu.reduce_warp addf %a2 along 1 : !a -> !r
  %sum = arith.addf %r1, %r2 : !r
  tile.store %sum, %o[%c0] : !r, !tile.view<[M], f32>
  tile.store %r0, %o[%c0] : !r, !tile.view<[M], f32>
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[4, 0]], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[0, 8]], reps = [1, 1]>
!x = tensor<8x16xf32, #rows>
!y = tensor<8x16xf32, #cols>
!b = !tilegpu.buffer<8x16xf32>

// A small tile in another layout, read where a loop has its first use; that a
// loop carries it is a use, and the loop itself the place.
// CHECK-LABEL: @conversions
// CHECK: %[[X:.+]] = tile.full %fx
// CHECK: %[[Y:.+]] = tile.full %fy
// CHECK: tilegpu.store_shared %[[X]], %[[B0:.+]] :
// CHECK-NEXT: tilegpu.store_shared %[[Y]], %[[B1:.+]] :
// CHECK-NEXT: %[[L1:.+]] = tilegpu.load_shared %[[B1]]
// CHECK-NEXT: math.absf %[[L1]]
// CHECK-NEXT: %[[L0:.+]] = tilegpu.load_shared %[[B0]]
// CHECK-NEXT: scf.for
// CHECK: arith.addf %{{.+}}, %[[L0]]
// A second store, or one in a loop: everything stays.
// CHECK: tilegpu.store_shared %[[X]], %[[B2:.+]] :
// CHECK-NEXT: tilegpu.load_shared %[[B2]]
// CHECK-NEXT: tilegpu.store_shared %[[Y]], %[[B2]]
// CHECK-NEXT: tilegpu.load_shared %[[B2]]
// CHECK: scf.for
// CHECK-NEXT: tilegpu.store_shared %[[X]], %[[B3:.+]] :
// CHECK: }
// CHECK-NEXT: tilegpu.load_shared %[[B3]]
// CHECK-NEXT: arith.addf
tile.kernel @conversions warps(2) (%fx : f32, %fy : f32, %n : index, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tile.full %fx : f32 -> !x
  %y = tile.full %fy : f32 -> !x
  %b0 = tilegpu.alloc "convert" : !b
  %b1 = tilegpu.alloc "convert" : !b
  %b2 = tilegpu.alloc "convert" : !b
  %b3 = tilegpu.alloc "convert" : !b
  tilegpu.store_shared %x, %b0 : !x, !b
  %l0 = tilegpu.load_shared %b0 : !b -> !y
  tilegpu.store_shared %y, %b1 : !x, !b
  %l1 = tilegpu.load_shared %b1 : !b -> !y
  %abs = math.absf %l1 : !y
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %abs) -> (!y) {
    %s1 = arith.addf %s0, %l0 : !y
    scf.yield %s1 : !y
  }
  tilegpu.store_shared %x, %b2 : !x, !b
  %l2 = tilegpu.load_shared %b2 : !b -> !y
  tilegpu.store_shared %y, %b2 : !x, !b
  %l3 = tilegpu.load_shared %b2 : !b -> !y
  %t = arith.addf %l2, %l3 : !y
  scf.for %i = %c0 to %n step %c1 {
    tilegpu.store_shared %x, %b3 : !x, !b
  }
  %l4 = tilegpu.load_shared %b3 : !b -> !y
  %u = arith.addf %t, %l4 : !y
  tile.store %s, %o[%c0, %c0] : !y, !tile.view<[M, N], f32>
  tile.store %u, %o[%c0, %c0] : !y, !tile.view<[M, N], f32>
  tile.return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 5]>
!t = tensor<16x80xf32, #acc>

// Of more than 4 KiB: its bytes are for others again as soon as it is read.
// CHECK-LABEL: @large
// CHECK: %[[Z:.+]] = tile.full
// CHECK: tilegpu.store_shared
// CHECK-NEXT: tilegpu.load_shared
// CHECK-NEXT: math.absf %[[Z]]
tile.kernel @large warps(2) (%fx : f32, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %x = tile.full %fx : f32 -> !t
  %b = tilegpu.alloc "convert" : !tilegpu.buffer<16x80xf32>
  tilegpu.store_shared %x, %b : !t, !tilegpu.buffer<16x80xf32>
  %l = tilegpu.load_shared %b : !tilegpu.buffer<16x80xf32> -> !t
  %a = math.absf %x : !t
  %s = arith.addf %l, %a : !t
  tile.store %s, %o[%c0, %c0] : !t, !tile.view<[M, N], f32>
  tile.return
}
