// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which candidates of a row count.

!vlen = !tile.view<[B, S, 1], i32>

// The effective length of a list of %width candidates: all of them, or the
// row's own length, clamped.
func.func private @length(%lengths : !vlen, %b : index, %t : index, %width : index) -> index {
  %c0 = arith.constant 0 : index
  %HAS_LENGTH = tile.param HAS_LENGTH : i1
  %length = scf.if %HAS_LENGTH -> index {
    %len32 = tile.load %lengths[%b, %t, %c0] : !vlen -> i32
    %len = arith.index_cast %len32 : i32 to index
    %len0 = arith.maxsi %len, %c0 : index
    %len1 = arith.minsi %len0, %width : index
    scf.yield %len1 : index
  } else {
    scf.yield %width : index
  }
  func.return %length : index
}
