// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --tilegpu-pipeline-gathers --split-input-file --verify-diagnostics
// RUN: echo 'tile.kernel @k params(W : index = 4) warps(W) () { tile.return }' | not mlatile-opt --tilegpu-pipeline-gathers 2>&1 | FileCheck %s
// CHECK: error: 'tile.kernel' op expected num_warps; is the kernel specialised?

tile.kernel @branch_between_loops warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %i = %c0 to %W step %c1 {
    scf.if %take {
      scf.for %n = %c0 to %W step %c1 {
        %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
        // expected-error@+1 {{expected the loop of a gather to stand in the bodies of other loops, got it in `scf.if`}}
        %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
      }
    }
  }
  tile.return
}

// -----

tile.kernel @loop_in_while warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.while : () -> () {
    scf.condition(%take)
  } do {
    scf.for %n = %c0 to %W step %c1 {
      %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
      // expected-error@+1 {{expected the loop of a gather to stand in the bodies of other loops, got it in `scf.while`}}
      %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    }
    scf.yield
  }
  tile.return
}

// -----

tile.kernel @condition_in_loop warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c1 {
    scf.if %take {
      %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
      // expected-error@+1 {{expected a gather directly in the body of its loop}}
      %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    }
  }
  tile.return
}

// -----

tile.kernel @while_loop warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  scf.while : () -> () {
    scf.condition(%take)
  } do {
    // expected-error@+1 {{expected a gather directly in the body of its loop}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    scf.yield
  }
  tile.return
}

// -----

tile.kernel @carried_ids warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  %end = scf.for %n = %c0 to %W step %c1 iter_args(%at = %c0) -> (index) {
    %ids = tile.load %idx[%at] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{expected slot ids that depend on the loop only through its induction variable}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %next = arith.addi %at, %n : index
    scf.yield %next : index
  }
  tile.return
}

// -----

tile.kernel @ids_of_a_branch warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c1 {
    %at = scf.if %take -> index {
      scf.yield %n : index
    } else {
      scf.yield %c0 : index
    }
    %ids = tile.load %idx[%at] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{cannot compute slot ids ahead of `scf.if`}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
  }
  tile.return
}

// -----

tile.kernel @unbound params(FMT : format) warps(1) (%kv : !tile.pool<FMT>, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  // expected-error@+1 {{expected a pool bound to a format, got '!tile.pool<FMT>'}}
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<16xi32> -> !tile.rows<FMT, [16]>, tensor<16xi1>
  tile.return
}

// -----

tile.kernel @rope_type warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
  // expected-error@+1 {{expected the rope field as bf16, got 'f32'}}
  %k = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xf32>
  tile.return
}

// -----

tile.kernel @nope_type warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
  // expected-error@+1 {{expected a 16-bit element type, got 'f32'}}
  %k = tile.dequant %rows nope : !tile.rows<"dsv4", [16]> -> tensor<16x448xf32>
  tile.return
}

// -----

tile.kernel @rows_in_a_loop warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
  // expected-error@+1 {{expected gathered rows to go to tile.dequant}}
  %same = scf.for %i = %c0 to %c0 step %c0 iter_args(%r = %rows) -> (!tile.rows<"dsv4", [16]>) {
    scf.yield %r : !tile.rows<"dsv4", [16]>
  }
  tile.return
}

// -----

// Slot ids are loaded iterations ahead of a store to their array.
tile.kernel @stored_ids warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{cannot load slot ids ahead, because `tile.store` in the loop may write them}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %next = arith.addi %n, %c16 : index
    // expected-note@+1 {{here}}
    tile.store %ids, %idx[%next] : tensor<16xi32>, !tile.view<[W], i32>
  }
  tile.return
}

// -----

// The same, under a condition, to a view that may be that of the ids.
tile.kernel @stored_ids_of_a_choice warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %other : !tile.view<[W], i32>, %take : i1) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  %to = arith.select %take, %idx, %other : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{cannot load slot ids ahead, because `tile.store` in the loop may write them}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    scf.if %take {
      // expected-note@+1 {{here}}
      tile.store %ids, %to[%n] : tensor<16xi32>, !tile.view<[W], i32>
    }
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}

// -----

// And a call, which may store anywhere.
func.func private @unknown()
tile.kernel @called warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{cannot load slot ids ahead, because `func.call` in the loop may write them}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    // expected-note@+1 {{here}}
    func.call @unknown() : () -> ()
  }
  tile.return
}

// -----

// Factors are for payloads of 8 bits.
tile.kernel @factors warps(1) (%kv : !tile.pool<"dsv4_nvfp4">, %idx : !tile.view<[W], i32>, %x : f16, %o : !tile.view<[W, D], f16>) {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<16xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_nvfp4">, tensor<16xi32> -> !tile.rows<"dsv4_nvfp4", [16]>, tensor<16xi1>
  %f = tile.full %x : f16 -> tensor<16x28xf16>
  // expected-error@+1 {{expected factors of a payload of e4m3, got one of e2m1}}
  %k = tile.dequant %rows payload times %f : !tile.rows<"dsv4_nvfp4", [16]>, tensor<16x28xf16> -> tensor<16x448xf16>
  tile.store %k, %o[%c0, %c0] : tensor<16x448xf16>, !tile.view<[W, D], f16>
  tile.return
}

// -----

// Nor may it count them.
tile.kernel @counts_ids warps(1) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[N, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  scf.for %n = %c0 to %W step %c16 {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    // expected-error@+1 {{cannot load slot ids ahead, because `tile.atomic_inc` in the loop may write them}}
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<16xi32> -> !tile.rows<"dsv4", [16]>, tensor<16xi1>
    %k = tile.dequant %rows rope : !tile.rows<"dsv4", [16]> -> tensor<16x64xbf16>
    tile.store %k, %o[%n, %c0] : tensor<16x64xbf16>, !tile.view<[N, D], bf16>
    // expected-note@+1 {{here}}
    tile.atomic_inc %idx[%n] modulo %c16 : !tile.view<[W], i32>
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
