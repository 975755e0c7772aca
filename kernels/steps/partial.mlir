// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one split leaves for the merge: its maximum and sum, and its output in
// f16 over a power of two of each head, half of the bytes of f32.

!row  = tensor<?xf32, #tile.dims<BH>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!on16 = tensor<?x?xf16, #tile.dims<BH, NOPE>>
!or16 = tensor<?x?xf16, #tile.dims<BH, ROPE>>
!po   = !tile.view<[R, P, H, DV], f16>
!pr   = !tile.view<[R, P, H], f32>

func.func private @unit_of(!row) -> (!row, !row)

func.func private @store_partial(%m : !row, %l : !row, %on : !on, %or : !or, %part_o : !po, %part_u : !pr, %part_m : !pr, %part_l : !pr,
                                 %row : index, %split : index, %h : index) {
  %c0 = arith.constant 0 : index
  %NOPE = tile.param NOPE : index
  %V_ROPE = tile.param V_ROPE : i1
  %an = math.absf %on : !on
  %mn = tile.reduce maximumf %an along 1 : !on -> !row
  %most = scf.if %V_ROPE -> !row {
    %ar = math.absf %or : !or
    %mr = tile.reduce maximumf %ar along 1 : !or -> !row
    %both = arith.maximumf %mn, %mr : !row
    scf.yield %both : !row
  } else {
    scf.yield %mn : !row
  }
  %unit, %inverse = func.call @unit_of(%most) : (!row) -> (!row, !row)
  %fn = tile.broadcast %inverse along 1 : !row -> !on
  %sn = arith.mulf %on, %fn : !on
  %on16 = arith.truncf %sn : !on to !on16
  tile.store %on16, %part_o[%row, %split, %h, %c0] : !on16, !po
  scf.if %V_ROPE {
    %fr = tile.broadcast %inverse along 1 : !row -> !or
    %sr = arith.mulf %or, %fr : !or
    %or16 = arith.truncf %sr : !or to !or16
    tile.store %or16, %part_o[%row, %split, %h, %NOPE] : !or16, !po
  }
  tile.store %unit, %part_u[%row, %split, %h] : !row, !pr
  tile.store %m, %part_m[%row, %split, %h] : !row, !pr
  tile.store %l, %part_l[%row, %split, %h] : !row, !pr
  func.return
}
