// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -canonicalize -cse -loop-invariant-code-motion | FileCheck %s

!a = tensor<?x?xf32, #tile.dims<BH, BN>>
!b = tensor<?x?xf32, #tile.dims<BN, BH>>

// CHECK-LABEL: func.func @transpose_twice
// CHECK-SAME: (%[[A:.+]]: !f32_BH_BN)
// CHECK-NEXT: return %[[A]]
func.func @transpose_twice(%a: !a) -> !a {
  %t = tile.transpose %a : !a -> !b
  %u = tile.transpose %t : !b -> !a
  return %u : !a
}

// Pure ops leave the loop; equal loads are one; unused ones go; stores stay.
// CHECK-LABEL: func.func @effects
func.func @effects(%v: !tile.view<[T, W], f32>, %f: f32, %i: index, %n: index, %one: index) {
  // CHECK-DAG: tile.full
  // CHECK: scf.for
  scf.for %j = %i to %n step %one {
    // CHECK-NOT: tile.full
    // CHECK-NOT: tile.iota
    // CHECK: %[[X:.+]] = tile.load
    // CHECK-NOT: tile.load
    %z = tile.full %f : f32 -> tensor<8xf32>
    %unused = tile.iota : tensor<8xi32>
    %unread = tile.load %v[%i, %j] : !tile.view<[T, W], f32> -> tensor<4xf32>
    %x = tile.load %v[%i, %j] : !tile.view<[T, W], f32> -> tensor<8xf32>
    %y = tile.load %v[%i, %j] : !tile.view<[T, W], f32> -> tensor<8xf32>
    %s = arith.addf %x, %y : tensor<8xf32>
    %t = arith.addf %s, %z : tensor<8xf32>
    // CHECK: arith.addf %[[X]], %[[X]]
    // CHECK: tile.store
    tile.store %t, %v[%i, %j] : tensor<8xf32>, !tile.view<[T, W], f32>
  }
  return
}
