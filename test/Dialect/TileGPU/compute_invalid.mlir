// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

func.func @dequant_c1(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x8xi8>, %r: !tilegpu.buffer<16x448xbf16>) {
  // expected-error@+1 {{expected a known cache format, got "dsv5"}}
  tilegpu.dequant "dsv5" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16>
  return
}

// -----

func.func @dequant_c2_row(%p: !tilegpu.buffer<16x576xi8>, %s: !tilegpu.buffer<16x8xi8>, %r: !tilegpu.buffer<16x448xbf16>) {
  // expected-error@+1 {{expected 'payload' to have rows of 448 elements of 8 bits, got '!tilegpu.buffer<16x576xi8>'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x576xi8>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16>
  return
}

// -----

func.func @dequant_c2_stride(%p: !tilegpu.buffer<16x448xi8, stride = 456>, %s: !tilegpu.buffer<16x8xi8>, %r: !tilegpu.buffer<16x448xbf16>) {
  // expected-error@+1 {{expected the rows of 'payload' to start at multiples of 16 bytes, got a stride of 456}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8, stride = 456>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16>
  return
}

// -----

func.func @dequant_c3_bytes(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x4xi8>, %r: !tilegpu.buffer<16x448xbf16>) {
  // expected-error@+1 {{expected 'scales' to have 16 rows of at least 7 elements of 8 bits, or factors of the result's type, got '!tilegpu.buffer<16x4xi8>'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x4xi8> -> !tilegpu.buffer<16x448xbf16>
  return
}

// -----

func.func @dequant_c3_f32(%p: !tilegpu.buffer<16x512xi8>, %s: !tilegpu.buffer<16x16xi8>, %r: !tilegpu.buffer<16x512xbf16>) {
  // expected-error@+1 {{expected 'scales' to have 16 rows of 4 f32 elements, or factors of the result's type, got '!tilegpu.buffer<16x16xi8>'}}
  tilegpu.dequant "glm" %p, %s -> %r : !tilegpu.buffer<16x512xi8>, !tilegpu.buffer<16x16xi8> -> !tilegpu.buffer<16x512xbf16>
  return
}

// -----

func.func @dequant_c3_factors(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x6xf16>, %r: !tilegpu.buffer<16x448xf16>) {
  // expected-error@+1 {{expected 'scales' to have 16 rows of at least 7 elements of 8 bits, or factors of the result's type, got '!tilegpu.buffer<16x6xf16>'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x6xf16> -> !tilegpu.buffer<16x448xf16>
  return
}

// -----

// Factors of another type than the result are none.
func.func @dequant_c3_type(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x8xbf16>, %r: !tilegpu.buffer<16x448xf16>) {
  // expected-error@+1 {{or factors of the result's type, got '!tilegpu.buffer<16x8xbf16>'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x8xbf16> -> !tilegpu.buffer<16x448xf16>
  return
}

// -----

func.func @dequant_c4(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x8xi8>, %r: !tilegpu.buffer<16x448xf32>) {
  // expected-error@+1 {{expected 'result' to have 16 x 448 elements of bf16 or f16, got '!tilegpu.buffer<16x448xf32>'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xf32>
  return
}

// -----

func.func @dequant_c5_unscaled(%p: !tilegpu.buffer<16x448xi8>, %s: !tilegpu.buffer<16x8xf16>, %r: !tilegpu.buffer<16x448xf16>) {
  // expected-error@+1 {{expected factors of an e4m3 payload that is scaled, got unscaled}}
  tilegpu.dequant "dsv4" %p, %s -> %r {unscaled} : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x8xf16> -> !tilegpu.buffer<16x448xf16>
  return
}

// -----

func.func @dequant_c5_e2m1(%p: !tilegpu.buffer<16x224xi8>, %s: !tilegpu.buffer<16x32xbf16>, %r: !tilegpu.buffer<16x448xbf16>) {
  // expected-error@+1 {{expected factors of an e4m3 payload that is scaled, got one of 4 bits}}
  tilegpu.dequant "dsv4_nvfp4" %p, %s -> %r : !tilegpu.buffer<16x224xi8>, !tilegpu.buffer<16x32xbf16> -> !tilegpu.buffer<16x448xbf16>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
#none = #tilegpu.layout<reg = [], lane = [[], [], [], [], []], warp = [], reps = []>
func.func @reduce_warp_c1(%x: tensor<32xi32, #one>) {
  // expected-error@+1 {{expected a tensor of floats, got}}
  %m = tilegpu.reduce_warp addf %x along 0 : tensor<32xi32, #one> -> tensor<i32, #none>
  return
}

// -----

#one = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
#none = #tilegpu.layout<reg = [], lane = [[], [], [], [], []], warp = [], reps = []>
func.func @reduce_warp_c2(%x: tensor<32xf32, #one>) {
  // expected-error@+1 {{expected an axis between 0 and 0, got 1}}
  %m = tilegpu.reduce_warp addf %x along 1 : tensor<32xf32, #one> -> tensor<f32, #none>
  return
}

// -----

// A basis that moves along both dims cannot be exchanged by one bit.
#mixed = #tilegpu.layout<reg = [], lane = [[1, 1], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [], reps = [1, 1]>
#one = #tilegpu.layout<reg = [], lane = [[1], [0], [0], [0], [0]], warp = [], reps = [1]>
func.func @reduce_warp_c3(%x: tensor<2x16xf32, #mixed>) {
  // expected-error@+1 {{expected a layout that can be reduced along 1 by exchanging bits of lane and warp}}
  %m = tilegpu.reduce_warp addf %x along 1 : tensor<2x16xf32, #mixed> -> tensor<2xf32, #one>
  return
}

// -----

// The two warps share the dim: it stays, with a column for each.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
#one = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0]], reps = [1]>
func.func @reduce_warp_c4(%x: tensor<16x16xf32, #acc>) {
  // expected-error@+1 {{expected a result of type 'tensor<16x2xf32, #tilegpu.layout<reg = [}}
  %m = tilegpu.reduce_warp addf %x along 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #one>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @convert_layout_c1(%x: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected shape, element type and number of warps to stay, got}}
  %y = tilegpu.convert_layout %x : tensor<16x8xf32, #acc> -> tensor<16x8xbf16, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#two = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], reps = [1, 1]>
func.func @convert_layout_c1_warps(%x: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected shape, element type and number of warps to stay, got}}
  %y = tilegpu.convert_layout %x : tensor<16x8xf32, #acc> -> tensor<16x8xf32, #two>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @extract_slice_c1(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window inside}}
  %h = tilegpu.extract_slice %c[0, 24] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #half>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @extract_slice_c1_negative(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window inside}}
  %h = tilegpu.extract_slice %c[-16, 0] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #half>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @extract_slice_c1_rank(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window inside}}
  %h = tilegpu.extract_slice %c[0] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #half>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @extract_slice_c2(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window of element type 'f32', got 'bf16'}}
  %h = tilegpu.extract_slice %c[0, 16] : tensor<16x32xf32, #acc> -> tensor<16x16xbf16, #half>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#other = #tilegpu.layout<reg = [[0, 8], [8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[0, 4]], reps = [1, 1]>
func.func @extract_slice_c3(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window whose threads hold it in the same registers of}}
  %h = tilegpu.extract_slice %c[0, 16] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #other>
  return
}

// -----

// Eight columns on it is another warp that holds them.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @extract_slice_c3_offset(%c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected a window whose threads hold it in the same registers of}}
  %h = tilegpu.extract_slice %c[0, 8] : tensor<16x32xf32, #acc> -> tensor<16x16xf32, #half>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @insert_slice_c1(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xf32, #half>) {
  // expected-error@+1 {{expected a window inside}}
  %d = tilegpu.insert_slice %h into %c[0, 24] : tensor<16x16xf32, #half> into tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @insert_slice_c1_negative(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xf32, #half>) {
  // expected-error@+1 {{expected a window inside}}
  %d = tilegpu.insert_slice %h into %c[-16, 0] : tensor<16x16xf32, #half> into tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @insert_slice_c1_rank(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xf32, #half>) {
  // expected-error@+1 {{expected a window inside}}
  %d = tilegpu.insert_slice %h into %c[0] : tensor<16x16xf32, #half> into tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @insert_slice_c2(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xbf16, #half>) {
  // expected-error@+1 {{expected a window of element type 'f32', got 'bf16'}}
  %d = tilegpu.insert_slice %h into %c[0, 16] : tensor<16x16xbf16, #half> into tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#other = #tilegpu.layout<reg = [[0, 8], [8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[0, 4]], reps = [1, 1]>
func.func @insert_slice_c3(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xf32, #other>) {
  // expected-error@+1 {{expected a window whose threads hold it in the same registers of}}
  %d = tilegpu.insert_slice %h into %c[0, 16] : tensor<16x16xf32, #other> into tensor<16x32xf32, #acc>
  return
}

// -----

// Eight columns on it is another warp that holds them.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 2]>
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [1, 1]>
func.func @insert_slice_c3_offset(%c: tensor<16x32xf32, #acc>, %h: tensor<16x16xf32, #half>) {
  // expected-error@+1 {{expected a window whose threads hold it in the same registers of}}
  %d = tilegpu.insert_slice %h into %c[0, 8] : tensor<16x16xf32, #half> into tensor<16x32xf32, #acc>
  return
}

// -----

#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
func.func @pack_columns_c1_pack(%t: tensor<16x16xf16, #rows>) {
  // expected-error@+1 {{expected a pack of 1 or 2 and whole groups of columns in a block of the layout, got 3 and}}
  %p = tilegpu.pack_columns %t {pack = 3 : i64} : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #rows>
  return
}

// -----

// Four bits: 32 columns are in an order of their own.
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
func.func @pack_columns_c1_block(%t: tensor<16x16xf16, #rows>) {
  // expected-error@+1 {{expected a pack of 1 or 2 and whole groups of columns in a block of the layout, got 2 and}}
  %p = tilegpu.pack_columns %t {pack = 2 : i64} : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #rows>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [], reps = [1]>
func.func @pack_columns_c1_rank(%t: tensor<16xf16, #ids>) {
  // expected-error@+1 {{expected a pack of 1 or 2 and whole groups of columns in a block of the layout, got 1 and}}
  %p = tilegpu.pack_columns %t {pack = 1 : i64} : tensor<16xf16, #ids> -> tensor<16xf16, #ids>
  return
}

// -----

#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
func.func @pack_columns_c2_layout(%t: tensor<16x16xf16, #rows>) {
  // expected-error@+1 {{expected a result of type 'tensor<16x16xf16, #tilegpu.layout<reg = [[0, 1], [0, 8], [0, 2]], lane = [[0, 4],}}
  %p = tilegpu.pack_columns %t {pack = 1 : i64} : tensor<16x16xf16, #rows> -> tensor<16x16xf16, #rows>
  return
}

// -----

#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
#packed = #tilegpu.layout<reg = [[0, 1], [0, 8], [0, 2]], lane = [[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
func.func @pack_columns_c2_element(%t: tensor<16x16xf16, #rows>) {
  // expected-error@+1 {{expected a result of type 'tensor<16x16xf16,}}
  %p = tilegpu.pack_columns %t {pack = 1 : i64} : tensor<16x16xf16, #rows> -> tensor<16x16xbf16, #packed>
  return
}
