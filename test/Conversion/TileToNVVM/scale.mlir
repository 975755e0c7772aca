// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm="target=sm_120a" | FileCheck %s

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#row = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [], reps = [1]>

// Two rows a thread: multiplied where a lane of the warp has another factor than one.
// CHECK-LABEL: llvm.func @scale
// CHECK: %[[A:.+]] = llvm.fcmp "une" %{{.+}}, %{{.+}} : f32
// CHECK: %[[B:.+]] = llvm.fcmp "une" %{{.+}}, %{{.+}} : f32
// CHECK: %[[OR:.+]] = llvm.or %[[A]], %[[B]]
// CHECK: %[[ANY:.+]] = nvvm.vote.sync any %{{.+}}, %[[OR]] -> i1
// CHECK: llvm.cond_br %[[ANY]], ^[[MUL:bb[0-9]+]], ^[[AFTER:bb[0-9]+]](%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : f32, f32, f32, f32)
// CHECK: ^[[MUL]]:
// CHECK-COUNT-4: llvm.fmul
// CHECK: llvm.br ^[[AFTER]](
tile.kernel @scale warps(1) (%v : !tile.view<[H, D], f32>, %w : !tile.view<[H], f32>, %h : index) {
  %t = tile.load %v[%h, %h] : !tile.view<[H, D], f32> -> tensor<16x8xf32, #acc>
  %f = tile.load %w[%h] : !tile.view<[H], f32> -> tensor<16xf32, #row>
  %s = tilegpu.scale %t by %f along 1 : tensor<16x8xf32, #acc>, tensor<16xf32, #row>
  tile.store %s, %v[%h, %h] : tensor<16x8xf32, #acc>, !tile.view<[H, D], f32>
  tile.return
}
