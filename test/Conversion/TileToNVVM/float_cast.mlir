// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s
// RUN: mlatile-opt %s --convert-tile-to-nvvm | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_120a -mattr=+ptx87 | FileCheck %s --check-prefix=PTX

#two = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], reps = [1]>
#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>

// CHECK-LABEL: llvm.func @pairs(
// PTX-LABEL: .entry pairs(
tile.kernel @pairs warps(1) (%src: !tile.view<[T], f32>, %dst: !tile.view<[T], bf16>, %q: !tile.view<[T], f8E4M3FN>) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<64xf32, #two>
  // The first operand is the high half: register 1, then register 0.
  // CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> vector<2xbf16>
  // PTX: cvt.rn.bf16x2.f32
  %b = arith.truncf %a : tensor<64xf32, #two> to tensor<64xbf16, #two>
  tile.store %b, %dst[%zero] : tensor<64xbf16, #two>, !tile.view<[T], bf16>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> i16
  // PTX: cvt.rn.satfinite.e4m3x2.f32
  %c = arith.truncf %a : tensor<64xf32, #two> to tensor<64xf8E4M3FN, #two>
  tile.store %c, %q[%zero] : tensor<64xf8E4M3FN, #two>, !tile.view<[T], f8E4M3FN>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%{{.*}}) : (i16) -> vector<2xf16>
  // CHECK-COUNT-2: llvm.fpext %{{.*}} : f16 to f32
  // PTX: cvt.rn.f16x2.e4m3x2
  %d = arith.extf %c : tensor<64xf8E4M3FN, #two> to tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fpext %{{.*}} : bf16 to f32
  %e = arith.extf %b : tensor<64xbf16, #two> to tensor<64xf32, #two>
  %f = arith.addf %d, %e : tensor<64xf32, #two>
  tile.store %f, %src[%zero] : tensor<64xf32, #two>, !tile.view<[T], f32>
  tile.return
}

// A register without a neighbour.
// CHECK-LABEL: llvm.func @single(
// PTX-LABEL: .entry single(
tile.kernel @single warps(1) (%src: !tile.view<[T], f32>, %dst: !tile.view<[T], bf16>) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<32xf32, #one>
  // CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
  // PTX: cvt.rn.bf16.f32
  %b = arith.truncf %a : tensor<32xf32, #one> to tensor<32xbf16, #one>
  tile.store %b, %dst[%zero] : tensor<32xbf16, #one>, !tile.view<[T], bf16>
  tile.return
}
