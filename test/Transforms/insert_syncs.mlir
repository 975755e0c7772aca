// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-insert-syncs --split-input-file | FileCheck %s

// Two warps, 8 x 16 elements. In #rows and #rows2 a warp holds four rows, by
// other threads; in #cols eight columns; in #copies both hold everything.
#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#rows2 = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[4, 0]], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[0, 8]], reps = [1, 1]>
#copies = #tilegpu.layout<reg = [[2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[0, 0]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// What a thread wrote it reads without a barrier; what another thread of its
// warp wrote after one of the warp; what another warp wrote after one of the CTA.
// CHECK-LABEL: @scopes
tile.kernel @scopes warps(2) (%x : f32) {
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.load_shared
  %same = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows>
  // CHECK-NEXT: tilegpu.sync warp
  // CHECK-NEXT: tilegpu.load_shared
  %warp = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows2>
  // Once synchronised, no more.
  // CHECK-NEXT: tilegpu.load_shared
  %again = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows2>
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  %cta = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#rows2 = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]], reps = [1, 1]>
#copies = #tilegpu.layout<reg = [[2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[0, 0]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// Of copies only the first warp's is stored, so that the others depend on it,
// and all copies have to be read before a warp may overwrite them.
// CHECK-LABEL: @copies
tile.kernel @copies warps(2) (%x : f32) {
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #copies>
  %u = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #copies>, !b
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #copies>
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %u, %buffer : tensor<8x16xf32, #rows>, !b
  // Every warp reads what it has written itself.
  // CHECK-NEXT: tilegpu.sync warp
  // CHECK-NEXT: tilegpu.load_shared
  %m = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows2>
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[4, 0]], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[0, 8]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// The end of an iteration meets the start of the next; two reads never conflict.
// CHECK-LABEL: @loop
tile.kernel @loop warps(2) (%x : f32) {
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
    // CHECK-NEXT: tilegpu.load_shared
    %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
    // CHECK-NEXT: tilegpu.load_shared
    %m = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows>
  }
  // CHECK: }
  // CHECK-NEXT: tilegpu.load_shared
  %after = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows>
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#rows2 = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// Where a warp owns its elements on both sides its own barrier is enough in a
// loop too.
// CHECK-LABEL: @warp_loop
tile.kernel @warp_loop warps(2) (%x : f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK-NOT: tilegpu.sync cta
  scf.for %i = %c0 to %c4 step %c1 {
    // CHECK: tilegpu.sync warp
    // CHECK-NEXT: tilegpu.store_shared
    tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
    // CHECK-NEXT: tilegpu.sync warp
    // CHECK-NEXT: tilegpu.load_shared
    %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #rows2>
  }
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// Buffers that share bytes (512 of each): the element that a thread reads stands
// elsewhere in the other buffer. Buffers side by side do not meet.
// CHECK-LABEL: @overlap
tile.kernel @overlap warps(2) (%x : f32) {
  %first = tilegpu.alloc "first" {offset = 0 : i64} : !b
  %beside = tilegpu.alloc "beside" {offset = 512 : i64} : !b
  %second = tilegpu.alloc "second" {offset = 496 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %first : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %t, %beside : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  %l = tilegpu.load_shared %second : !b -> tensor<8x16xf32, #rows>
  tile.return
}

// -----

#rows = #tilegpu.layout<reg = [[2, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[4, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[4, 0]], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [[0, 8]], reps = [1, 1]>
!b = !tilegpu.buffer<8x16xf32>

// A branch that may have written counts; a barrier in one branch is none in the
// other; barriers that stand there already are not doubled.
// CHECK-LABEL: @branches
tile.kernel @branches warps(2) (%x : f32, %take : i1) {
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %t = tile.full %x : f32 -> tensor<8x16xf32, #rows>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  tilegpu.sync cta
  %l = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
  // CHECK: scf.if
  scf.if %take {
    // CHECK-NEXT: tilegpu.sync cta
    // CHECK-NEXT: tilegpu.store_shared
    tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  }
  // CHECK: }
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  %m = tilegpu.load_shared %buffer : !b -> tensor<8x16xf32, #cols>
  // CHECK: scf.if
  scf.if %take {
    // CHECK-NEXT: tilegpu.sync cta
    tilegpu.sync cta
  }
  // CHECK: }
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<8x16xf32, #rows>, !b
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
#any = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [], reps = [1]>
!rows = !tilegpu.buffer<16x576xi8, stride = 592>
!scales = !tilegpu.buffer<16x8xi8>
!slots = !tilegpu.buffer<16xi32>
!scratch = !tilegpu.buffer<1184xi32>

// Copies and their readers meet at mbarriers. What shares bytes with them does
// not: the copies overwrite what was read there before.
// CHECK-LABEL: @copies_and_readers
tile.kernel @copies_and_readers warps(1) (%kv : !tile.pool<"dsv4">, %ids : i32, %i : i32) {
  %scratch = tilegpu.alloc "scratch" {offset = 16384 : i64} : !slots
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !rows
  %scales = tilegpu.alloc "scales" {offset = 9472 : i64} : !scales
  %slots = tilegpu.alloc "slots" {offset = 16384 : i64} : !slots
  %full = tilegpu.alloc "full" {offset = 9616 : i64} : !tilegpu.mbarriers<1>
  %t = tile.full %ids : i32 -> tensor<16xi32, #ids>
  // CHECK: tilegpu.load_shared
  %before = tilegpu.load_shared %scratch : !slots -> tensor<16xi32, #any>
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.gather_async
  tilegpu.gather_async %kv[%t] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<16xi32, #ids>, !rows, !scales, !slots, !tilegpu.mbarriers<1>
  // CHECK-NEXT: tilegpu.mbarrier_wait
  tilegpu.mbarrier_wait %full[%i], %i : !tilegpu.mbarriers<1>
  // CHECK-NEXT: tilegpu.load_shared
  %after = tilegpu.load_shared %slots : !slots -> tensor<16xi32, #any>
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], reps = [1]>
#copy = #tilegpu.layout<reg = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [[0]], reps = [1]>

// The barrier of the cluster is one of the CTA for what stands before it; what
// comes between its halves is ordered by none.
// CHECK-LABEL: @cluster
tile.kernel @cluster warps(2) cluster(2) (%x : f32, %i : index) {
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<64xf32>
  %o = tilegpu.alloc "o" {offset = 256 : i64} : !tilegpu.buffer<64xf32>
  %t = tile.full %x : f32 -> tensor<64xf32, #l>
  // CHECK: tilegpu.store_shared
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: tilegpu.load_peer
  // CHECK-NEXT: tilegpu.load_shared
  tilegpu.store_shared %t, %b : tensor<64xf32, #l>, !tilegpu.buffer<64xf32>
  tilegpu.cluster_arrive
  tilegpu.cluster_wait
  %p = tilegpu.load_peer %b of %i[%i] : !tilegpu.buffer<64xf32> -> tensor<64xf32, #copy>
  %q = tilegpu.load_shared %b : !tilegpu.buffer<64xf32> -> tensor<64xf32, #copy>
  // CHECK-NEXT: tilegpu.cluster_arrive
  // CHECK-NEXT: tilegpu.store_shared
  // CHECK-NEXT: tilegpu.cluster_wait
  // CHECK-NEXT: tilegpu.sync cta
  // CHECK-NEXT: tilegpu.load_shared
  tilegpu.cluster_arrive
  tilegpu.store_shared %t, %o : tensor<64xf32, #l>, !tilegpu.buffer<64xf32>
  tilegpu.cluster_wait
  %r = tilegpu.load_shared %o : !tilegpu.buffer<64xf32> -> tensor<64xf32, #copy>
  %s = arith.addf %p, %q : tensor<64xf32, #copy>
  %u = arith.addf %s, %r : tensor<64xf32, #copy>
  tile.return
}

// -----

#a = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]], reps = [1, 2]>
!b = !tilegpu.buffer<32x32xf16, stride = 80>
!odd = !tilegpu.buffer<32x32xf16, stride = 72>

// Fragments are read by ldmatrix: what a thread gets another one of its warp has
// read, so that what it stored itself takes a barrier of the warp too, in both
// directions. Not so where each thread loads its own.
// CHECK-LABEL: @fragments
tile.kernel @fragments warps(2) (%x : f16) {
  %buffer = tilegpu.alloc "b" {offset = 0 : i64} : !b
  %odd = tilegpu.alloc "odd" {offset = 2560 : i64} : !odd
  %t = tile.full %x : f16 -> tensor<32x32xf16, #a>
  // CHECK: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<32x32xf16, #a>, !b
  // CHECK-NEXT: tilegpu.sync warp
  // CHECK-NEXT: tilegpu.load_shared
  %u = tilegpu.load_shared %buffer : !b -> tensor<32x32xf16, #a>
  // CHECK-NEXT: tilegpu.sync warp
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %t, %buffer : tensor<32x32xf16, #a>, !b
  // CHECK-NEXT: tilegpu.store_shared
  tilegpu.store_shared %t, %odd : tensor<32x32xf16, #a>, !odd
  // CHECK-NEXT: tilegpu.load_shared
  %v = tilegpu.load_shared %odd : !odd -> tensor<32x32xf16, #a>
  tile.return
}
