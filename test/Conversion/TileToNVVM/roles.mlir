// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm="target=sm_120a" | FileCheck %s

#a = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64], [128]], reps = [1]>
#b = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], reps = [1]>

// Twelve warps of 168 registers: 8 x 216 + 4 x 72 = 12 x 168.
// CHECK-LABEL: llvm.func @two
// CHECK-SAME: nvvm.minctasm = 1
// CHECK-SAME: nvvm.reqntid = array<i32: 384>
// CHECK: %[[T:.+]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[WARP:.+]] = llvm.lshr %[[T]], %{{.+}} : i32
// CHECK: nvvm.barrier
// CHECK: %[[EIGHT:.+]] = llvm.mlir.constant(8 : i32)
// CHECK: %[[WIDE:.+]] = llvm.icmp "ult" %[[WARP]], %[[EIGHT]]
// CHECK: llvm.cond_br %[[WIDE]], ^[[A:bb[0-9]+]], ^[[B:bb[0-9]+]]
tile.kernel @two warps(12) (%v : !tile.view<[H], f32>, %h : index) {
  %zero = arith.constant 0 : i32
  %bars = tilegpu.alloc "bars" {offset = 0 : i64} : !tilegpu.mbarriers<1>
  %buffer = tilegpu.alloc "b" {offset = 16 : i64} : !tilegpu.buffer<256xf32>
  tilegpu.sync cta
  tilegpu.roles
  // CHECK: ^[[A]]:
  // CHECK-NEXT: nvvm.setmaxregister increase 216
  // CHECK: llvm.and %[[T]], %{{.+}} : i32
  // CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %{{.+}}
  role "wide" warps(8) registers(216) {
    %t = tile.load %v[%h] : !tile.view<[H], f32> -> tensor<256xf32, #a>
    tilegpu.sync role
    tile.store %t, %v[%h] : tensor<256xf32, #a>, !tile.view<[H], f32>
    tilegpu.role_end
  }
  // CHECK: ^[[B]]:
  // CHECK-NEXT: nvvm.setmaxregister decrease 72
  // CHECK: nvvm.bar.warp.sync
  // CHECK: %[[FIRST:.+]] = llvm.icmp "eq"
  // CHECK: llvm.cond_br %[[FIRST]], ^[[ONE:bb[0-9]+]]
  // CHECK: ^[[ONE]]:
  // CHECK: nvvm.mbarrier.arrive
  role "narrow" warps(4) registers(72) {
    tilegpu.mbarrier_arrive %bars[%zero] {by_warp} : !tilegpu.mbarriers<1>
    tilegpu.role_end
  }
  // CHECK: llvm.return
  // CHECK-NOT: tilegpu
  tile.return
}
