// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The results of BH heads of a row.

!row  = tensor<?xf32, #tile.dims<BH>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!on16 = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!or16 = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>

// The sinks of the heads, natural-log logits; -inf without them.
func.func private @sinks(%sink : !vrow, %h : index) -> !row {
  %HAS_SINK = tile.param HAS_SINK : i1
  %z = scf.if %HAS_SINK -> !row {
    %given = tile.load %sink[%h] : !vrow -> !row
    scf.yield %given : !row
  } else {
    %ninf = arith.constant 0xFF800000 : f32
    %none = tile.full %ninf : f32 -> !row
    scf.yield %none : !row
  }
  func.return %z : !row
}

// Natural-log %lse in the base that LSE asks for, 0 for none at all.
func.func private @store_lse(%lse : !row, %view : !vlse, %b : index, %t : index, %h : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %log2e_ = arith.constant 1.44269504088896341 : f32
  %LSE = tile.param LSE : index
  %wanted = arith.cmpi ne, %LSE, %c0 : index
  scf.if %wanted {
    %base2 = arith.cmpi eq, %LSE, %c1 : index
    %log2e = tile.full %log2e_ : f32 -> !row
    %lse2 = arith.mulf %lse, %log2e : !row
    %stored = arith.select %base2, %lse2, %lse : !row
    tile.store %stored, %view[%b, %t, %h] : !row, !vlse
  }
  func.return
}

// Unnormalised outputs times the factor of their row.
func.func private @store_output(%on : !on, %or : !or, %factor : !row, %out : !vout,
                                %b : index, %t : index, %h : index) {
  %c0 = arith.constant 0 : index
  %NOPE = tile.param NOPE : index
  %V_ROPE = tile.param V_ROPE : i1
  %fn = tile.broadcast %factor along 1 : !row -> !on
  %yn = arith.mulf %on, %fn : !on
  %yn16 = arith.truncf %yn : !on to !on16
  tile.store %yn16, %out[%b, %t, %h, %c0] : !on16, !vout
  scf.if %V_ROPE {
    %fr = tile.broadcast %factor along 1 : !row -> !or
    %yr = arith.mulf %or, %fr : !or
    %yr16 = arith.truncf %yr : !or to !or16
    tile.store %yr16, %out[%b, %t, %h, %NOPE] : !or16, !vout
  }
  func.return
}
