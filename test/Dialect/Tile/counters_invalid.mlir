// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// atomic_inc_c1
func.func @f(%v: !tile.view<[T, G], i32>, %i: index) {
  // expected-error@+1 {{expected one index a dimension of the view, 2, got 1}}
  tile.atomic_inc %v[%i] modulo %i : !tile.view<[T, G], i32>
  return
}

// -----
// atomic_inc_c2
func.func @f(%v: !tile.view<[G], i64>, %i: index) {
  // expected-error@+1 {{expected counters of i32, got 'i64'}}
  tile.atomic_inc relaxed %v[%i] modulo %i : !tile.view<[G], i64>
  return
}

// -----
// wait_until_c1
func.func @f(%v: !tile.view<[G], i32>, %i: index) {
  // expected-error@+1 {{expected one index a dimension of the view, 1, got 2}}
  tile.wait_until %v[%i, %i] at_least %i : !tile.view<[G], i32>
  return
}

// -----
// wait_until_c2
func.func @f(%v: !tile.view<[G], f32>, %i: index) {
  // expected-error@+1 {{expected counters of i32, got 'f32'}}
  tile.wait_until %v[%i] at_least %i : !tile.view<[G], f32>
  return
}

// -----
// wait_until_c3
func.func @f(%v: !tile.view<[G], i32>, %kv: !tile.pool<"dsv4">, %ids: tensor<32xi32>, %n: index) {
  scf.for %i = %n to %n step %n {
    // expected-error@+1 {{expected no loop that gathers around it, got one of 'scf.for'}}
    tile.wait_until %v[%i] at_least %n : !tile.view<[G], i32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  }
  return
}
