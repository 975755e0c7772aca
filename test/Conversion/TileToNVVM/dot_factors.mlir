// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: mlatile-opt %s --convert-tile-to-nvvm | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx87 | FileCheck %s --check-prefix=PTX

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
#accM = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [2, 1]>

// One step, four tiles along N, two groups of 16 columns. A lane multiplies its
// four registers of A by two pairs of factors (columns 2 t and 2 t + 8, of one
// row), once for each group; two tiles share the product.
// CHECK-LABEL: llvm.func @of_a
// CHECK: nvvm.ldmatrix {{.*}}num = 4 : i32,
// CHECK: %[[F0:.*]] = llvm.load %[[PF:.*]] {alignment = 4 : i64} : !llvm.ptr<3> -> vector<2xf16>
// CHECK: llvm.fmul %{{.*}}, %[[F0]] : vector<2xf16>
// CHECK: llvm.fmul %{{.*}}, %[[F0]] : vector<2xf16>
// CHECK: %[[P8:.*]] = llvm.getelementptr %[[PF]][16]
// CHECK: %[[F8:.*]] = llvm.load %[[P8]]
// CHECK: llvm.fmul %{{.*}}, %[[F8]] : vector<2xf16>
// CHECK: llvm.fmul %{{.*}}, %[[F8]] : vector<2xf16>
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.mma.sync
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.mma.sync
// The next row of factors.
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[PF]][48]
// CHECK: %[[G0:.*]] = llvm.load %[[NEXT]]
// CHECK: llvm.fmul %{{.*}}, %[[G0]]
// CHECK: nvvm.mma.sync
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.mma.sync
// PTX-LABEL: .entry of_a(
// PTX-COUNT-8: mul.{{(rn.)?}}f16x2
// PTX-NOT: mul.{{(rn.)?}}f16x2
// PTX-LABEL: .entry of_b(
tile.kernel @of_a warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<16x16xf16, stride = 48>
  %f = tilegpu.alloc "factors" {offset = 768 : i64} : !tilegpu.buffer<2x16xf16, stride = 48>
  %b = tilegpu.alloc "b" {offset = 1024 : i64} : !tilegpu.buffer<16x32xf16, stride = 80>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<16x32xf32, #acc>
  %d = tilegpu.dot %a times %f, %b, %c
    : !tilegpu.buffer<16x16xf16, stride = 48> times !tilegpu.buffer<2x16xf16, stride = 48>, !tilegpu.buffer<16x32xf16, stride = 80>, tensor<16x32xf32, #acc>
  tile.store %d, %dst[%z, %z] : tensor<16x32xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}

// Factors of b, in bf16: one row for each tile of 16 rows. The two registers of
// B are multiplied once for each; bf16 travels as words.
// CHECK-LABEL: llvm.func @of_b
// CHECK: %[[F0:.*]] = llvm.load %[[PF:.*]] {alignment = 4 : i64} : !llvm.ptr<3> -> vector<2xbf16>
// CHECK: %[[W:.*]] = llvm.bitcast %{{.*}} : i32 to vector<2xbf16>
// CHECK: %[[X:.*]] = llvm.fmul %[[W]], %[[F0]] : vector<2xbf16>
// CHECK: %[[B0:.*]] = llvm.bitcast %[[X]] : vector<2xbf16> to i32
// CHECK: llvm.fmul {{.*}} : vector<2xbf16>
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.mma.sync {{.*}} B[%[[B0]],
// CHECK: llvm.getelementptr %[[PF]][48]
// CHECK-COUNT-2: llvm.fmul {{.*}} : vector<2xbf16>
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.mma.sync
// CHECK-NOT: {{nvvm.mma.sync|llvm.fmul}}
// PTX-COUNT-4: {{(mul|fma).*}}bf16x2
// PTX-NOT: {{(mul|fma).*}}bf16x2
tile.kernel @of_b warps(1) (%src: !tile.view<[M, N], f32>, %dst: !tile.view<[M, N], f32>) {
  %z = arith.constant 0 : index
  %a = tilegpu.alloc "a" {offset = 0 : i64} : !tilegpu.buffer<32x16xbf16, stride = 48>
  %b = tilegpu.alloc "b" {offset = 1536 : i64} : !tilegpu.buffer<8x16xbf16, stride = 48>
  %f = tilegpu.alloc "factors" {offset = 1920 : i64} : !tilegpu.buffer<2x16xbf16, stride = 48>
  %c = tile.load %src[%z, %z] : !tile.view<[M, N], f32> -> tensor<32x8xf32, #accM>
  %d = tilegpu.dot %a, %b times %f, %c {b_transposed}
    : !tilegpu.buffer<32x16xbf16, stride = 48>, !tilegpu.buffer<8x16xbf16, stride = 48> times !tilegpu.buffer<2x16xbf16, stride = 48>, tensor<32x8xf32, #accM>
  tile.store %d, %dst[%z, %z] : tensor<32x8xf32, #accM>, !tile.view<[M, N], f32>
  tile.return
}
