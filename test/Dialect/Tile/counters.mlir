// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s --cse | FileCheck %s --check-prefix=ORDER

!v = !tile.view<[G], i32>
!v2 = !tile.view<[T, G], i32>

// CHECK-LABEL: func.func @counters
func.func @counters(%c: !v, %c2: !v2, %i: index, %n: index) {
  // CHECK: tile.atomic_inc %{{.*}}[%{{.*}}] modulo %{{.*}} : !tile.view<[G], i32>
  tile.atomic_inc %c[%i] modulo %n : !v
  // CHECK: tile.wait_until %{{.*}}[%{{.*}}, %{{.*}}] at_least %{{.*}} : !tile.view<[T, G], i32>
  tile.wait_until %c2[%i, %i] at_least %n : !v2
  // CHECK: tile.atomic_inc relaxed %{{.*}}[%{{.*}}] modulo %{{.*}} : !tile.view<[G], i32>
  tile.atomic_inc relaxed %c[%i] modulo %n : !v
  return
}

// A loop that does not gather may wait; loads stay on their side.
// ORDER-LABEL: func.func @sides
// ORDER: tile.load
// ORDER: tile.wait_until
// ORDER: tile.load
func.func @sides(%c: !v, %x: !v, %i: index, %n: index) {
  scf.for %k = %i to %n step %n {
    %a = tile.load %x[%i] : !v -> i32
    tile.wait_until %c[%i] at_least %n : !v
    %b = tile.load %x[%i] : !v -> i32
    %s = arith.addi %a, %b : i32
    tile.store %s, %x[%n] : i32, !v
  }
  return
}
