// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

// Thread 0 counts behind a barrier and a fence, and waits in front of one.
// CHECK-LABEL: llvm.func @counters
// CHECK-SAME: %[[BASE:[^:]*]]: !llvm.ptr<1>, %[[EXTENT:[^:]*]]: i64, %[[I:[^:]*]]: i64, %[[N:[^:]*]]: i64
// CHECK-SAME: tilegpu.coresident
// CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: nvvm.barrier0
// CHECK: %[[IN:.*]] = llvm.icmp "ult" %[[I]], %[[EXTENT]]
// CHECK: %[[MINE:.*]] = llvm.and %{{.*}}, %[[IN]]
// CHECK: llvm.cond_br %[[MINE]], ^[[COUNT:bb[0-9]+]], ^[[COUNTED:bb[0-9]+]]
// CHECK: ^[[COUNT]]:
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: %[[N32:.*]] = llvm.trunc %[[N]]
// CHECK: %[[LAST:.*]] = llvm.sub %[[N32]], %[[C1]]
// CHECK: llvm.atomicrmw uinc_wrap %{{.*}}, %[[LAST]] syncscope("device") monotonic
// CHECK: ^[[COUNTED]]:
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.cond_br %{{.*}}, ^[[LOOP:bb[0-9]+]], ^[[AFTER:bb[0-9]+]]
// CHECK: ^[[LOOP]]:
// CHECK: %[[SEEN:.*]] = llvm.load %{{.*}} atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[DONE:.*]] = llvm.icmp "uge" %[[SEEN]], %{{.*}} : i32
// CHECK: llvm.cond_br %[[DONE]], ^[[AFTER]], ^[[LOOP]]
// CHECK: ^[[AFTER]]:
// CHECK: nvvm.barrier0
// CHECK-NOT: llvm.fence
// CHECK: llvm.atomicrmw uinc_wrap
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.return
tile.kernel @counters warps(4) (%c: !tile.view<[G], i32>, %i: index, %n: index) {
  tile.atomic_inc %c[%i] modulo %n : !tile.view<[G], i32>
  tile.wait_until %c[%i] at_least %n : !tile.view<[G], i32>
  tile.atomic_inc relaxed %c[%i] modulo %n : !tile.view<[G], i32>
  tile.return
}
