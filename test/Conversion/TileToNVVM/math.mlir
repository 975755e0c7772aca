// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s
// RUN: mlatile-opt %s --convert-tile-to-nvvm | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_120a -mattr=+ptx87 | FileCheck %s --check-prefix=PTX

#two = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], reps = [1]>

// CHECK-LABEL: llvm.func @tiles(
// PTX-LABEL: .entry tiles(
tile.kernel @tiles warps(1) (%src: !tile.view<[T], f32>) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
  // PTX-COUNT-2: ex2.approx.ftz.f32
  %e = math.exp2 %a : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"(%{{.*}}) : (f32) -> f32
  // PTX-COUNT-2: lg2.approx.f32
  %l = math.log2 %e : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.intr.fma
  // PTX-COUNT-2: fma.rn.f32
  %f = math.fma %l, %a, %e : tensor<64xf32, #two>
  tile.store %f, %src[%zero] : tensor<64xf32, #two>, !tile.view<[T], f32>
  tile.return
}

// CHECK-LABEL: llvm.func @scalars(
// PTX-LABEL: .entry scalars(
tile.kernel @scalars warps(1) (%src: !tile.view<[T], f32>, %x: f32, %h: bf16) {
  %zero = arith.constant 0 : index
  // e^x = 2^(x log2 e)
  // CHECK: %[[LOG2E:.*]] = llvm.mlir.constant(1.44269502 : f32)
  // CHECK: %[[SCALED:.*]] = llvm.fmul %{{.*}}, %[[LOG2E]]
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[SCALED]])
  // PTX: 0f3FB8AA3B
  %e = math.exp %x : f32
  // CHECK: %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"(%{{.*}})
  // CHECK: llvm.fmul %[[LG]], %{{.*}}
  %l = math.log %e : f32
  // Near zero a polynomial, else from e^2x with the sign put back.
  // CHECK: %[[LARGE:.*]] = llvm.intr.copysign
  // CHECK-COUNT-4: llvm.intr.fma
  // CHECK: %[[SMALL:.*]] = llvm.fcmp "olt"
  // CHECK: llvm.select %[[SMALL]], %{{.*}}, %[[LARGE]] : i1, f32
  // PTX-NOT: tanh.approx
  // PTX: div.rn.f32
  %t = math.tanh %l : f32
  // bf16 is computed in f32.
  // CHECK: %[[WIDE:.*]] = llvm.fpext %{{.*}} : bf16 to f32
  // CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[WIDE]])
  // CHECK: llvm.fptrunc %[[EXP]] : f32 to bf16
  %b = math.exp2 %h : bf16
  %w = arith.extf %b : bf16 to f32
  %s = arith.addf %t, %w : f32
  // CHECK: llvm.intr.sqrt
  // CHECK: llvm.fdiv
  // PTX: sqrt.rn.f32
  %r = math.rsqrt %s : f32
  tile.store %r, %src[%zero] : f32, !tile.view<[T], f32>
  tile.return
}
