// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits of a row become one, BH heads by BD value columns at a time:
//   M = max m_i,  l = sum l_i 2^(m_i - M),  o likewise,
// in the order of the splits, AT_ONCE (2, 4 or 8) at a time. All their loads are
// issued before the first is used; splits past the last are outside the views.

!row  = tensor<?xf32, #tile.dims<BH>>
!od   = tensor<?x?xf32, #tile.dims<BH, BD>>
!yd   = tensor<?x?xbf16, #tile.dims<BH, BD>>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>
!po   = !tile.view<[P, R, H, DV], f32>
!pr   = !tile.view<[P, R, H], f32>

func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_lse(!row, !vlse, index, index, index)

func.func private @load_split(%part_o : !po, %part_m : !pr, %part_l : !pr,
                              %i : index, %row : index, %h : index, %d : index) -> (!row, !row, !od) {
  %ninf = arith.constant 0xFF800000 : f32
  %m = tile.load %part_m[%i, %row, %h] else %ninf : !pr -> !row
  %l = tile.load %part_l[%i, %row, %h] : !pr -> !row
  %o = tile.load %part_o[%i, %row, %h, %d] : !po -> !od
  func.return %m, %l, %o : !row, !row, !od
}

// l and o times 2^(m - ref), added to the sums so far.
func.func private @add_split(%m : !row, %l : !row, %o : !od, %ref : !row, %l_sum : !row, %o_sum : !od) -> (!row, !od) {
  %d = arith.subf %m, %ref : !row
  %w = math.exp2 %d : !row
  %lw = arith.mulf %l, %w : !row
  %l_new = arith.addf %l_sum, %lw : !row
  %wb = tile.broadcast %w along 1 : !row -> !od
  %ow = arith.mulf %o, %wb : !od
  %o_new = arith.addf %o_sum, %ow : !od
  func.return %l_new, %o_new : !row, !od
}

// Heads from %h on, columns from %d on, of row %row of the partials, which is
// row (%b, %t) of the output. The lse is stored with the first columns.
func.func private @merge_tile(%part_o : !po, %part_m : !pr, %part_l : !pr, %sink : !vrow, %out : !vout, %lse : !vlse,
                              %num_splits : index, %row : index, %b : index, %t : index, %h : index, %d : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %AT_ONCE = tile.param AT_ONCE : index
  %four = arith.cmpi uge, %AT_ONCE, %c4 : index
  %eight = arith.cmpi ugt, %AT_ONCE, %c4 : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %ninf = tile.full %ninf_ : f32 -> !row
  %zero = tile.full %f0 : f32 -> !row
  %o_zero = tile.full %f0 : f32 -> !od
  %m, %l, %o = scf.for %i0 = %c0 to %num_splits step %AT_ONCE
      iter_args(%m_old = %ninf, %l_old = %zero, %o_old = %o_zero) -> (!row, !row, !od) {
    %i1 = arith.addi %i0, %c1 : index
    %i2 = arith.addi %i0, %c2 : index
    %i3 = arith.addi %i0, %c3 : index
    %i4 = arith.addi %i0, %c4 : index
    %i5 = arith.addi %i0, %c5 : index
    %i6 = arith.addi %i0, %c6 : index
    %i7 = arith.addi %i0, %c7 : index
    %m0, %l0, %o0 = func.call @load_split(%part_o, %part_m, %part_l, %i0, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
    %m1, %l1, %o1 = func.call @load_split(%part_o, %part_m, %part_l, %i1, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
    %m2, %l2, %o2, %m3, %l3, %o3 = scf.if %four
        -> (!row, !row, !od, !row, !row, !od) {
      %m2_, %l2_, %o2_ = func.call @load_split(%part_o, %part_m, %part_l, %i2, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      %m3_, %l3_, %o3_ = func.call @load_split(%part_o, %part_m, %part_l, %i3, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      scf.yield %m2_, %l2_, %o2_, %m3_, %l3_, %o3_
          : !row, !row, !od, !row, !row, !od
    } else {
      scf.yield %ninf, %zero, %o_zero, %ninf, %zero, %o_zero
          : !row, !row, !od, !row, !row, !od
    }
    %m4, %l4, %o4, %m5, %l5, %o5, %m6, %l6, %o6, %m7, %l7, %o7 = scf.if %eight
        -> (!row, !row, !od, !row, !row, !od, !row, !row, !od, !row, !row, !od) {
      %m4_, %l4_, %o4_ = func.call @load_split(%part_o, %part_m, %part_l, %i4, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      %m5_, %l5_, %o5_ = func.call @load_split(%part_o, %part_m, %part_l, %i5, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      %m6_, %l6_, %o6_ = func.call @load_split(%part_o, %part_m, %part_l, %i6, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      %m7_, %l7_, %o7_ = func.call @load_split(%part_o, %part_m, %part_l, %i7, %row, %h, %d) : (!po, !pr, !pr, index, index, index, index) -> (!row, !row, !od)
      scf.yield %m4_, %l4_, %o4_, %m5_, %l5_, %o5_, %m6_, %l6_, %o6_, %m7_, %l7_, %o7_
          : !row, !row, !od, !row, !row, !od, !row, !row, !od, !row, !row, !od
    } else {
      scf.yield %ninf, %zero, %o_zero, %ninf, %zero, %o_zero, %ninf, %zero, %o_zero, %ninf, %zero, %o_zero
          : !row, !row, !od, !row, !row, !od, !row, !row, !od, !row, !row, !od
    }
    %m01 = arith.maximumf %m0, %m1 : !row
    %m23 = arith.maximumf %m2, %m3 : !row
    %m45 = arith.maximumf %m4, %m5 : !row
    %m67 = arith.maximumf %m6, %m7 : !row
    %m03 = arith.maximumf %m01, %m23 : !row
    %m47 = arith.maximumf %m45, %m67 : !row
    %m07 = arith.maximumf %m03, %m47 : !row
    %m_new = arith.maximumf %m_old, %m07 : !row
    %none = arith.cmpf oeq, %m_new, %ninf : !row
    %ref = arith.select %none, %zero, %m_new : tensor<?xi1, #tile.dims<BH>>, !row
    %s0, %t0 = func.call @add_split(%m_old, %l_old, %o_old, %ref, %zero, %o_zero) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
    %s1, %t1 = func.call @add_split(%m0, %l0, %o0, %ref, %s0, %t0) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
    %s2, %t2 = func.call @add_split(%m1, %l1, %o1, %ref, %s1, %t1) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
    %s4, %t4 = scf.if %four -> (!row, !od) {
      %s3, %t3 = func.call @add_split(%m2, %l2, %o2, %ref, %s2, %t2) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      %s3b, %t3b = func.call @add_split(%m3, %l3, %o3, %ref, %s3, %t3) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      scf.yield %s3b, %t3b : !row, !od
    } else {
      scf.yield %s2, %t2 : !row, !od
    }
    %l_new, %o_new = scf.if %eight -> (!row, !od) {
      %s5, %t5 = func.call @add_split(%m4, %l4, %o4, %ref, %s4, %t4) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      %s6, %t6 = func.call @add_split(%m5, %l5, %o5, %ref, %s5, %t5) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      %s7, %t7 = func.call @add_split(%m6, %l6, %o6, %ref, %s6, %t6) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      %s8, %t8 = func.call @add_split(%m7, %l7, %o7, %ref, %s7, %t7) : (!row, !row, !od, !row, !row, !od) -> (!row, !od)
      scf.yield %s8, %t8 : !row, !od
    } else {
      scf.yield %s4, %t4 : !row, !od
    }
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
