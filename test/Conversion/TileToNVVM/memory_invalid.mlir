// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm -split-input-file -verify-diagnostics

// A place that nobody has planned.
// expected-error@below {{failed to legalize operation 'tile.kernel'}}
tile.kernel @no_offset warps(1) () {
  // expected-error@+1 {{expected an offset, which tilegpu-plan-shared sets}}
  %b = tilegpu.alloc "b" : !tilegpu.buffer<16xf32>
  tile.return
}

// -----

tile.kernel @three_warps warps(3) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xi8>
  %s = tilegpu.alloc "s" {offset = 7168 : i64} : !tilegpu.buffer<16x8xi8>
  %r = tilegpu.alloc "r" {offset = 7296 : i64} : !tilegpu.buffer<16x448xbf16>
  // expected-error@+2 {{expected a kernel with a power of two of warps, got 96 threads}}
  // expected-error@+1 {{failed to legalize operation 'tilegpu.dequant'}}
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xi8>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16>
  tile.return
}

// -----

// Layouts come with tile-assign-layouts.
tile.kernel @no_layout warps(1) () {
  %b = tilegpu.alloc "b" {offset = 0 : i64} : !tilegpu.buffer<16xf32>
  // expected-error@+2 {{expected a tile with a layout}}
  // expected-error@+1 {{failed to legalize operation 'tilegpu.load_shared'}}
  %t = tilegpu.load_shared %b : !tilegpu.buffer<16xf32> -> tensor<16xf32>
  tile.return
}
