// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles --split-input-file --verify-diagnostics

// expected-error@+1 {{cannot be given roles: expected a loop with a gather}}
tile.kernel @no_gather warps(16) () attributes {tile.roles = "4+4+8"} {
  tile.return
}

// -----

tile.kernel @outside warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<32xi32>
  // expected-error@+1 {{cannot be given to a role: expected it in a loop that stands in the kernel's body}}
  %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
  tile.return
}

// -----

tile.kernel @one_product warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32, %y : bf16,
                                    %out : !tile.view<[H, D], f32>) attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %p = tile.full %y : bf16 -> tensor<16x32xbf16>
  // expected-error@+1 {{cannot be given roles: expected a product one of whose factors depends on another product of the loop}}
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
    %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
    %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
    scf.yield %o1 : tensor<16x448xf32>
  }
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}

// -----

// The query of the next iteration is the result of this one.
tile.kernel @feedback warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32,
                                 %out : !tile.view<[H, D], f32>) attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %zero = tile.full %x : f32 -> tensor<16x32xf32>
  // expected-error@+1 {{cannot be given roles: expected a product that depends on no other product, not through the loop either}}
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
    %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
    %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
    %q = arith.truncf %o0 : tensor<16x448xf32> to tensor<16x448xbf16>
    %s = tile.dot %q, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
    %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
    %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
    scf.yield %o1 : tensor<16x448xf32>
  }
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}

// -----

tile.kernel @two_loops_around warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index)
    attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  scf.for %t = %c0 to %n step %c32 {
    scf.for %u = %c0 to %n step %c32 {
      scf.for %i = %c0 to %n step %c32 {
        %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
        // expected-error@+1 {{cannot be given to a role: expected it in a loop that stands in the kernel's body, or in one loop there}}
        %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
      }
    }
  }
  tile.return
}

// -----

// The query of the next item is the output of this one, which another role may
// not have stored yet. (Once an item it would be read by that role.)
tile.kernel @load_of_an_output warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32,
                                          %out : !tile.view<[T, H, D], f32>) attributes {tile.roles = "4+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %zero = tile.full %x : f32 -> tensor<16x32xf32>
  scf.for %t = %c0 to %n step %c1 {
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
      // expected-error@+1 {{cannot be given to a role ahead of others, because `tile.store` may write what it loads}}
      %q0 = tile.load %out[%t, %c0, %c0] : !tile.view<[T, H, D], f32> -> tensor<16x448xf32>
      %q = arith.truncf %q0 : tensor<16x448xf32> to tensor<16x448xbf16>
      %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
      %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
      %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
      %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
      %s = tile.dot %q, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
      %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
      %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
      scf.yield %o1 : tensor<16x448xf32>
    }
    %next = arith.addi %t, %c1 : index
    // expected-note@+1 {{here}}
    tile.store %o, %out[%next, %c0, %c0] : tensor<16x448xf32>, !tile.view<[T, H, D], f32>
  }
  tile.return
}

// -----

tile.kernel @three_dimensions warps(12) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32,
                                         %q : !tile.view<[N, H, D], f32>, %out : !tile.view<[H, D], f32>) attributes {tile.roles = "4+4+4"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %zero = tile.full %x : f32 -> tensor<16x32xf32>
  // expected-error@+1 {{cannot be handed to a role: expected a tile of one or two dimensions}}
  %q3 = tile.load %q[%c0, %c0, %c0] : !tile.view<[N, H, D], f32> -> tensor<2x16x448xf32>
  %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
    %ids = tile.load %idx[%i] : !tile.view<[W], i32> -> tensor<32xi32>
    %rows, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>, tensor<32xi1>
    %k = tile.dequant %rows nope : !tile.rows<"dsv4", [32]> -> tensor<32x448xbf16>
    %kt = tile.transpose %k : tensor<32x448xbf16> -> tensor<448x32xbf16>
    %q2 = tile.reduce addf %q3 along 0 : tensor<2x16x448xf32> -> tensor<16x448xf32>
    %q16 = arith.truncf %q2 : tensor<16x448xf32> to tensor<16x448xbf16>
    %s = tile.dot %q16, %kt, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
    %p = arith.truncf %s : tensor<16x32xf32> to tensor<16x32xbf16>
    %o1 = tile.dot %p, %k, %o0 : tensor<16x32xbf16>, tensor<32x448xbf16>, tensor<16x448xf32>
    scf.yield %o1 : tensor<16x448xf32>
  }
  tile.store %o, %out[%c0, %c0] : tensor<16x448xf32>, !tile.view<[H, D], f32>
  tile.return
}
