// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-hold-operands --split-input-file | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], reps = [1, 4]>
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [4, 7]>
!q = !tilegpu.buffer<64x448xf16, stride = 912>
!k = !tilegpu.buffer<32x448xf16, stride = 912>
!s = tensor<64x32xf32, #acc>

// 128 registers, 64 of them to work with and 16 for what the loop carries: there
// is room for twelve steps of 16 columns, four registers each. Sums go on in the
// order of the columns.
// CHECK-LABEL: @part
// CHECK: %[[Q:.+]] = tilegpu.alloc "q"
// CHECK: %[[K:.+]] = tilegpu.alloc "k"
// CHECK: role "first" warps(4) registers(128)
// CHECK: %[[W:.+]] = tilegpu.view %[[Q]] + 0 : {{.*}} -> !tilegpu.buffer<64x192xf16, stride = 912>
// CHECK: %[[HELD:.+]] = tilegpu.load_shared %[[W]] : {{.*}} -> tensor<64x192xf16, #[[A:.+]]>
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[C:.+]] = %
// CHECK: %[[K0:.+]] = tilegpu.view %[[K]] + 0 : {{.*}} -> !tilegpu.buffer<32x192xf16, stride = 912>
// CHECK: %[[S0:.+]] = tilegpu.dot %[[HELD]], %[[K0]], %[[C]] {b_transposed} : tensor<64x192xf16, #[[A]]>
// CHECK: %[[Q1:.+]] = tilegpu.view %[[Q]] + 384 : {{.*}} -> !tilegpu.buffer<64x256xf16, stride = 912>
// CHECK: %[[K1:.+]] = tilegpu.view %[[K]] + 384 : {{.*}} -> !tilegpu.buffer<32x256xf16, stride = 912>
// CHECK: %[[S:.+]] = tilegpu.dot %[[Q1]], %[[K1]], %[[S0]] {b_transposed}
// CHECK: scf.yield %[[S]]
// Room for all columns: one product. No room: as it was.
// CHECK: role "all" warps(4) registers(216)
// CHECK: %[[ALL:.+]] = tilegpu.load_shared %{{.+}} -> tensor<64x448xf16, #
// CHECK: scf.for
// CHECK: tilegpu.dot %[[ALL]], %
// CHECK-NOT: tilegpu.dot
// CHECK: role "none" warps(4) registers(80)
// CHECK-NOT: load_shared
// CHECK: tilegpu.dot %[[Q]], %[[K]], %{{.+}} {b_transposed} : !tilegpu.buffer<64x448xf16
tile.kernel @part warps(12) (%n : index, %x : f16, %f : f32, %v : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tilegpu.alloc "q" : !q
  %k = tilegpu.alloc "k" : !k
  tilegpu.roles
  role "first" warps(4) registers(128) {
    %t = tile.full %x : f16 -> tensor<64x448xf16, #rows>
    tilegpu.store_shared %t, %q : tensor<64x448xf16, #rows>, !q
    %z = tile.full %f : f32 -> !s
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %z) -> (!s) {
      %d = tilegpu.dot %q, %k, %c {b_transposed} : !q, !k, !s
      scf.yield %d : !s
    }
    tile.store %r, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    tilegpu.role_end
  }
  role "all" warps(4) registers(216) {
    %z = tile.full %f : f32 -> !s
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %z) -> (!s) {
      %d = tilegpu.dot %q, %k, %c {b_transposed} : !q, !k, !s
      scf.yield %d : !s
    }
    tile.store %r, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    tilegpu.role_end
  }
  role "none" warps(4) registers(80) {
    %z = tile.full %f : f32 -> !s
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %z) -> (!s) {
      %d = tilegpu.dot %q, %k, %c {b_transposed} : !q, !k, !s
      scf.yield %d : !s
    }
    tile.store %r, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    tilegpu.role_end
  }
  tile.return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], reps = [1, 4]>
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [4, 7]>
!q = !tilegpu.buffer<64x448xf16, stride = 912>
!k = !tilegpu.buffer<32x448xf16, stride = 912>
!s = tensor<64x32xf32, #acc>

// The one place of a channel, filled once. Of two places, or a place that is
// chosen in the loop, nobody knows what the next iteration reads.
// CHECK-LABEL: @channels
// CHECK: role "one"
// CHECK: tilegpu.stage
// CHECK: tilegpu.load_shared
// CHECK: scf.for
// CHECK: role "inside"
// CHECK-NOT: load_shared
// CHECK: role "two"
// CHECK-NOT: load_shared
// CHECK: role "sends"
tile.kernel @channels warps(16) (%n : index, %x : f16, %f : f32, %v : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = arith.constant 0 : i32
  %one = tilegpu.alloc "one" : !tilegpu.ring<1, !q>
  %two = tilegpu.alloc "two" : !tilegpu.ring<2, !q>
  %k = tilegpu.alloc "k" : !k
  tilegpu.roles
  role "one" warps(4) registers(128) {
    %q = tilegpu.stage %one[%i0] : !tilegpu.ring<1, !q> -> !q
    %z = tile.full %f : f32 -> !s
    scf.for %i = %c0 to %n step %c1 {
      %d = tilegpu.dot %q, %k, %z {b_transposed} : !q, !k, !s
      tile.store %d, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    }
    tilegpu.role_end
  }
  role "inside" warps(4) registers(128) {
    %z = tile.full %f : f32 -> !s
    scf.for %i = %c0 to %n step %c1 {
      %q = tilegpu.stage %one[%i0] : !tilegpu.ring<1, !q> -> !q
      %d = tilegpu.dot %q, %k, %z {b_transposed} : !q, !k, !s
      tile.store %d, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    }
    tilegpu.role_end
  }
  role "two" warps(4) registers(128) {
    %q = tilegpu.stage %two[%i0] : !tilegpu.ring<2, !q> -> !q
    %z = tile.full %f : f32 -> !s
    scf.for %i = %c0 to %n step %c1 {
      %d = tilegpu.dot %q, %k, %z {b_transposed} : !q, !k, !s
      tile.store %d, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    }
    tilegpu.role_end
  }
  role "sends" warps(4) registers(128) {
    %t = tile.full %x : f16 -> tensor<64x448xf16, #rows>
    %q = tilegpu.stage %one[%i0] : !tilegpu.ring<1, !q> -> !q
    tilegpu.store_shared %t, %q : tensor<64x448xf16, #rows>, !q
    tilegpu.role_end
  }
  tile.return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], reps = [1, 4]>
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [4, 7]>
!q = !tilegpu.buffer<64x448xf16, stride = 912>
!qT = !tilegpu.buffer<448x64xf16, stride = 144>
!k = !tilegpu.buffer<32x448xf16, stride = 912>
!kT = !tilegpu.buffer<448x32xf16, stride = 80>
!s = tensor<64x32xf32, #acc>

// Nothing is held of a buffer that is written in a loop, even of another role;
// nor of operands with columns along rows; nor without roles.
// CHECK-LABEL: @unchanged
// CHECK-NOT: load_shared
// CHECK: tile.return
tile.kernel @unchanged warps(8) (%n : index, %x : f16, %f : f32, %v : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tilegpu.alloc "q" : !q
  %qT = tilegpu.alloc "qT" : !qT
  %k = tilegpu.alloc "k" : !k
  %kT = tilegpu.alloc "kT" : !kT
  tilegpu.roles
  role "first" warps(4) registers(216) {
    %z = tile.full %f : f32 -> !s
    scf.for %i = %c0 to %n step %c1 {
      %d = tilegpu.dot %q, %k, %z {b_transposed} : !q, !k, !s
      %e = tilegpu.dot %qT, %k, %z {a_transposed, b_transposed} : !qT, !k, !s
      %g = tilegpu.dot %q, %kT, %z : !q, !kT, !s
      tile.store %d, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
      tile.store %e, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
      tile.store %g, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
    }
    tilegpu.role_end
  }
  role "writes" warps(4) registers(216) {
    %t = tile.full %x : f16 -> tensor<64x448xf16, #rows>
    scf.for %i = %c0 to %n step %c1 {
      tilegpu.store_shared %t, %q : tensor<64x448xf16, #rows>, !q
    }
    tilegpu.role_end
  }
  tile.return
}

tile.kernel @equal_warps warps(4) (%n : index, %f : f32, %v : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tilegpu.alloc "q" : !q
  %k = tilegpu.alloc "k" : !k
  %z = tile.full %f : f32 -> !s
  scf.for %i = %c0 to %n step %c1 {
    %d = tilegpu.dot %q, %k, %z {b_transposed} : !q, !k, !s
    tile.store %d, %v[%c0, %c0] : !s, !tile.view<[M, N], f32>
  }
  tile.return
}
