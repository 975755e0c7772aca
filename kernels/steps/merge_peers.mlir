// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits of a row become one where each block of a cluster has one of them: a
// block joins JOIN of the BH heads, BD value columns at a time, out of the
// tiles of all. Formulas and order are those of merge.mlir.

!row  = tensor<?xf32, #tile.dims<BH>>
!on   = tensor<?x?xf32, #tile.dims<BH, NOPE>>
!or   = tensor<?x?xf32, #tile.dims<BH, ROPE>>
!rj   = tensor<?xf32, #tile.dims<JOIN>>
!oj   = tensor<?x?xf32, #tile.dims<JOIN, BD>>
!yj   = tensor<?x?xbf16, #tile.dims<JOIN, BD>>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!vrow = !tile.view<[H], f32>

func.func private @sinks(!vrow, index) -> !row
func.func private @finish(!row, !row, !row) -> (!row, !row)
func.func private @store_lse(!row, !vlse, index, index, index)

// Heads from %dh and columns from %d on of split %i; nothing past the last.
func.func private @load_peer_split(%m : !row, %l : !row, %on : !on, %or : !or,
                                   %i : index, %dh : index, %d : index) -> (!rj, !rj, !oj) {
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %CLUSTER = tile.param CLUSTER : index
  %NOPE = tile.param NOPE : index
  %V_ROPE = tile.param V_ROPE : i1
  %exists = arith.cmpi ult, %i, %CLUSTER : index
  %mi, %li, %oi = scf.if %exists -> (!rj, !rj, !oj) {
    %m1 = tile.load_peer %m of %i[%dh] : !row -> !rj
    %l1 = tile.load_peer %l of %i[%dh] : !row -> !rj
    %n1 = tile.load_peer %on of %i[%dh, %d] : !on -> !oj
    // Each has zeros where the other stands.
    %o1 = scf.if %V_ROPE -> !oj {
      %dr = arith.subi %d, %NOPE : index
      %r1 = tile.load_peer %or of %i[%dh, %dr] : !or -> !oj
      %both = arith.addf %n1, %r1 : !oj
      scf.yield %both : !oj
    } else {
      scf.yield %n1 : !oj
    }
    scf.yield %m1, %l1, %o1 : !rj, !rj, !oj
  } else {
    %ninf = tile.full %ninf_ : f32 -> !rj
    %l0 = tile.full %f0 : f32 -> !rj
    %o0 = tile.full %f0 : f32 -> !oj
    scf.yield %ninf, %l0, %o0 : !rj, !rj, !oj
  }
  func.return %mi, %li, %oi : !rj, !rj, !oj
}

// l and o of split %i times 2^(m - ref); zeros past the last.
func.func private @weigh_peer_split(%i : index, %m : !rj, %l : !rj, %o : !oj, %ref : !rj) -> (!rj, !oj) {
  %CLUSTER = tile.param CLUSTER : index
  %exists = arith.cmpi ult, %i, %CLUSTER : index
  %lw, %ow = scf.if %exists -> (!rj, !oj) {
    %d = arith.subf %m, %ref : !rj
    %w = math.exp2 %d : !rj
    %l1 = arith.mulf %l, %w : !rj
    %wb = tile.broadcast %w along 1 : !rj -> !oj
    %o1 = arith.mulf %o, %wb : !oj
    scf.yield %l1, %o1 : !rj, !oj
  } else {
    scf.yield %l, %o : !rj, !oj
  }
  func.return %lw, %ow : !rj, !oj
}

// The sums of two parts, the second of which begins with split %i.
func.func private @add_peer_splits(%i : index, %l0 : !rj, %o0 : !oj, %l1 : !rj, %o1 : !oj) -> (!rj, !oj) {
  %CLUSTER = tile.param CLUSTER : index
  %exists = arith.cmpi ult, %i, %CLUSTER : index
  %l, %o = scf.if %exists -> (!rj, !oj) {
    %ls = arith.addf %l0, %l1 : !rj
    %os = arith.addf %o0, %o1 : !oj
    scf.yield %ls, %os : !rj, !oj
  } else {
    scf.yield %l0, %o0 : !rj, !oj
  }
  func.return %l, %o : !rj, !oj
}

func.func private @columns_of_peers() -> index {
  %c0 = arith.constant 0 : index
  %BD = tile.param BD : index
  %NOPE = tile.param NOPE : index
  %ROPE = tile.param ROPE : index
  %V_ROPE = tile.param V_ROPE : i1
  %rope = arith.select %V_ROPE, %ROPE, %c0 : index
  %DV = arith.addi %NOPE, %rope : index
  %columns = arith.ceildivui %DV, %BD : index
  func.return %columns : index
}

// Parts of a head tile: groups of heads, each in blocks of columns.
func.func private @peer_slices() -> index {
  %BH = tile.param BH : index
  %JOIN = tile.param JOIN : index
  %columns = func.call @columns_of_peers() : () -> index
  %groups = arith.ceildivui %BH, %JOIN : index
  %slices = arith.muli %groups, %columns : index
  func.return %slices : index
}

// Part %slice of the head tile that begins at head %h of row (%b, %t). The last
// group begins where it ends with the head tile, so that heads may be joined
// twice, alike, and slices past the last join it again. The lse is stored with
// the first columns.
func.func private @merge_peers(%m : !row, %l : !row, %on : !on, %or : !or,
                               %sink : !vrow, %out : !vout, %lse : !vlse,
                               %b : index, %t : index, %h : index, %slice : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %BH = tile.param BH : index
  %BD = tile.param BD : index
  %JOIN = tile.param JOIN : index
  %columns = func.call @columns_of_peers() : () -> index
  %group = arith.divui %slice, %columns : index
  %column = arith.remui %slice, %columns : index
  %d = arith.muli %column, %BD : index
  %dh_any = arith.muli %group, %JOIN : index
  %dh_last = arith.subi %BH, %JOIN : index
  %dh = arith.minui %dh_any, %dh_last : index
  %f0 = arith.constant 0.0 : f32
  %ninf_ = arith.constant 0xFF800000 : f32
  %ninf = tile.full %ninf_ : f32 -> !rj
  %zero = tile.full %f0 : f32 -> !rj
  %o_zero = tile.full %f0 : f32 -> !oj
  %m0, %l0, %o0 = func.call @load_peer_split(%m, %l, %on, %or, %c0, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m1, %l1, %o1 = func.call @load_peer_split(%m, %l, %on, %or, %c1, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m2, %l2, %o2 = func.call @load_peer_split(%m, %l, %on, %or, %c2, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m3, %l3, %o3 = func.call @load_peer_split(%m, %l, %on, %or, %c3, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m4, %l4, %o4 = func.call @load_peer_split(%m, %l, %on, %or, %c4, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m5, %l5, %o5 = func.call @load_peer_split(%m, %l, %on, %or, %c5, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m6, %l6, %o6 = func.call @load_peer_split(%m, %l, %on, %or, %c6, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m7, %l7, %o7 = func.call @load_peer_split(%m, %l, %on, %or, %c7, %dh, %d) : (!row, !row, !on, !or, index, index, index) -> (!rj, !rj, !oj)
  %m01 = arith.maximumf %m0, %m1 : !rj
  %m23 = arith.maximumf %m2, %m3 : !rj
  %m45 = arith.maximumf %m4, %m5 : !rj
  %m67 = arith.maximumf %m6, %m7 : !rj
  %m03 = arith.maximumf %m01, %m23 : !rj
  %m47 = arith.maximumf %m45, %m67 : !rj
  %m_all = arith.maximumf %m03, %m47 : !rj
  %none = arith.cmpf oeq, %m_all, %ninf : !rj
  %ref = arith.select %none, %zero, %m_all : tensor<?xi1, #tile.dims<JOIN>>, !rj
  %l0w, %o0w = func.call @weigh_peer_split(%c0, %m0, %l0, %o0, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l1w, %o1w = func.call @weigh_peer_split(%c1, %m1, %l1, %o1, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l2w, %o2w = func.call @weigh_peer_split(%c2, %m2, %l2, %o2, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l3w, %o3w = func.call @weigh_peer_split(%c3, %m3, %l3, %o3, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l4w, %o4w = func.call @weigh_peer_split(%c4, %m4, %l4, %o4, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l5w, %o5w = func.call @weigh_peer_split(%c5, %m5, %l5, %o5, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l6w, %o6w = func.call @weigh_peer_split(%c6, %m6, %l6, %o6, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l7w, %o7w = func.call @weigh_peer_split(%c7, %m7, %l7, %o7, %ref) : (index, !rj, !rj, !oj, !rj) -> (!rj, !oj)
  %l04, %o04 = func.call @add_peer_splits(%c4, %l0w, %o0w, %l4w, %o4w) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l15, %o15 = func.call @add_peer_splits(%c5, %l1w, %o1w, %l5w, %o5w) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l26, %o26 = func.call @add_peer_splits(%c6, %l2w, %o2w, %l6w, %o6w) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l37, %o37 = func.call @add_peer_splits(%c7, %l3w, %o3w, %l7w, %o7w) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l_even, %o_even = func.call @add_peer_splits(%c2, %l04, %o04, %l26, %o26) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l_odd, %o_odd = func.call @add_peer_splits(%c3, %l15, %o15, %l37, %o37) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %l_all, %o_all = func.call @add_peer_splits(%c1, %l_even, %o_even, %l_odd, %o_odd) : (index, !rj, !oj, !rj, !oj) -> (!rj, !oj)
  %mh = arith.addi %h, %dh : index
  %z = tile.call @sinks(%sink, %mh) bind(BH = JOIN) : (!vrow, index) -> !rj
  %factor, %lse_e = tile.call @finish(%m_all, %l_all, %z) bind(BH = JOIN) : (!rj, !rj, !rj) -> (!rj, !rj)
  %f = tile.broadcast %factor along 1 : !rj -> !oj
  %y = arith.mulf %o_all, %f : !oj
  %y16 = arith.truncf %y : !oj to !yj
  tile.store %y16, %out[%b, %t, %mh, %d] : !yj, !vout
  %first = arith.cmpi eq, %d, %c0 : index
  scf.if %first {
    tile.call @store_lse(%lse_e, %lse, %b, %t, %mh) bind(BH = JOIN) : (!rj, !vlse, index, index, index) -> ()
  }
  func.return
}
