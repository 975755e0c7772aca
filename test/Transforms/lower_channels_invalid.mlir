// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-lower-channels --split-input-file --verify-diagnostics

tile.kernel @nobody warps(8) () {
  // expected-error@+1 {{expected one role that sends and others that receive, got 0 and 0}}
  %c = tilegpu.channel "c" : !tilegpu.channel<2, [tensor<16xf32>]>
  tile.return
}

// -----

#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [[0], [0]], reps = [1]>
tile.kernel @branch warps(8) (%x : f32, %b : i1) {
  %c = tilegpu.channel "c" : !tilegpu.channel<2, [tensor<16xf32>]>
  tilegpu.roles
  role "a" warps(4) registers(128) {
    %t = tile.full %x : f32 -> tensor<16xf32, #v>
    // expected-error@+1 {{expected channels to be used in blocks of roles and of scf.for only}}
    scf.if %b {
      tilegpu.send %t to %c : tensor<16xf32, #v> to !tilegpu.channel<2, [tensor<16xf32>]>
    }
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) {
    %r = tilegpu.receive %c : !tilegpu.channel<2, [tensor<16xf32>]> -> tensor<16xf32, #v>
    tilegpu.role_end
  }
  tile.return
}

// -----

#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [[0], [0]], reps = [1]>
tile.kernel @outside warps(4) (%x : f32) {
  %c = tilegpu.channel "c" : !tilegpu.channel<2, [tensor<16xf32>]>
  // expected-error@+1 {{expected to stand in a role}}
  %r = tilegpu.receive %c : !tilegpu.channel<2, [tensor<16xf32>]> -> tensor<16xf32, #v>
  tile.return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], reps = [1]>
!c = !tilegpu.channel<2, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>
tile.kernel @two_forms warps(8) (%pool : !tile.pool<"dsv4">, %x : i32) {
  %c = tilegpu.channel "rows" : !c
  tilegpu.roles
  role "reads" warps(4) registers(216) {
    %r, %ok = tilegpu.receive %c : !c -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #v>
    %r2, %ok2 = tilegpu.receive %c : !c -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #v>
    tilegpu.role_end
  }
  role "gathers" warps(4) registers(40) {
    %ids = tile.full %x : i32 -> tensor<32xi32, #ids>
    %r, %ok = tile.gather %pool[%ids] : !tile.pool<"dsv4">, tensor<32xi32, #ids> -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids>
    // expected-error@+1 {{expected gathers that are all `bulk`, or none, on one channel}}
    tilegpu.send %r, %ok to %c : !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids> to !c
    %r2, %ok2 = tile.gather %pool[%ids] {bulk} : !tile.pool<"dsv4">, tensor<32xi32, #ids> -> !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids>
    tilegpu.send %r2, %ok2 to %c : !tile.rows<"dsv4", [32]>, tensor<32xi1, #ids> to !c
    tilegpu.role_end
  }
  tile.return
}

// -----

// Seven pieces of 16 bytes a row are no work for 128 threads, each of which has
// a piece of its own.
#t = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], reps = [1, 7]>
!c = !tilegpu.channel<1, [tensor<1x56xbf16>]>
tile.kernel @undivided warps(8) (%q : !tile.view<[H, D], bf16>) {
  %c0 = arith.constant 0 : index
  %c = tilegpu.channel "item" : !c
  tilegpu.roles
  role "reads" warps(4) registers(168) {
    %r = tilegpu.receive %c : !c -> tensor<1x56xbf16, #t>
    tilegpu.role_end
  }
  role "sends" warps(4) registers(88) {
    // expected-error@+1 {{cannot be divided among the warps of its role}}
    tilegpu.send_copy %q[%c0, %c0] to %c : !tile.view<[H, D], bf16> to !c
    tilegpu.role_end
  }
  tile.return
}
