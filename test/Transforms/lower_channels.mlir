// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-lower-channels --split-input-file | FileCheck %s

#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [[0], [0]], reps = [1]>
#w = #tilegpu.layout<reg = [[8]], lane = [[1], [2], [4], [0], [0]], warp = [[0], [0]], reps = [1]>
!c = !tilegpu.channel<2, [tensor<16xf32>]>

// Two receivers of four warps each, one sender.
// CHECK-LABEL: @ring
tile.kernel @ring warps(12) (%x : f32, %n : index, %o : !tile.view<[H], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[B:.+]] = tilegpu.alloc "hand" : !tilegpu.ring<2, !tilegpu.buffer<16xf32>>
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 4 : i32}
  // CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[EMPTY]] {count = 8 : i32}
  // CHECK-NOT: tilegpu.channel
  %c = tilegpu.channel "hand" : !c
  tilegpu.roles
  // The counters of the role are carried: parity, stage.
  // CHECK: role "a"
  // CHECK: scf.for {{.*}} iter_args(%[[P:.+]] = %c0_i32{{.*}}, %[[S:.+]] = %c0_i32{{.*}}) -> (i32, i32)
  // CHECK: tilegpu.mbarrier_wait %[[FULL]][%[[S]]], %[[P]]
  // CHECK: %[[ST:.+]] = tilegpu.stage %[[B]][%[[S]]]
  // CHECK: tilegpu.load_shared %[[ST]]
  // CHECK: tile.store
  // CHECK: tilegpu.mbarrier_arrive %[[EMPTY]][%[[S]]] {by_warp}
  // CHECK-NEXT: scf.yield
  role "a" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      %r = tilegpu.receive %c : !c -> tensor<16xf32, #v>
      tile.store %r, %o[%i] : tensor<16xf32, #v>, !tile.view<[H], f32>
    }
    tilegpu.role_end
  }
  role "b" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      %r = tilegpu.receive %c : !c -> tensor<16xf32, #w>
    }
    tilegpu.role_end
  }
  // CHECK: role "c"
  // CHECK: scf.for {{.*}} iter_args(%[[P2:.+]] = %c0_i32{{.*}}, %[[S2:.+]] = %c0_i32{{.*}}) -> (i32, i32)
  // CHECK: %[[NOT:.+]] = arith.xori %[[P2]], %
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[S2]]], %[[NOT]]
  // CHECK: tilegpu.store_shared
  // CHECK: tilegpu.mbarrier_arrive %[[FULL]][%[[S2]]] {by_warp}
  role "c" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      %t = tile.full %x : f32 -> tensor<16xf32, #v>
      tilegpu.send %t to %c : tensor<16xf32, #v> to !c
    }
    tilegpu.role_end
  }
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], reps = [1]>
!c = !tilegpu.channel<2, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>

// Gathered rows: two arrivals a thread, ids of the next iteration loaded in this.
// CHECK-LABEL: @rows
tile.kernel @rows warps(8) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // CHECK: %[[ROWS:.+]] = tilegpu.alloc "rows" : !tilegpu.ring<2, !tilegpu.buffer<32x576xi8, stride = 592>>
  // CHECK: tilegpu.mbarrier_init %[[FULL:.+]] {count = 256 : i32}
  // CHECK: tilegpu.mbarrier_init %[[EMPTY:.+]] {count = 4 : i32}
  %c = tilegpu.channel "rows" : !c
  tilegpu.roles
  role "reads" warps(4) registers(216) {
    scf.for %i = %c0 to %n step %c32 {
      %r, %ok = tilegpu.receive %c : !c -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #v>
    }
    tilegpu.role_end
  }
  // CHECK: role "gathers"
  // CHECK: %[[FIRST:.+]] = tile.load %idx[%c0]
  // CHECK: scf.for %[[I:.+]] = {{.*}} iter_args(%[[IDS:[^ ]+]] = %[[FIRST]],
  // CHECK: %[[NEXT:.+]] = arith.addi %[[I]], %c32
  // CHECK: tile.load %idx[%[[NEXT]]]
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]]
  // CHECK: tilegpu.gather_async %pool[%[[IDS]]] {{.*}} signal %[[FULL]]
  // CHECK-NOT: tile.gather
  role "gathers" warps(4) registers(40) {
    scf.for %i = %c0 to %n step %c32 {
      %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32, #ids>
      %r, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32, #ids> -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids>
      tilegpu.send %r, %ok to %c : !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids> to !c
    }
    tilegpu.role_end
  }
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], reps = [1]>
!c = !tilegpu.channel<2, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>

// By bulk copies: one arrival a warp, and one a row for its scales.
// CHECK-LABEL: @bulk
tile.kernel @bulk warps(8) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  // CHECK: tilegpu.mbarrier_init %[[FULL:.+]] {count = 36 : i32}
  // CHECK: tilegpu.mbarrier_init %{{.+}} {count = 4 : i32}
  %c = tilegpu.channel "rows" : !c
  tilegpu.roles
  role "reads" warps(4) registers(216) {
    scf.for %i = %c0 to %n step %c32 {
      %r, %ok = tilegpu.receive %c : !c -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #v>
    }
    tilegpu.role_end
  }
  // CHECK: role "gathers"
  // CHECK: tilegpu.gather_async {{.*}} signal %[[FULL]][%{{.+}}] {bulk}
  role "gathers" warps(4) registers(40) {
    scf.for %i = %c0 to %n step %c32 {
      %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32, #ids>
      %r, %ok = tile.gather %pool[%ids] {bulk} : !tile.pool<"dsv4">, tensor<32xi32, #ids> -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids>
      tilegpu.send %r, %ok to %c : !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids> to !c
    }
    tilegpu.role_end
  }
  tile.return
}
