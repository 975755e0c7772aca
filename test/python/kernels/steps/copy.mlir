// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tile of BN rows of a pool, those that `list` names from n on, as f32.

func.func private @copy(%kv : !tile.pool<FMT>, %list : !tile.view<[W], i32>,
                        %to : !tile.view<[W, D], f32>, %n : index) {
  %c0 = arith.constant 0 : index
  %skip = arith.constant -1 : i32
  %W = tile.dim %list, 0 : !tile.view<[W], i32>
  %ids = tile.load %list[%n] limit %W else %skip : !tile.view<[W], i32> -> tensor<?xi32, #tile.dims<BN>>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<FMT, [BN]>, tensor<?xi1, #tile.dims<BN>>
  %x = tile.dequant %rows nope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
  %x32 = arith.extf %x : tensor<?x?xbf16, #tile.dims<BN, NOPE>> to tensor<?x?xf32, #tile.dims<BN, NOPE>>
  %y = tile.call @turned(%x32) bind(ROWS = BN, COLUMNS = NOPE)
      : (tensor<?x?xf32, #tile.dims<BN, NOPE>>) -> tensor<?x?xf32, #tile.dims<BN, NOPE>>
  tile.store %y, %to[%n, %c0] : tensor<?x?xf32, #tile.dims<BN, NOPE>>, !tile.view<[W, D], f32>
  func.return
}

func.func private @turned(%x : tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>) -> tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>> {
  %negate = tile.param NEGATE : i1
  %y = scf.if %negate -> tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>> {
    %z = arith.negf %x : tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>
    scf.yield %z : tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>
  } else {
    scf.yield %x : tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>
  }
  func.return %y : tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>
}
