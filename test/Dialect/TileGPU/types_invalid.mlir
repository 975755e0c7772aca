// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

// layout_c1
// expected-error@+1 {{invalid layout: }}
func.func private @layout_c1(tensor<16x8xf32, #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2]], warp = [], reps = [1, 1]>>)

// -----

// layout_c2
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 2]>
// expected-error@+1 {{expected the layout's shape to be [16, 8], got [16, 16]}}
func.func private @layout_c2(tensor<16x8xf32, #acc>)

// -----

// buffer_c1
// expected-error@+1 {{expected at most 1048576 rows, got 1024 x 2048}}
func.func private @buffer_c1_rows(!tilegpu.buffer<1024x2048x2xf32>)

// -----

// buffer_c1
// expected-error@+1 {{expected one to three dimensions, got 4}}
func.func private @buffer_c1_rank(!tilegpu.buffer<2x2x2x2xf32>)

// -----

// buffer_c1
// expected-error@+1 {{expected dimensions between 1 and 1048576, got 0}}
func.func private @buffer_c1_zero(!tilegpu.buffer<0x8xf32>)

// -----

// buffer_c1
// expected-error@+1 {{expected dimensions between 1 and 1048576, got 1048577}}
func.func private @buffer_c1_large(!tilegpu.buffer<2x1048577xi8>)

// -----

// buffer_c2
// expected-error@+1 {{expected an integer or float of 8, 16, 32 or 64 bits, or a float of 4 bits, as element, got 'i1'}}
func.func private @buffer_c2(!tilegpu.buffer<2x8xi1>)

// -----

// buffer_c2
// expected-error@+1 {{or a float of 4 bits, as element, got 'i4'}}
func.func private @buffer_c2_integer(!tilegpu.buffer<2x8xi4>)

// -----

// buffer_c2
// expected-error@+1 {{or a float of 4 bits, as element, got 'f6E2M3FN'}}
func.func private @buffer_c2_six_bits(!tilegpu.buffer<2x8xf6E2M3FN>)

// -----

// buffer_c2
// expected-error@+1 {{expected an even number of columns}}
func.func private @buffer_c2_odd(!tilegpu.buffer<2x7xf4E2M1FN>)

// -----

// buffer_c3
// expected-error@+1 {{expected a stride of at least the row's 32 bytes, at most 1048576 and a multiple of 4, got 16}}
func.func private @buffer_c3_short(!tilegpu.buffer<2x8xf32, stride = 16>)

// -----

// buffer_c3
// expected-error@+1 {{a multiple of 4, got 34}}
func.func private @buffer_c3_element(!tilegpu.buffer<2x8xf32, stride = 34>)

// -----

// buffer_c3
// expected-error@+1 {{expected no stride for a buffer of one dimension}}
func.func private @buffer_c3_row(!tilegpu.buffer<8xf32, stride = 64>)

// -----

// ring_c1
// expected-error@+1 {{expected between 1 and 64 stages, got 0}}
func.func private @ring_c1(!tilegpu.ring<0, !tilegpu.buffer<8xf32>>)

// -----

// mbarriers_c1
// expected-error@+1 {{expected between 1 and 64 mbarriers, got 65}}
func.func private @mbarriers_c1(!tilegpu.mbarriers<65>)
