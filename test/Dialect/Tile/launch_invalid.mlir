// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// launch_dependents_c1
func.func @f(%n: index) {
  scf.for %i = %n to %n step %n {
    // expected-error@+1 {{expected no loop around it, got one of 'scf.for'}}
    tile.launch_dependents
  }
  return
}

// -----
// wait_dependencies_c1
func.func @f(%n: index, %c: i1) {
  scf.for %i = %n to %n step %n {
    scf.if %c {
      // expected-error@+1 {{expected no loop around it, got one of 'scf.for'}}
      tile.wait_dependencies
    }
  }
  return
}
