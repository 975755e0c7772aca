// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

tile.kernel @roles_c1 warps(8) () {
  // expected-error@+1 {{expected 2 to 15 roles with distinct names, numbers of warps and of registers, got 2 regions}}
  tilegpu.roles
  role "a" warps(4) registers(128) { tilegpu.role_end }
  role "a" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @roles_c2_warps warps(8) () {
  // expected-error@+1 {{expected the warps of a role to be a power of two from 4 to 32, got 6}}
  tilegpu.roles
  role "a" warps(6) registers(128) { tilegpu.role_end }
  role "b" warps(2) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @roles_c2_first warps(12) () {
  // expected-error@+1 {{expected a role of 8 warps to begin at a multiple of them, got warp 4}}
  tilegpu.roles
  role "a" warps(4) registers(128) { tilegpu.role_end }
  role "b" warps(8) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @roles_c3 warps(16) () {
  // expected-error@+1 {{expected to stand in the body of a kernel of 8 warps, the roles' together, got 16}}
  tilegpu.roles
  role "a" warps(4) registers(128) { tilegpu.role_end }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @roles_c4 warps(8) () {
  // expected-error@+1 {{expected registers of a role to be a multiple of 8 from 24 to 256, got 100}}
  tilegpu.roles
  role "a" warps(4) registers(100) { tilegpu.role_end }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @roles_c5 warps(16) () {
  // expected-error@+1 {{expected registers of all warps to be at most 2048, which a launch of 16 warps allocates, got 2080}}
  tilegpu.roles
  role "a" warps(8) registers(160) { tilegpu.role_end }
  role "b" warps(4) registers(160) { tilegpu.role_end }
  role "c" warps(4) registers(40) { tilegpu.role_end }
  tile.return
}

// -----

#l = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64], [128]], reps = [1]>
tile.kernel @roles_c6 warps(8) (%v : !tile.view<[H], f32>, %h : index) {
  %t = tile.load %v[%h] : !tile.view<[H], f32> -> tensor<256xf32, #l>
  tilegpu.roles
  role "a" warps(4) registers(128) {
    // expected-error@+1 {{expected no tile from outside of its role, got 'tensor<256xf32}}
    tile.store %t, %v[%h] : tensor<256xf32, #l>, !tile.view<[H], f32>
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @sync_c1_outside warps(8) () {
  // expected-error@+1 {{expected a barrier of a role in a role}}
  tilegpu.sync role
  tile.return
}

// -----

tile.kernel @sync_c1_inside warps(8) () {
  tilegpu.roles
  role "a" warps(4) registers(128) {
    // expected-error@+1 {{expected no barrier of the CTA in a role}}
    tilegpu.sync cta
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @cluster_arrive_c1 warps(8) () {
  tilegpu.roles
  role "a" warps(4) registers(128) {
    // expected-error@+1 {{'tilegpu.cluster_arrive' op expected no role around it: all threads of the cluster wait for each other}}
    tilegpu.cluster_arrive
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

tile.kernel @cluster_wait_c1 warps(8) () {
  tilegpu.roles
  role "a" warps(4) registers(128) {
    // expected-error@+1 {{'tilegpu.cluster_wait' op expected no role around it: all threads of the cluster wait for each other}}
    tilegpu.cluster_wait
    tilegpu.role_end
  }
  role "b" warps(4) registers(128) { tilegpu.role_end }
  tile.return
}

// -----

// expected-error@+1 {{expected 1 to 8 stages, got 9}}
func.func private @channel_c1(!tilegpu.channel<9, [tensor<16xf32>]>)

// -----

// expected-error@+1 {{expected static tensors of one or two dimensions without layout in a record, got 'f32'}}
func.func private @channel_c2(!tilegpu.channel<2, [f32]>)

// -----

// expected-error@+1 {{expected rows and their validity as a record}}
func.func private @channel_c2_rows(!tilegpu.channel<2, [!tile.rows<"dsv4", [32]>]>)

// -----

func.func @send_c1(%c : !tilegpu.channel<2, [tensor<16xf32>]>, %t : tensor<8xf32>) {
  // expected-error@+1 {{expected values of the types of '!tilegpu.channel<2, [tensor<16xf32>]>', got ('tensor<8xf32>')}}
  tilegpu.send %t to %c : tensor<8xf32> to !tilegpu.channel<2, [tensor<16xf32>]>
  return
}

// -----

func.func @receive_c1(%c : !tilegpu.channel<2, [tensor<16xf32>]>) {
  // expected-error@+1 {{expected values of the types of '!tilegpu.channel<2, [tensor<16xf32>]>', got ('tensor<16xbf16>')}}
  %t = tilegpu.receive %c : !tilegpu.channel<2, [tensor<16xf32>]> -> tensor<16xbf16>
  return
}

// -----

func.func @send_copy_c1_rank(%c : !tilegpu.channel<1, [tensor<16x64xbf16>]>, %v : !tile.view<[T], bf16>, %i : index) {
  // expected-error@+1 {{expected a view of two dimensions or more and one index for each, got '!tile.view<[T], bf16>' and 1}}
  tilegpu.send_copy %v[%i] to %c : !tile.view<[T], bf16> to !tilegpu.channel<1, [tensor<16x64xbf16>]>
  return
}

// -----

func.func @send_copy_c1_indices(%c : !tilegpu.channel<1, [tensor<16x64xbf16>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a view of two dimensions or more and one index for each, got '!tile.view<[T, H, D], bf16>' and 2}}
  tilegpu.send_copy %v[%i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<16x64xbf16>]>
  return
}

// -----

func.func @send_copy_c1_type(%c : !tilegpu.channel<1, [tensor<16x64xbf16>]>, %v : !tile.pool<"dsv4">, %i : index) {
  // expected-error@+1 {{expected a view of two dimensions or more and one index for each, got '!tile.pool<"dsv4">' and 2}}
  tilegpu.send_copy %v[%i, %i] to %c : !tile.pool<"dsv4"> to !tilegpu.channel<1, [tensor<16x64xbf16>]>
  return
}

// -----

func.func @send_copy_c2_rank(%c : !tilegpu.channel<1, [tensor<64xbf16>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'bf16' with two dimensions and rows of whole 16 bytes, got '!tilegpu.channel<1, [tensor<64xbf16>]>'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<64xbf16>]>
  return
}

// -----

func.func @send_copy_c2_count(%c : !tilegpu.channel<1, [tensor<16x64xbf16>, tensor<16x64xbf16>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'bf16'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<16x64xbf16>, tensor<16x64xbf16>]>
  return
}

// -----

func.func @send_copy_c2_element(%c : !tilegpu.channel<1, [tensor<16x64xf16>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'bf16'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<16x64xf16>]>
  return
}

// -----

func.func @send_copy_c2_pieces(%c : !tilegpu.channel<1, [tensor<16x60xbf16>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'bf16'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<16x60xbf16>]>
  return
}

// -----

func.func @send_copy_c2_gathered(%c : !tilegpu.channel<1, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>, %v : !tile.view<[T, H, D], bf16>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'bf16'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [!tile.rows<"dsv4", [32]>, tensor<32xi1>]>
  return
}

// -----

func.func @send_copy_c2_bits(%c : !tilegpu.channel<1, [tensor<16x128xf4E2M1FN>]>, %v : !tile.view<[T, H, D], f4E2M1FN>, %i : index) {
  // expected-error@+1 {{expected a record of one tile of 'f4E2M1FN'}}
  tilegpu.send_copy %v[%i, %i, %i] to %c : !tile.view<[T, H, D], f4E2M1FN> to !tilegpu.channel<1, [tensor<16x128xf4E2M1FN>]>
  return
}

// -----

func.func @scale_c1(%t : tensor<16x64xf32>, %f : tensor<16xf32>) {
  // expected-error@+1 {{expected a tile of two dimensions of f32 and an axis of 0 or 1, got 'tensor<16x64xf32>' along 2}}
  %a = tilegpu.scale %t by %f along 2 : tensor<16x64xf32>, tensor<16xf32>
  return
}

// -----

func.func @scale_c2(%t : tensor<16x64xf32>, %f : tensor<64xf32>) {
  // expected-error@+1 {{expected 16 factors of f32, got 'tensor<64xf32>'}}
  %a = tilegpu.scale %t by %f along 1 : tensor<16x64xf32>, tensor<64xf32>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 8]>
#v = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [0]], warp = [], reps = [1]>
func.func @scale_c3(%t : tensor<16x64xf32, #acc>, %f : tensor<16xf32, #v>) {
  // expected-error@+1 {{expected factors in the layout of the tile without its dimension 1}}
  %a = tilegpu.scale %t by %f along 1 : tensor<16x64xf32, #acc>, tensor<16xf32, #v>
  return
}
