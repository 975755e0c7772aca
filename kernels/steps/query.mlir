// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!qn = tensor<?x?xbf16, #tile.dims<BH, NOPE>>
!qr = tensor<?x?xbf16, #tile.dims<BH, ROPE>>
!vq = !tile.view<[B, S, H, DQK], bf16>

// The two parts of BH heads of a query, from head %h on; heads past the last
// are zero. A format without rope has none: its part is empty.
func.func private @query(%q : !vq, %b : index, %t : index, %h : index) -> (!qn, !qr) {
  %c0 = arith.constant 0 : index
  %NOPE = tile.param NOPE : index
  %ROPE = tile.param ROPE : index
  %has_rope = arith.cmpi ne, %ROPE, %c0 : index
  %qn = tile.load %q[%b, %t, %h, %c0] : !vq -> !qn
  %qr = scf.if %has_rope -> !qr {
    %part = tile.load %q[%b, %t, %h, %NOPE] : !vq -> !qr
    scf.yield %part : !qr
  } else {
    %zero = arith.constant 0.0 : bf16
    %none = tile.full %zero : bf16 -> !qr
    scf.yield %none : !qr
  }
  func.return %qn, %qr : !qn, !qr
}
