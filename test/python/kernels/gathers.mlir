// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies rows of a pool to arrays: two gathers in one loop, each with ids of its
// own, and one under a condition outside of it. -7 where a candidate is skipped.
!vi = !tile.view<[W], i32>
!vn = !tile.view<[W, NOPE], f32>
!vr = !tile.view<[W, ROPE], bf16>

tile.kernel @gathers params(FMT : format, BN : index = 16, WARPS : index = 4,
                            NOPE : index = FMT.nope, ROPE : index = FMT.rope) warps(WARPS)
    (%kv : !tile.pool<FMT>, %first : !vi, %second : !vi, %nope : !vn, %rope : !vr, %head : !vr) {
  %c0 = arith.constant 0 : index
  %skip = arith.constant -1 : i32
  %mark_ = arith.constant -7.0 : f32
  %mark = tile.full %mark_ : f32 -> tensor<?x?xf32, #tile.dims<BN, NOPE>>
  %BN = tile.param BN : index
  %W = tile.dim %first, 0 : !vi

  // Rows of the last tile of `first`, where there is more than one tile.
  %more = arith.cmpi sgt, %W, %BN : index
  scf.if %more {
    %at = arith.subi %W, %BN : index
    %ids = tile.load %first[%at] limit %W else %skip : !vi -> tensor<?xi32, #tile.dims<BN>>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
    %r = tile.dequant %rows rope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, ROPE>>
    tile.store %r, %head[%c0, %c0] : tensor<?x?xbf16, #tile.dims<BN, ROPE>>, !vr
  }

  scf.for %n = %c0 to %W step %BN {
    %ids1 = tile.load %first[%n] limit %W else %skip : !vi -> tensor<?xi32, #tile.dims<BN>>
    %ids2 = tile.load %second[%n] limit %W else %skip : !vi -> tensor<?xi32, #tile.dims<BN>>
    %rows1, %ok1 = tile.gather %kv[%ids1] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
    %rows2, %ok2 = tile.gather %kv[%ids2] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
    %x = tile.dequant %rows1 nope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
    %y = tile.dequant %rows2 rope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, ROPE>>
    %x32 = arith.extf %x : tensor<?x?xbf16, #tile.dims<BN, NOPE>> to tensor<?x?xf32, #tile.dims<BN, NOPE>>
    %okb = tile.broadcast %ok1 along 1 : tensor<?xi1, #tile.dims<BN>> -> tensor<?x?xi1, #tile.dims<BN, NOPE>>
    %marked = arith.select %okb, %x32, %mark : tensor<?x?xi1, #tile.dims<BN, NOPE>>, tensor<?x?xf32, #tile.dims<BN, NOPE>>
    tile.store %marked, %nope[%n, %c0] : tensor<?x?xf32, #tile.dims<BN, NOPE>>, !vn
    tile.store %y, %rope[%n, %c0] : tensor<?x?xbf16, #tile.dims<BN, ROPE>>, !vr
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
