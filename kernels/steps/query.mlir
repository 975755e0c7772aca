// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!row  = tensor<?xf32, #tile.dims<BH>>
!qn   = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr   = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!qn16 = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!qn32 = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!qr32 = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!vq   = !tile.view<[B, S, H, DQK], bf16>

func.func private @unit_of(!row) -> (!row, !row)

// The two parts of BH heads of a query, from head %h on; heads past the last
// are zero. A format without rope has none: its part is empty.
func.func private @query(%q : !vq, %b : index, %t : index, %h : index) -> (!qn, !qr) {
  %qn = func.call @query_nope(%q, %b, %t, %h) : (!vq, index, index, index) -> !qn
  %qr = func.call @query_rope(%q, %b, %t, %h) : (!vq, index, index, index) -> !qr
  func.return %qn, %qr : !qn, !qr
}

func.func private @query_nope(%q : !vq, %b : index, %t : index, %h : index) -> !qn {
  %c0 = arith.constant 0 : index
  %qn = tile.load %q[%b, %t, %h, %c0] : !vq -> !qn
  func.return %qn : !qn
}

func.func private @query_rope(%q : !vq, %b : index, %t : index, %h : index) -> !qr {
  %c0 = arith.constant 0 : index
  %NOPE = tile.param NOPE : index
  %ROPE = tile.param ROPE : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index
  %qr = scf.if %has_rope -> !qr {
    %part = tile.load %q[%b, %t, %h, %NOPE] : !vq -> !qr
    scf.yield %part : !qr
  } else {
    %zero = arith.constant 0.0 : bf16
    %none = tile.full %zero : bf16 -> !qr
    scf.yield %none : !qr
  }
  func.return %qr : !qr
}

// The same for products in f16: a power of two of its own brings the largest
// element of a head below 2^8. bf16 elements are exact in f16 then, unless they
// are 2^-23 of that or less. Returns the parts and what to multiply scores by.
func.func private @query_f16(%q : !vq, %b : index, %t : index, %h : index) -> (!qn16, !qr, !row) {
  %c0 = arith.constant 0 : index
  %ROPE = tile.param ROPE : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index
  %qn, %qr = func.call @query(%q, %b, %t, %h) : (!vq, index, index, index) -> (!qn, !qr)
  %qn32 = arith.extf %qn : !qn to !qn32
  %an = math.absf %qn32 : !qn32
  %mn = tile.reduce maximumf %an along 1 : !qn32 -> !row
  %most = scf.if %has_rope -> !row {
    %qr32 = arith.extf %qr : !qr to !qr32
    %ar = math.absf %qr32 : !qr32
    %mr = tile.reduce maximumf %ar along 1 : !qr32 -> !row
    %both = arith.maximumf %mn, %mr : !row
    scf.yield %both : !row
  } else {
    scf.yield %mn : !row
  }

  %unit, %inverse = func.call @unit_of(%most) : (!row) -> (!row, !row)
  %qn16 = func.call @query_nope_over(%qn, %inverse) : (!qn, !row) -> !qn16
  %qr16 = func.call @query_rope_over(%qr, %inverse) : (!qr, !row) -> !qr
  func.return %qn16, %qr16, %unit : !qn16, !qr, !row
}

// A part over what its heads are divided by.
func.func private @query_nope_over(%qn : !qn, %inverse : !row) -> !qn16 {
  %qn32 = arith.extf %qn : !qn to !qn32
  %fn = tile.broadcast %inverse along 1 : !row -> !qn32
  %sn = arith.mulf %qn32, %fn : !qn32
  %qn16 = arith.truncf %sn : !qn32 to !qn16
  func.return %qn16 : !qn16
}

func.func private @query_rope_over(%qr : !qr, %inverse : !row) -> !qr {
  %c0 = arith.constant 0 : index
  %ROPE = tile.param ROPE : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index
  %qr16 = scf.if %has_rope -> !qr {
    %qr32 = arith.extf %qr : !qr to !qr32
    %fr = tile.broadcast %inverse along 1 : !row -> !qr32
    %sr = arith.mulf %qr32, %fr : !qr32
    %rounded = arith.truncf %sr : !qr32 to !qr
    scf.yield %rounded : !qr
  } else {
    scf.yield %qr : !qr
  }
  func.return %qr16 : !qr
}
