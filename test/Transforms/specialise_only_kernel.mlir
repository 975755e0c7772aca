// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -inline -tile-specialise="params=N=8" | FileCheck %s
// RUN: mlatile-opt %s -inline -tile-specialise="params=N=8" | mlatile-opt -tile-specialise | FileCheck %s --check-prefix=TWICE

!x = tensor<?xf32, #tile.dims<N>>

// A step that kernels share: inlined, its names are the kernel's.
func.func private @double(%x: !x) -> !x {
  %y = arith.addf %x, %x : !x
  return %y : !x
}

func.func @triple(%x: !x) -> !x {
  %y = func.call @double(%x) : (!x) -> !x
  %z = arith.addf %x, %y : !x
  return %z : !x
}

// Without a name the module's only kernel is meant. A kernel without parameters
// stays as it is.
// Steps that nobody calls go, public ones too: their names mean nothing now.
// CHECK-NOT: func.func
// CHECK: tile.kernel @k warps(1)(%v: !tile.view<[M], f32>) attributes {tile.bound = {HALF = 4 : index, N = 8 : index}}
// CHECK: arith.addf %{{.*}} : tensor<8xf32>
// CHECK-NOT: tile.dims
// TWICE: tile.kernel @k warps(1)(%v: !tile.view<[M], f32>) attributes {tile.bound = {HALF = 4 : index, N = 8 : index}}
// TWICE: arith.addf %{{.*}} : tensor<8xf32>
tile.kernel @k params(N : index, HALF : index = 4) warps(1) (%v: !tile.view<[M], f32>) {
  // An inequality, and a product of a parameter with a constant.
  tile.require affine_set<(n, h) : (n - 2 * h >= 0)>(N, HALF), "half is half"
  %z = arith.constant 0 : index
  %x = tile.load %v[%z] : !tile.view<[M], f32> -> !x
  %y = func.call @double(%x) : (!x) -> !x
  tile.store %y, %v[%z] : !x, !tile.view<[M], f32>
  tile.return
}
