// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-roles --split-input-file --verify-diagnostics

// Those who convert rows are an item ahead. What they send for must not be the
// output of the item before.
tile.kernel @output_of_the_last warps(16) (%pool : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>, %n : index, %x : f32,
                                           %out : !tile.view<[T, H, D], bf16>) attributes {tile.roles = "4c+4+8"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %o_ = tile.full %x : f32 -> tensor<16x448xf32>
  %zero = tile.full %x : f32 -> tensor<16x32xf32>
  scf.for %t = %c0 to %n step %c1 {
    // expected-error@+1 {{cannot be given to a role ahead of others, because `tile.store` may write what it loads}}
    %q = tile.load %out[%t, %c0, %c0] : !tile.view<[T, H, D], bf16> -> tensor<16x448xbf16>
    %o = scf.for %i = %c0 to %n step %c32 iter_args(%o0 = %o_) -> (tensor<16x448xf32>) {
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
    %o16 = arith.truncf %o : tensor<16x448xf32> to tensor<16x448xbf16>
    // expected-note@+1 {{here}}
    tile.store %o16, %out[%next, %c0, %c0] : tensor<16x448xbf16>, !tile.view<[T, H, D], bf16>
  }
  tile.return
}
