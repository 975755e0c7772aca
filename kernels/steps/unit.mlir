// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!row  = tensor<?xf32, #tile.dims<BH>>
!rowi = tensor<?xi32, #tile.dims<BH>>

// A power of two over which what is largest in a row, %most, is below 2^8, so
// that the row is in the range of f16; and one over it.
func.func private @unit_of(%most : !row) -> (!row, !row) {
  // 2^e <= most < 2^(e + 1): the unit is 2^(e - 7), e at least -110.
  %exponent_ = arith.constant 0x7F800000 : i32
  %least_ = arith.constant 0x08800000 : i32
  %seven_ = arith.constant 0x03800000 : i32
  %twice_ = arith.constant 0x7F000000 : i32
  %exponent = tile.full %exponent_ : i32 -> !rowi
  %least = tile.full %least_ : i32 -> !rowi
  %seven = tile.full %seven_ : i32 -> !rowi
  %twice = tile.full %twice_ : i32 -> !rowi
  %bits = arith.bitcast %most : !row to !rowi
  %e0 = arith.andi %bits, %exponent : !rowi
  %e = arith.maxsi %e0, %least : !rowi
  %unit_bits = arith.subi %e, %seven : !rowi
  %inverse_bits = arith.subi %twice, %unit_bits : !rowi
  %unit = arith.bitcast %unit_bits : !rowi to !row
  %inverse = arith.bitcast %inverse_bits : !rowi to !row
  func.return %unit, %inverse : !row, !row
}
