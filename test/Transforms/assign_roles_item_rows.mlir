// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles | FileCheck %s

// A tile of the item that goes into rows as well: those who convert them need it
// in registers, whether they send it or not.
!ids  = tensor<32xi32>
!ok   = tensor<32xi1>
!rows = !tile.rows<"dsv4", [32]>
!vid  = !tile.view<[W], i32>
!vq   = !tile.view<[T, H, D], bf16>
!vo   = !tile.view<[T, H, D], f32>

// CHECK-LABEL: tile.kernel @into_rows
// CHECK: role "gather"
// CHECK: %[[Q:.+]] = tile.load %q
// CHECK: scf.for
// CHECK: arith.addf %{{.+}}, %[[Q]]
// CHECK: tilegpu.role_end
tile.kernel @into_rows warps(16) (%q : !vq, %pool : !tile.pool<"dsv4">, %idx : !vid, %out : !vo, %n : index)
    attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<32x32xf32>
  %o_ = tile.full %f0 : f32 -> tensor<32x64xf32>
  scf.for %t = %c0 to %n step %c1 {
    %query = tile.load %q[%t, %c0, %c0] : !vq -> tensor<32x64xbf16>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<32x64xf32>) {
      %ids = tile.load %idx[%i] : !vid -> !ids
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, !ids -> !rows, !ok
      %k0 = tile.dequant %rows rope : !rows -> tensor<32x64xbf16>
      %k = arith.addf %k0, %query : tensor<32x64xbf16>
      %kt = tile.transpose %k : tensor<32x64xbf16> -> tensor<64x32xbf16>
      %s = tile.dot %query, %kt, %zero : tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x32xf32>
      %p = arith.truncf %s : tensor<32x32xf32> to tensor<32x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<32x32xbf16>, tensor<32x64xbf16>, tensor<32x64xf32>
      scf.yield %o1 : tensor<32x64xf32>
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    tile.store %o, %out[%t, %c0, %c0] : tensor<32x64xf32>, !vo
  }
  tile.return
}
