// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of P planes of BH rows, weighed row by row, and its sums along each of
// the three dimensions.
!x   = tensor<?x?x?xf16, #tile.dims<P, BH, BD>>
!x32 = tensor<?x?x?xf32, #tile.dims<P, BH, BD>>
!w   = tensor<?x?xf32, #tile.dims<P, BH>>
!pd  = tensor<?x?xf32, #tile.dims<P, BD>>
!y   = tensor<?x?xf32, #tile.dims<BH, BD>>

tile.kernel @planes params(P : index, BH : index, BD : index, WARPS : index) warps(WARPS)
    (%x : !tile.view<[R, S, H, D], f16>, %w : !tile.view<[R, S, H], f32>, %sum : !tile.view<[R, H, D], f32>,
     %most : !tile.view<[R, H, D], f32>, %of_rows : !tile.view<[R, S, H], f32>, %of_columns : !tile.view<[R, S, D], f32>,
     %all : !tile.view<[R, S, H, D], f32>) {
  %c0 = arith.constant 0 : index
  %row = tile.program_id 0 : index
  %x16 = tile.load %x[%row, %c0, %c0, %c0] : !tile.view<[R, S, H, D], f16> -> !x
  %x32 = arith.extf %x16 : !x to !x32
  %ws = tile.load %w[%row, %c0, %c0] : !tile.view<[R, S, H], f32> -> !w
  %wide = tile.broadcast %ws along 2 : !w -> !x32
  %weighed = arith.mulf %x32, %wide : !x32
  %y = tile.reduce addf %weighed along 0 : !x32 -> !y
  tile.store %y, %sum[%row, %c0, %c0] : !y, !tile.view<[R, H, D], f32>
  %m = tile.reduce maximumf %weighed along 0 : !x32 -> !y
  tile.store %m, %most[%row, %c0, %c0] : !y, !tile.view<[R, H, D], f32>
  %r = tile.reduce addf %weighed along 2 : !x32 -> !w
  tile.store %r, %of_rows[%row, %c0, %c0] : !w, !tile.view<[R, S, H], f32>
  %c = tile.reduce addf %weighed along 1 : !x32 -> !pd
  tile.store %c, %of_columns[%row, %c0, %c0] : !pd, !tile.view<[R, S, D], f32>
  %yb = tile.broadcast %y along 0 : !y -> !x32
  %cb = tile.broadcast %c along 1 : !pd -> !x32
  %s0 = arith.addf %yb, %cb : !x32
  %s1 = arith.mulf %s0, %wide : !x32
  tile.store %s1, %all[%row, %c0, %c0, %c0] : !x32, !tile.view<[R, S, H, D], f32>
  tile.return
}
