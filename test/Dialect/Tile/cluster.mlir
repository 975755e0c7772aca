// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

!x = tensor<?x?xf32, #tile.dims<BH, BN>>
!w = tensor<1x?xf32, #tile.dims<1, BN>>

// CHECK: tile.kernel @named params(BH : index = 16, BN : index = 64, CLUSTER : index = 2, ROLES : roles = none) warps(4) cluster(CLUSTER) roles(ROLES) (%v: !tile.view<[H, N], f32>)
tile.kernel @named params(BH : index = 16, BN : index = 64, CLUSTER : index = 2, ROLES : roles = none)
    warps(4) cluster(CLUSTER) roles(ROLES) (%v: !tile.view<[H, N], f32>) {
  %t = tile.program_id 0 : index
  %x = tile.load %v[%t, %t] : !tile.view<[H, N], f32> -> !x
  // CHECK: scf.for
  scf.for %i = %t to %t step %t {
    // CHECK: tile.load_peer %{{.*}} of %{{.*}}[%{{.*}}, %{{.*}}] : !{{.*}} -> !{{.*}}
    %w = tile.load_peer %x of %i[%i, %t] : !x -> !w
    tile.store %w, %v[%i, %t] : !w, !tile.view<[H, N], f32>
  }
  tile.return
}

// CHECK: tile.kernel @bound warps(4) cluster(8) ()
tile.kernel @bound warps(4) cluster(8) () {
  tile.return
}
