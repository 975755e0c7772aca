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
