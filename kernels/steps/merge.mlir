// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits of a row become one, BH heads by BD value columns at a time:
//   M = max m_i,  l = sum l_i 2^(m_i - M),  o = sum o_i u_i 2^(m_i - M),
// AT_ONCE at a time, in a tree of its own number of splits. Splits past the last
// are outside the views.

!row   = tensor<?xf32, #tile.dims<BH>>
!each  = tensor<?x?xf32, #tile.dims<AT_ONCE, BH>>
!od    = tensor<?x?xf32, #tile.dims<BH, BD>>
!parts = tensor<?x?x?xf32, #tile.dims<AT_ONCE, BH, BD>>
!parts16 = tensor<?x?x?xf16, #tile.dims<AT_ONCE, BH, BD>>
!yd    = tensor<?x?xbf16, #tile.dims<BH, BD>>
!vout  = !tile.view<[B, S, H, DV], bf16>
!vlse  = !tile.view<[B, S, H], f32>
!vrow  = !tile.view<[H], f32>
!po    = !tile.view<[R, P, H, DV], f16>
!pr    = !tile.view<[R, P, H], f32>

func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_lse(!row, !vlse, index, index, index)

// Heads from %h on, columns from %d on, of row %row of the partials, which is
// row (%b, %t) of the output. The lse is stored with the first columns.
func.func private @merge_tile(%part_o : !po, %part_u : !pr, %part_m : !pr, %part_l : !pr, %sink : !vrow, %out : !vout, %lse : !vlse,
                              %num_splits : index, %row : index, %b : index, %t : index, %h : index, %d : index) {
  %c0 = arith.constant 0 : index
  %AT_ONCE = tile.param AT_ONCE : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %o_zero = tile.full %f0 : f32 -> !od
  %m, %l, %o = scf.for %i = %c0 to %num_splits step %AT_ONCE
      iter_args(%m_old = %ninf, %l_old = %zero, %o_old = %o_zero) -> (!row, !row, !od) {
    %mi = tile.load %part_m[%row, %i, %h] else %ninf_ : !pr -> !each
    %li = tile.load %part_l[%row, %i, %h] : !pr -> !each
    %ui = tile.load %part_u[%row, %i, %h] : !pr -> !each
    %oi16 = tile.load %part_o[%row, %i, %h, %d] : !po -> !parts16
    %oi = arith.extf %oi16 : !parts16 to !parts
    %most = tile.reduce maximumf %mi along 0 : !each -> !row
    %m_new = arith.maximumf %m_old, %most : !row
    %none = arith.cmpf oeq, %m_new, %ninf : !row
    %ref = arith.select %none, %zero, %m_new : tensor<?xi1, #tile.dims<BH>>, !row
    %refs = tile.broadcast %ref along 0 : !row -> !each
    %di = arith.subf %mi, %refs : !each
    %wi = math.exp2 %di : !each
    %lw = arith.mulf %li, %wi : !each
    %l_sum = tile.reduce addf %lw along 0 : !each -> !row
    %wu = arith.mulf %wi, %ui : !each
    %wo = tile.broadcast %wu along 2 : !each -> !parts
    %ow = arith.mulf %oi, %wo : !parts
    %o_sum = tile.reduce addf %ow along 0 : !parts -> !od
    %d_old = arith.subf %m_old, %ref : !row
    %a = math.exp2 %d_old : !row
    %l_new = math.fma %l_old, %a, %l_sum : !row
    %ab = tile.broadcast %a along 1 : !row -> !od
    %o_new = math.fma %o_old, %ab, %o_sum : !od
    scf.yield %m_new, %l_new, %o_new : !row, !row, !od
  }
  %z = func.call @sinks(%sink, %h) : (!vrow, index) -> !row
  %factor, %lse_e = func.call @finish(%m, %l, %z) : (!row, !row, !row) -> (!row, !row)
  %f = tile.broadcast %factor along 1 : !row -> !od
  %y = arith.mulf %o, %f : !od
  %y16 = arith.truncf %y : !od to !yd
  tile.store %y16, %out[%b, %t, %h, %d] : !yd, !vout
  %first = arith.cmpi eq, %d, %c0 : index
  scf.if %first {
    func.call @store_lse(%lse_e, %lse, %b, %t, %h) : (!row, !vlse, index, index, index) -> ()
  }
  func.return
}
