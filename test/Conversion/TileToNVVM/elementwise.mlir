// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

#two = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], reps = [1]>

// One operation a register, flags kept, no struct left.
// CHECK-LABEL: llvm.func @arith(
// CHECK-NOT: struct
tile.kernel @arith warps(1) (%src: !tile.view<[T], f32>, %flag: i1, %k: i32) {
  %zero = arith.constant 0 : index
  %a = tile.load %src[%zero] : !tile.view<[T], f32> -> tensor<64xf32, #two>
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1.500000e+00 : f32)
  %c = arith.constant dense<1.5> : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fmul %{{.*}}, %[[ONE]] {fastmathFlags = #llvm.fastmath<contract>} : f32
  %m = arith.mulf %a, %c fastmath<contract> : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fdiv
  %d = arith.divf %m, %a : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.intr.maximum
  %x = arith.maximumf %d, %a : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fcmp "ogt"
  %p = arith.cmpf ogt, %x, %a : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.select %{{.*}}, %{{.*}}, %[[ONE]] : i1, f32
  %s = arith.select %p, %x, %c : tensor<64xi1, #two>, tensor<64xf32, #two>
  // A scalar condition serves all registers.
  // CHECK-COUNT-2: llvm.select %[[FLAG:arg[0-9]+]], %{{.*}}, %{{.*}} : i1, f32
  %u = arith.select %flag, %s, %a : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fneg
  %n = arith.negf %u : tensor<64xf32, #two>
  // CHECK-COUNT-2: llvm.fptosi
  %i = arith.fptosi %n : tensor<64xf32, #two> to tensor<64xi32, #two>
  %kk = tile.full %k : i32 -> tensor<64xi32, #two>
  // CHECK-COUNT-2: llvm.icmp "slt"
  %q = arith.cmpi slt, %i, %kk : tensor<64xi32, #two>
  // CHECK-COUNT-2: llvm.zext %{{.*}} : i1 to i32
  %e = arith.extui %q : tensor<64xi1, #two> to tensor<64xi32, #two>
  // Left to upstream's scalar pattern.
  // CHECK-COUNT-2: llvm.srem
  %r = arith.remsi %i, %kk : tensor<64xi32, #two>
  // CHECK-COUNT-2: llvm.add
  %t = arith.addi %e, %r : tensor<64xi32, #two>
  // CHECK-COUNT-2: llvm.sext %{{.*}} : i32 to i64
  %w = arith.index_cast %t : tensor<64xi32, #two> to tensor<64xindex, #two>
  // CHECK-COUNT-2: llvm.trunc %{{.*}} : i64 to i32
  %v = arith.index_cast %w : tensor<64xindex, #two> to tensor<64xi32, #two>
  // CHECK-COUNT-2: llvm.bitcast %{{.*}} : i32 to f32
  %o = arith.bitcast %v : tensor<64xi32, #two> to tensor<64xf32, #two>
  tile.store %o, %src[%zero] : tensor<64xf32, #two>, !tile.view<[T], f32>
  tile.return
}
