// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s
// RUN: mlatile-opt %s --convert-tile-to-nvvm | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx87 | FileCheck %s --check-prefix=PTX

#two = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], reps = [1]>

// A carried tile is one block argument a register.
// CHECK-LABEL: llvm.func @loop(
// CHECK-NOT: struct
// CHECK-NOT: insertvalue
// PTX-LABEL: .entry loop(
// PTX: .reqntid 32
// PTX: .minnctapersm 16
tile.kernel @loop warps(1) (%src: !tile.view<[T, 64], f32>, %n: index, %flag: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %init = tile.full %f0 : f32 -> tensor<64xf32, #two>
  // CHECK: llvm.br ^[[HEAD:bb[0-9]+]](%{{.*}}, %[[F0:.*]], %[[F0]] : i64, f32, f32)
  // CHECK: ^[[HEAD]](%[[I:.*]]: i64, %[[A0:.*]]: f32, %[[A1:.*]]: f32):
  // CHECK: llvm.icmp "slt" %[[I]], %{{.*}} : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%a = %init) -> tensor<64xf32, #two> {
    %x = tile.load %src[%i, %zero] : !tile.view<[T, 64], f32> -> tensor<64xf32, #two>
    // CHECK: llvm.fadd %[[A0]], %{{.*}} : f32
    // CHECK: llvm.fadd %[[A1]], %{{.*}} : f32
    %s = arith.addf %a, %x : tensor<64xf32, #two>
    %t = scf.if %flag -> tensor<64xf32, #two> {
      %d = arith.addf %s, %s : tensor<64xf32, #two>
      scf.yield %d : tensor<64xf32, #two>
    } else {
      scf.yield %s : tensor<64xf32, #two>
    }
    // CHECK: llvm.br ^[[HEAD]](%{{.*}}, %{{.*}}, %{{.*}} : i64, f32, f32)
    scf.yield %t : tensor<64xf32, #two>
  }
  tile.store %sum, %src[%zero, %zero] : tensor<64xf32, #two>, !tile.view<[T, 64], f32>
  tile.return
}
