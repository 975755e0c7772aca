// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --split-input-file | FileCheck %s
// RUN: mlatile-opt %s --tile-assign-layouts --tile-to-tilegpu --split-input-file | FileCheck %s --check-prefix=SECOND
// RUN: mlatile-opt %s --tile-assign-layouts --tile-to-tilegpu --tilegpu-plan-shared --tilegpu-insert-syncs --convert-tile-to-nvvm --split-input-file | FileCheck %s --check-prefix=NVVM

// Tiles of three dimensions: planes of rows. One warp has all of the planes, two
// at a time, next to each other in its upper and lower half, so that sums stay
// in registers.
!vx = !tile.view<[R, P, H, D], f16>
!vw = !tile.view<[R, P, H], f32>
!vy = !tile.view<[R, H, D], f32>

// CHECK-DAG: #[[$X:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 0, 1], [0, 0, 2], [0, 0, 4]], lane = {{\[\[}}0, 0, 8], [0, 0, 16], [0, 0, 32], [0, 1, 0], [1, 0, 0]], warp = [], reps = [2, 1, 1]>
// CHECK-DAG: #[[$W:.+]] = #tilegpu.layout<reg = [], lane = {{\[\[}}0, 0], [0, 0], [0, 0], [0, 1], [1, 0]], warp = [], reps = [2, 1]>
// CHECK-DAG: #[[$Y:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [0, 2], [0, 4]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [0, 0]], warp = [], reps = [1, 1]>
// CHECK-LABEL: tile.kernel @in_a_warp
// CHECK: tile.load %x{{.+}} -> tensor<4x2x64xf16, #[[$X]]>
// CHECK: tile.load %w{{.+}} -> tensor<4x2xf32, #[[$W]]>
// CHECK: tile.broadcast %{{.+}} along 2 : tensor<4x2xf32, #[[$W]]> -> tensor<4x2x64xf32, #[[$X]]>
// CHECK: tile.reduce addf %{{.+}} along 0 : tensor<4x2x64xf32, #[[$X]]> -> tensor<2x64xf32, #[[$Y]]>

// SECOND-LABEL: tile.kernel @in_a_warp
// SECOND-NOT: tilegpu.alloc
// SECOND: tilegpu.reduce_warp addf %{{.+}} along 0 : tensor<4x2x64xf32, #{{.+}}> -> tensor<2x64xf32
// SECOND-NOT: tilegpu.load_shared

// Two planes a thread: eight sums of two, and one exchange each.
// NVVM-LABEL: llvm.func @in_a_warp
// NVVM-COUNT-8: nvvm.shfl.sync bfly
// NVVM-NOT: nvvm.shfl
// NVVM-NOT: nvvm.barrier0
// NVVM: llvm.return
tile.kernel @in_a_warp warps(1) (%x : !vx, %w : !vw, %y : !vy) {
  %c0 = arith.constant 0 : index
  %x16 = tile.load %x[%c0, %c0, %c0, %c0] : !vx -> tensor<4x2x64xf16>
  %x32 = arith.extf %x16 : tensor<4x2x64xf16> to tensor<4x2x64xf32>
  %ws = tile.load %w[%c0, %c0, %c0] : !vw -> tensor<4x2xf32>
  %wide = tile.broadcast %ws along 2 : tensor<4x2xf32> -> tensor<4x2x64xf32>
  %weighed = arith.mulf %x32, %wide : tensor<4x2x64xf32>
  %sum = tile.reduce addf %weighed along 0 : tensor<4x2x64xf32> -> tensor<2x64xf32>
  tile.store %sum, %y[%c0, %c0, %c0] : tensor<2x64xf32>, !vy
  tile.return
}

// -----

// Warps over planes: what each adds goes to a plane of its own of a buffer of
// three dimensions, whose planes are added by all.
!vx = !tile.view<[R, P, H, D], f16>
!vw = !tile.view<[R, P, H], f32>
!vy = !tile.view<[R, H, D], f32>

// CHECK-DAG: #[[$X:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 0, 1], [0, 0, 2], [0, 0, 4]], lane = {{.+}}, warp = {{\[\[}}0, 1, 0], [1, 0, 0]], reps = [4, 1, 1]>
// CHECK-LABEL: tile.kernel @across_warps
// CHECK: tile.load %x{{.+}} -> tensor<8x2x256xf16, #[[$X]]>

// SECOND-LABEL: tile.kernel @across_warps
// SECOND: %[[SCRATCH:.+]] = tilegpu.alloc "reduce" : !tilegpu.buffer<2x2x256xf32, stride = 1040>
// SECOND-NOT: tilegpu.alloc
// SECOND: %[[PART:.+]] = tilegpu.reduce_warp addf %{{.+}} along 0 : tensor<8x2x256xf32, #{{.+}}> -> tensor<2x2x256xf32
// SECOND-NEXT: tilegpu.store_shared %[[PART]], %[[SCRATCH]]
// SECOND-NEXT: %[[ALL:.+]] = tilegpu.load_shared %[[SCRATCH]]
// SECOND-NEXT: %[[SUM:.+]] = tilegpu.reduce_warp addf %[[ALL]] along 0 : tensor<2x2x256xf32, #{{.+}}> -> tensor<2x256xf32
// SECOND-NEXT: tile.broadcast %[[SUM]] along 0 : tensor<2x256xf32, #{{.+}}> -> tensor<8x2x256xf32

// A plane is two rows of 1040 bytes behind the one before.
// NVVM: llvm.mlir.global internal @mlatile_shared_across_warps() {{.+}} : !llvm.array<4144 x i8>
// NVVM-LABEL: llvm.func @across_warps
// NVVM-COUNT-2: llvm.store %{{.+}} : vector<4xf32>, !llvm.ptr<3>
// NVVM: nvvm.barrier0
// NVVM: %[[PLACE:.+]] = llvm.getelementptr
// NVVM: llvm.load %[[PLACE]]
// NVVM: llvm.getelementptr %[[PLACE]][2080]
tile.kernel @across_warps warps(4) (%x : !vx, %w : !vw, %y : !vy) {
  %c0 = arith.constant 0 : index
  %x16 = tile.load %x[%c0, %c0, %c0, %c0] : !vx -> tensor<8x2x256xf16>
  %x32 = arith.extf %x16 : tensor<8x2x256xf16> to tensor<8x2x256xf32>
  %ws = tile.load %w[%c0, %c0, %c0] : !vw -> tensor<8x2xf32>
  %wide = tile.broadcast %ws along 2 : tensor<8x2xf32> -> tensor<8x2x256xf32>
  %weighed = arith.mulf %x32, %wide : tensor<8x2x256xf32>
  %sum = tile.reduce addf %weighed along 0 : tensor<8x2x256xf32> -> tensor<2x256xf32>
  %all = tile.broadcast %sum along 0 : tensor<2x256xf32> -> tensor<8x2x256xf32>
  %rest = arith.subf %all, %weighed : tensor<8x2x256xf32>
  tile.store %rest, %y[%c0, %c0, %c0] : tensor<8x2x256xf32>, !vy
  tile.return
}
