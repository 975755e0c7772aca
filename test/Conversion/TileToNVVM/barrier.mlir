// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

// Thread 0 initialises; the wait is a loop, because try_wait may give up.
// CHECK-LABEL: llvm.func @barriers
// CHECK-SAME: %[[I:[a-z0-9]+]]: i32{{[^%]*}}%[[PARITY:[a-z0-9]+]]: i32
// CHECK-DAG: %[[BARS:.*]] = llvm.mlir.addressof @mlatile_shared_barriers : !llvm.ptr<3>
// CHECK-DAG: %[[COUNT:.*]] = llvm.mlir.constant(128 : i32)
// CHECK-DAG: %[[C8:.*]] = llvm.mlir.constant(8 : i32)
// CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: llvm.cond_br %[[FIRST]], ^[[INIT:bb[0-9]+]], ^[[REST:bb[0-9]+]]
// CHECK: ^[[INIT]]:
// CHECK: nvvm.mbarrier.init %[[BARS]], %[[COUNT]]
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[BARS]][8]
// CHECK: nvvm.mbarrier.init %[[SECOND]], %[[COUNT]]
// CHECK: ^[[REST]]:
// CHECK: nvvm.barrier0
// CHECK: %[[OFFSET:.*]] = llvm.mul %[[I]], %[[C8]]
// CHECK: %[[BAR:.*]] = llvm.getelementptr %[[BARS]][%[[OFFSET]]]
// CHECK: nvvm.mbarrier.arrive %[[BAR]] : !llvm.ptr<3> -> i64
// CHECK: llvm.br ^[[LOOP:bb[0-9]+]]
// CHECK: ^[[LOOP]]:
// CHECK: %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[BAR]], %[[PARITY]] : !llvm.ptr<3>, i32 -> i1
// CHECK: llvm.cond_br %[[DONE]], ^[[AFTER:bb[0-9]+]], ^[[LOOP]]
// CHECK: ^[[AFTER]]:
// CHECK: nvvm.bar.warp.sync %{{.*}} : i32
// CHECK: llvm.return
tile.kernel @barriers warps(4) (%i: i32, %parity: i32) {
  %bars = tilegpu.alloc "bars" {offset = 0 : i64} : !tilegpu.mbarriers<2>
  tilegpu.mbarrier_init %bars {count = 128 : i32} : !tilegpu.mbarriers<2>
  tilegpu.sync cta
  tilegpu.mbarrier_arrive %bars[%i] : !tilegpu.mbarriers<2>
  tilegpu.mbarrier_wait %bars[%i], %parity : !tilegpu.mbarriers<2>
  tilegpu.sync warp
  tile.return
}
