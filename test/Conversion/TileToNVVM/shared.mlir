// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0]], reps = [2, 1]>
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
#max = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0]], reps = [1]>

// The arena has the size of the plan; a place is a constant from its start, a
// stage one more product, a view one more constant. Eight bf16 that follow each
// other move as 16 bytes; the next row block is an immediate.
// CHECK: llvm.mlir.global internal @mlatile_shared_vectors() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<5680 x i8>
// CHECK-LABEL: llvm.func @vectors
// CHECK-DAG: %[[ARENA:.*]] = llvm.mlir.addressof @mlatile_shared_vectors : !llvm.ptr<3>
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(2800 : i32)
// CHECK-DAG: %[[RING:.*]] = llvm.getelementptr %[[ARENA]][80]
// CHECK: %[[STAGE:.*]] = llvm.mul %{{.*}}, %[[BYTES]]
// CHECK: %[[ROW:.*]] = llvm.getelementptr %[[RING]][%[[STAGE]]]
// CHECK: %[[VIEW:.*]] = llvm.getelementptr %[[ROW]][32]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[VIEW]][%{{.*}}]
// CHECK: llvm.store %{{.*}}, %[[PLACE]] {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[PLACE]][1408]
// CHECK: llvm.store %{{.*}}, %[[NEXT]] {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK: llvm.load %[[NEXT]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
tile.kernel @vectors warps(2) (%src: !tile.view<[M, N], bf16>, %dst: !tile.view<[M, N], bf16>, %i: i32) {
  %z = arith.constant 0 : index
  %t = tile.load %src[%z, %z] : !tile.view<[M, N], bf16> -> tensor<16x64xbf16, #rows>
  %ring = tilegpu.alloc "ring" {offset = 80 : i64} : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>>
  %stage = tilegpu.stage %ring[%i] : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>> -> !tilegpu.buffer<16x160xi8, stride = 176>
  %view = tilegpu.view %stage + 32 : !tilegpu.buffer<16x160xi8, stride = 176> -> !tilegpu.buffer<16x64xbf16, stride = 176>
  tilegpu.store_shared %t, %view : tensor<16x64xbf16, #rows>, !tilegpu.buffer<16x64xbf16, stride = 176>
  tilegpu.sync cta
  %u = tilegpu.load_shared %view : !tilegpu.buffer<16x64xbf16, stride = 176> -> tensor<16x64xbf16, #rows>
  tile.store %u, %dst[%z, %z] : tensor<16x64xbf16, #rows>, !tile.view<[M, N], bf16>
  tile.return
}

// Accumulators: two f32 side by side are 8 bytes, if the rows are aligned for
// it; a row stride of 4 mod 8 leaves 4.
// CHECK-LABEL: llvm.func @pairs
// CHECK-COUNT-2: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<3>
tile.kernel @pairs warps(2) (%src: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %t = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x16xf32, #acc>
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x16xf32, stride = 72>
  %b = tilegpu.alloc "b" {offset = 1152 : i64} : !tilegpu.buffer<16x16xf32, stride = 68>
  tilegpu.store_shared %t, %a : tensor<16x16xf32, #acc>, !tilegpu.buffer<16x16xf32, stride = 72>
  tilegpu.store_shared %t, %b : tensor<16x16xf32, #acc>, !tilegpu.buffer<16x16xf32, stride = 68>
  tile.return
}

// Of the four lanes of a quad and the two warps that hold copies one thread
// stores (bits 0, 1 and 5 of the thread number are zero); all of them load.
// CHECK-LABEL: llvm.func @copies
// CHECK-DAG: %[[FREE:.*]] = llvm.mlir.constant(35 : i32)
// CHECK-DAG: %[[BITS:.*]] = llvm.and %{{.*}}, %[[FREE]]
// CHECK-DAG: %[[FIRST:.*]] = llvm.icmp "eq" %[[BITS]], %{{.*}}
// CHECK: llvm.cond_br %[[FIRST]], ^[[THEN:bb[0-9]+]], ^[[AFTER:bb[0-9]+]]
// CHECK: ^[[THEN]]:
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.br ^[[AFTER]]
// CHECK: ^[[AFTER]]:
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
tile.kernel @copies warps(2) (%src: !tile.view<[M], f32>, %dst: !tile.view<[M], f32>) {
  %z = arith.constant 0 : index
  %t = tile.load %src[%z] : !tile.view<[M], f32> -> tensor<16xf32, #max>
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16xf32>
  tilegpu.store_shared %t, %b : tensor<16xf32, #max>, !tilegpu.buffer<16xf32>
  tilegpu.sync warp
  %u = tilegpu.load_shared %b : !tilegpu.buffer<16xf32> -> tensor<16xf32, #max>
  tile.store %u, %dst[%z] : tensor<16xf32, #max>, !tile.view<[M], f32>
  tile.return
}
