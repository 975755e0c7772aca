// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-lower-channels --split-input-file | FileCheck %s

#t = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
!c = !tilegpu.channel<1, [tensor<16x64xbf16>]>
!t = tensor<16x64xbf16, #t>
!v = !tile.view<[T, H, D], bf16>

// A copy waits for the place, and arrives twice a thread by itself; one arrival
// a warp of each receiver frees the place.
// CHECK: #[[$PIECES:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [0, 2], [0, 4]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]], reps = [1, 1]>
// CHECK-LABEL: @copied
tile.kernel @copied warps(12) (%q : !v, %o : !v, %n : index, %m : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[RING:.+]] = tilegpu.alloc "item" : !tilegpu.ring<1, !tilegpu.buffer<16x64xbf16, stride = 144>>
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full" : !tilegpu.mbarriers<1>
  // CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 256 : i32}
  // CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty" : !tilegpu.mbarriers<1>
  // CHECK: tilegpu.mbarrier_init %[[EMPTY]] {count = 8 : i32}
  // CHECK-NOT: tilegpu.channel
  %c = tilegpu.channel "item" : !c
  tilegpu.roles
  // Only the loop uses the record: the place is free behind it, though more
  // follows.
  // CHECK: role "loop"
  // CHECK: scf.for {{.*}} iter_args(%[[P:[a-z0-9]+]] = %c0_i32{{.*}})
  // CHECK: tilegpu.mbarrier_wait %[[FULL]][%[[S:.+]]], %[[P]]
  // CHECK: %[[PLACE:.+]] = tilegpu.stage %[[RING]][%[[S]]]
  // CHECK: tilegpu.load_shared %[[PLACE]]
  // CHECK-NOT: tilegpu.mbarrier_arrive
  // CHECK: scf.for
  // CHECK: tile.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]][%[[S]]] {by_warp}
  // CHECK: tile.full
  // CHECK: tile.store
  // CHECK-NOT: tilegpu.mbarrier_arrive
  // CHECK: tilegpu.role_end
  role "loop" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      %r = tilegpu.receive %c : !c -> !t
      scf.for %j = %c0 to %m step %c1 {
        tile.store %r, %o[%j, %c0, %c0] : !t, !v
      }
      %f0 = arith.constant 0.0 : bf16
      %z = tile.full %f0 : bf16 -> !t
      tile.store %z, %o[%i, %c0, %c0] : !t, !v
    }
    tilegpu.role_end
  }
  // Here something else uses it behind the loop.
  // CHECK: role "behind"
  // CHECK: tilegpu.mbarrier_wait %[[FULL]]
  // CHECK: scf.for
  // CHECK: tile.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]][{{.*}}] {by_warp}
  // CHECK-NEXT: scf.yield
  role "behind" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      %r = tilegpu.receive %c : !c -> !t
      scf.for %j = %c0 to %m step %c1 {
        tile.store %r, %o[%j, %c0, %c0] : !t, !v
      }
      tile.store %r, %o[%i, %c0, %c0] : !t, !v
    }
    tilegpu.role_end
  }
  // CHECK: role "sends"
  // CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} iter_args(%[[SP:[a-z0-9]+]] = %c0_i32{{.*}})
  // CHECK: %[[FREED:.+]] = arith.xori %[[SP]], %
  // CHECK: %[[TO:.+]] = tilegpu.stage %[[RING]][%[[S2:.+]]]
  // CHECK: tilegpu.mbarrier_wait %[[EMPTY]][%[[S2]]], %[[FREED]]
  // CHECK-NEXT: tilegpu.copy_async %q[%[[I]], %c0, %c1] into %[[TO]] signal %[[FULL]][%[[S2]]] by #[[$PIECES]]
  // CHECK-NOT: tilegpu.mbarrier_arrive
  // CHECK: tilegpu.role_end
  role "sends" warps(4) registers(168) {
    scf.for %i = %c0 to %n step %c1 {
      tilegpu.send_copy %q[%i, %c0, %c1] to %c : !v to !c
    }
    tilegpu.role_end
  }
  tile.return
}

// -----

#t = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
#row = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [1], [2]], warp = [[4], [8]], reps = [1]>
!c = !tilegpu.channel<2, [tensor<16x64xbf16>]>
!t = tensor<16x64xbf16, #t>
!row = tensor<16xbf16, #row>
!v = !tile.view<[T, H, D], bf16>
!vr = !tile.view<[T, H], bf16>

// What is made of a record counts as well: whoever makes it may leave it in the
// place. The last of the loops that use it is what counts, and copies go round
// the places like other records.
// CHECK-LABEL: @made
tile.kernel @made warps(16) (%q : !v, %o : !v, %r : !vr, %n : index, %m : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : bf16
  // CHECK: %[[FULL:.+]] = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  // CHECK: %[[EMPTY:.+]] = tilegpu.alloc "empty" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[EMPTY]] {count = 12 : i32}
  %c = tilegpu.channel "item" : !c
  tilegpu.roles
  // CHECK: role "two"
  // CHECK: %[[SUM:.+]] = arith.addf
  // CHECK: scf.for
  // CHECK-NEXT: tile.store %[[GOT:.+]], %o
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.store %[[SUM]], %o
  // CHECK-NEXT: }
  // CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.store %{{.+}}, %o
  role "two" warps(4) registers(128) {
    scf.for %i = %c0 to %n step %c1 {
      %one = tile.full %x : bf16 -> !t
      %got = tilegpu.receive %c : !c -> !t
      %sum = arith.addf %got, %one : !t
      scf.for %j = %c0 to %m step %c1 {
        tile.store %got, %o[%j, %c0, %c0] : !t, !v
      }
      scf.for %j = %c0 to %m step %c1 {
        tile.store %sum, %o[%j, %c0, %c0] : !t, !v
      }
      scf.for %j = %c0 to %m step %c1 {
        tile.store %one, %o[%j, %c0, %c0] : !t, !v
      }
    }
    tilegpu.role_end
  }
  // CHECK: role "made_behind"
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: }
  // CHECK-NOT: tilegpu.mbarrier_arrive
  // CHECK: tile.store %{{.+}}, %r
  // CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]]
  // CHECK-NEXT: scf.yield
  role "made_behind" warps(4) registers(128) {
    scf.for %i = %c0 to %n step %c1 {
      %got = tilegpu.receive %c : !c -> !t
      %most = tile.reduce maximumf %got along 1 : !t -> !row
      scf.for %j = %c0 to %m step %c1 {
        tile.store %got, %o[%j, %c0, %c0] : !t, !v
      }
      %twice = arith.addf %most, %most : !row
      tile.store %twice, %r[%i, %c0] : !row, !vr
    }
    tilegpu.role_end
  }
  // In no loop, and in a branch behind one.
  // CHECK: role "none"
  // CHECK: tilegpu.mbarrier_wait %[[FULL]]
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: tile.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.full
  // CHECK-NEXT: tilegpu.mbarrier_arrive %[[EMPTY]]
  // CHECK-NEXT: scf.yield
  role "none" warps(4) registers(128) {
    %first = arith.cmpi eq, %n, %m : index
    scf.for %i = %c0 to %n step %c1 {
      %got = tilegpu.receive %c : !c -> !t
      scf.for %j = %c0 to %m step %c1 {
        tile.store %got, %o[%j, %c0, %c0] : !t, !v
      }
      scf.if %first {
        tile.store %got, %o[%i, %c0, %c0] : !t, !v
      }
      %one = tile.full %x : bf16 -> !t
    }
    tilegpu.role_end
  }
  // CHECK: role "sends"
  // CHECK: iter_args(%[[P:[a-z0-9]+]] = %c0_i32{{.*}}, %[[S:[a-z0-9]+]] = %c0_i32{{.*}})
  // CHECK: tilegpu.copy_async %q{{.*}} signal %[[FULL]][%[[S]]]
  // CHECK: %[[LAST:.+]] = arith.cmpi eq, %[[S]], %
  // CHECK: %[[NS:.+]] = arith.select %[[LAST]], %
  // CHECK: %[[NP:.+]] = arith.select %[[LAST]], %{{.+}}, %[[P]]
  // CHECK: scf.yield %[[NP]], %[[NS]]
  role "sends" warps(4) registers(128) {
    scf.for %i = %c0 to %n step %c1 {
      tilegpu.send_copy %q[%i, %c0, %c0] to %c : !v to !c
    }
    tilegpu.role_end
  }
  tile.return
}
