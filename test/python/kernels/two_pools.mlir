// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies rows of two pools to arrays, by one step: the second pool has a format
// and a tile of its own, and its numbers change their sign.
!vi = !tile.view<[W], i32>
!vo = !tile.view<[W, D], f32>

func.func private @copy(!tile.pool<FMT>, !vi, !vo, index)

tile.kernel @two_pools params(FMT : format, EXTRA : format, BN : index = 16, WARPS : index = 4,
                              NOPE : index = FMT.nope, EXTRA_NOPE : index = EXTRA.nope) warps(WARPS)
    (%kv : !tile.pool<FMT>, %extra : !tile.pool<EXTRA>, %first : !vi, %second : !vi, %one : !vo, %two : !vo) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %BN = tile.param BN : index
  %W1 = tile.dim %first, 0 : !vi
  %W2 = tile.dim %second, 0 : !vi
  scf.for %n = %c0 to %W1 step %BN {
    tile.call @copy(%kv, %first, %one, %n) bind(NEGATE = false) : (!tile.pool<FMT>, !vi, !vo, index) -> ()
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  scf.for %n = %c0 to %W2 step %c32 {
    tile.call @copy(%extra, %second, %two, %n) bind(FMT = EXTRA, NOPE = EXTRA_NOPE, BN = 32, NEGATE = true)
        : (!tile.pool<EXTRA>, !vi, !vo, index) -> ()
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.return
}
