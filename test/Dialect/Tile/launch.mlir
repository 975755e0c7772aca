// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s --cse --loop-invariant-code-motion | FileCheck %s --check-prefix=ORDER

// CHECK-LABEL: tile.kernel @launches
tile.kernel @launches params(DEPENDENT : i1 = true) warps(4) () {
  %dependent = tile.param DEPENDENT : i1
  scf.if %dependent {
    // CHECK: tile.launch_dependents
    tile.launch_dependents
  }
  // CHECK: tile.wait_dependencies
  tile.wait_dependencies
  tile.return
}

// Loads stay on their side.
// ORDER-LABEL: func.func @sides
// ORDER: tile.load
// ORDER: tile.wait_dependencies
// ORDER: tile.load
func.func @sides(%v: !tile.view<[N], f32>, %i: index) -> (f32, f32) {
  %a = tile.load %v[%i] : !tile.view<[N], f32> -> f32
  tile.wait_dependencies
  %b = tile.load %v[%i] : !tile.view<[N], f32> -> f32
  return %a, %b : f32, f32
}
