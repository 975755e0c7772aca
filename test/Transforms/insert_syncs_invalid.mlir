// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-insert-syncs --split-input-file --verify-diagnostics

tile.kernel @unplanned warps(1) () {
  // expected-error@+1 {{expected an offset; run tilegpu-plan-shared first}}
  %b = tilegpu.alloc "b" : !tilegpu.buffer<8x16xf32>
  tile.return
}

// -----

tile.kernel @while_loop warps(1) (%take : i1) {
  // expected-error@+1 {{cannot order shared memory accesses in `scf.while`}}
  scf.while : () -> () {
    scf.condition(%take)
  } do {
    scf.yield
  }
  tile.return
}
