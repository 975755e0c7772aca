// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

#rows = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], reps = [1, 1]>
func.func @dot_c1_layout(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #rows>) {
  // expected-error@+1 {{expected c to be f32 in the layout of an mma accumulator}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #rows>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c1_element(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xbf16, #acc>) {
  // expected-error@+1 {{expected c to be f32 in the layout of an mma accumulator}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xbf16, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c2(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x8xf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a and b to be both bf16, both f16 or both f8E4M3FN, or one of them quantised, got 'bf16' and 'f16'}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x8xf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c3_rows(%a: !tilegpu.buffer<32x16xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 16 rows of 'a' to match c, got 32}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<32x16xbf16>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c3_transposed(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 8 columns of 'b' to match c, got 16}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c3_k(%a: !tilegpu.buffer<16x32xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a and b to have one K, got 32 and 16}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x32xbf16>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c3_step(%a: !tilegpu.buffer<16x24xbf16>, %b: !tilegpu.buffer<24x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected K to be a multiple of 16, got 24}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x24xbf16>, !tilegpu.buffer<24x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

// The operand is spread for two warps along M, c for two along N.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [2, 1]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]], reps = [1, 1]>
func.func @dot_c4(%a: tensor<32x16xbf16, #opA>, %b: !tilegpu.buffer<16x16xbf16>, %c: tensor<32x16xf32, #acc>) {
  // expected-error@+1 {{expected 'a' in the operand layout of 1 x 2 warps, which fits c}}
  %d = tilegpu.dot %a, %b, %c : tensor<32x16xbf16, #opA>, !tilegpu.buffer<16x16xbf16>, tensor<32x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c5_stride(%a: !tilegpu.buffer<16x16xbf16, stride = 40>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected the rows of 'a' to start at multiples of 16 bytes, got a stride of 40}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16, stride = 40>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c5_rank(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 'b' to have two dimensions, got '!tilegpu.buffer<16xbf16>'}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c6(%a: tensor<16x16xbf16, #opA>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 'a' to be a buffer, because it is transposed}}
  %d = tilegpu.dot %a, %b, %c {a_transposed} : tensor<16x16xbf16, #opA>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// Both are quantised, to 4 bits.
func.func @dot_c2_quantised(%a: !tilegpu.buffer<16x32xf4E2M1FN>, %b: !tilegpu.buffer<8x32xf4E2M1FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a and b to be both bf16, both f16 or both f8E4M3FN, or one of them quantised, got 'f4E2M1FN' and 'f4E2M1FN'}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x32xf4E2M1FN>, !tilegpu.buffer<8x32xf4E2M1FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// A type that dots do not convert.
func.func @dot_c2_element(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<8x16xf8E5M2>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{or one of them quantised, got 'bf16' and 'f8E5M2'}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<8x16xf8E5M2>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c2_wide(%a: !tilegpu.buffer<16x16xf32>, %b: !tilegpu.buffer<8x16xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{or one of them quantised, got 'f32' and 'f8E4M3FN'}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x16xf32>, !tilegpu.buffer<8x16xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// Four bits along K take two steps at a time.
func.func @dot_c3_packed(%a: !tilegpu.buffer<16x48xbf16>, %b: !tilegpu.buffer<8x48xf4E2M1FN, stride = 32>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected K to be a multiple of 32, got 48}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x48xbf16>, !tilegpu.buffer<8x48xf4E2M1FN, stride = 32>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// A tensor whose elements along K are those of an unpacked step.
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c4_packed(%a: tensor<16x16xbf16, #opA>, %b: !tilegpu.buffer<8x16xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 'a' in the operand layout of 1 x 1 warps, which fits c}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : tensor<16x16xbf16, #opA>, !tilegpu.buffer<8x16xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c5_four_bits(%a: !tilegpu.buffer<16x32xbf16>, %b: !tilegpu.buffer<8x32xf4E2M1FN, stride = 24>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected the rows of 'b' to start at multiples of 16 bytes, got a stride of 24}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x32xbf16>, !tilegpu.buffer<8x32xf4E2M1FN, stride = 24>, tensor<16x8xf32, #acc>
  return
}

// -----

// Eight bits along N: two columns of c stand together, and here they do not.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 2]>
func.func @dot_c7_columns(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x16xf8E4M3FN>, %c: tensor<16x16xf32, #acc>) {
  // expected-error@+1 {{expected c with columns packed as those of 'b', got}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x16xf8E4M3FN>, tensor<16x16xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c7_rows(%a: !tilegpu.buffer<16x16xf8E4M3FN>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected c with rows packed as those of 'a', got}}
  %d = tilegpu.dot %a, %b, %c {a_transposed} : !tilegpu.buffer<16x16xf8E4M3FN>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

// The other way round: packed columns of c, and b is not packed.
#packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c7_unpacked(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x16xbf16>, %c: tensor<16x16xf32, #packed>) {
  // expected-error@+1 {{expected c with columns packed as those of 'b', got}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x16xbf16>, tensor<16x16xf32, #packed>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c8_plain(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x8xbf16>, %s: !tilegpu.buffer<16x1xf8E8M0FNU>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected only a quantised operand to be scaled, got 'b' of type '!tilegpu.buffer<16x8xbf16>'}}
  %d = tilegpu.dot %a, %b scaled by %s, %c : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x8xbf16> by !tilegpu.buffer<16x1xf8E8M0FNU>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c8_element(%a: !tilegpu.buffer<16x32xbf16>, %b: !tilegpu.buffer<8x32xf8E4M3FN>, %s: !tilegpu.buffer<8x2xf32>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected scales of 'b' of f8E8M0FNU or f8E4M3FN, with 8 rows and a column for each group (a power of two, at least 16) of its 32 columns, got '!tilegpu.buffer<8x2xf32>'}}
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x32xbf16>, !tilegpu.buffer<8x32xf8E4M3FN> by !tilegpu.buffer<8x2xf32>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c8_rows(%a: !tilegpu.buffer<16x32xbf16>, %b: !tilegpu.buffer<8x32xf8E4M3FN>, %s: !tilegpu.buffer<4x2xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected scales of 'b' of f8E8M0FNU or f8E4M3FN, with 8 rows}}
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x32xbf16>, !tilegpu.buffer<8x32xf8E4M3FN> by !tilegpu.buffer<4x2xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// Groups of 8.
func.func @dot_c8_narrow(%a: !tilegpu.buffer<16x32xbf16>, %b: !tilegpu.buffer<8x32xf8E4M3FN>, %s: !tilegpu.buffer<8x4xf8E8M0FNU>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{a column for each group (a power of two, at least 16) of its 32 columns, got '!tilegpu.buffer<8x4xf8E8M0FNU>'}}
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x32xbf16>, !tilegpu.buffer<8x32xf8E4M3FN> by !tilegpu.buffer<8x4xf8E8M0FNU>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
// Groups of 48.
func.func @dot_c8_group(%a: !tilegpu.buffer<16x96xf8E4M3FN>, %b: !tilegpu.buffer<96x8xbf16>, %s: !tilegpu.buffer<16x2xf8E8M0FNU>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected scales of 'a' of f8E8M0FNU or f8E4M3FN, with 16 rows and a column for each group (a power of two, at least 16) of its 96 columns, got '!tilegpu.buffer<16x2xf8E8M0FNU>'}}
  %d = tilegpu.dot %a scaled by %s, %b, %c : !tilegpu.buffer<16x96xf8E4M3FN> by !tilegpu.buffer<16x2xf8E8M0FNU>, !tilegpu.buffer<96x8xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_element(%a: !tilegpu.buffer<16x16xf16>, %b: !tilegpu.buffer<16x32xf16>, %f: !tilegpu.buffer<4x16xbf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected factors of 'a' of 'f16', with 16 columns and a row for each group (a power of two, at least 8) of the 32 columns of c, got '!tilegpu.buffer<4x16xbf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xf16> times !tilegpu.buffer<4x16xbf16>, !tilegpu.buffer<16x32xf16>, tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_columns(%a: !tilegpu.buffer<16x32xf16>, %b: !tilegpu.buffer<32x32xf16>, %f: !tilegpu.buffer<4x16xf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{expected factors of 'a' of 'f16', with 32 columns and a row}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x32xf16> times !tilegpu.buffer<4x16xf16>, !tilegpu.buffer<32x32xf16>, tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_rank(%a: !tilegpu.buffer<16x16xf16>, %b: !tilegpu.buffer<16x32xf16>, %f: !tilegpu.buffer<16xf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{of the 32 columns of c, got '!tilegpu.buffer<16xf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xf16> times !tilegpu.buffer<16xf16>, !tilegpu.buffer<16x32xf16>, tensor<16x32xf32, #acc>
  return
}

// -----

// Three rows of factors for 32 columns.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_rows(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x32xbf16>, %f: !tilegpu.buffer<3x16xbf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{of the 32 columns of c, got '!tilegpu.buffer<3x16xbf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xbf16> times !tilegpu.buffer<3x16xbf16>, !tilegpu.buffer<16x32xbf16>, tensor<16x32xf32, #acc>
  return
}

// -----

// Groups of 24.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 6]>
func.func @dot_c9_power(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x48xbf16>, %f: !tilegpu.buffer<2x16xbf16>, %c: tensor<16x48xf32, #acc>) {
  // expected-error@+1 {{of the 48 columns of c, got '!tilegpu.buffer<2x16xbf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xbf16> times !tilegpu.buffer<2x16xbf16>, !tilegpu.buffer<16x48xbf16>, tensor<16x48xf32, #acc>
  return
}

// -----

// Groups of 4.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_narrow(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x32xbf16>, %f: !tilegpu.buffer<8x16xbf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{a row for each group (a power of two, at least 8) of the 32 columns of c, got '!tilegpu.buffer<8x16xbf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xbf16> times !tilegpu.buffer<8x16xbf16>, !tilegpu.buffer<16x32xbf16>, tensor<16x32xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
func.func @dot_c9_stride(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x32xbf16>, %f: !tilegpu.buffer<4x16xbf16, stride = 34>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{got '!tilegpu.buffer<4x16xbf16, stride = 34>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xbf16> times !tilegpu.buffer<4x16xbf16, stride = 34>, !tilegpu.buffer<16x32xbf16>, tensor<16x32xf32, #acc>
  return
}

// -----

// Groups of 8 rows: a tile has 16.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [2, 1]>
func.func @dot_c9_b(%a: !tilegpu.buffer<32x16xf16>, %b: !tilegpu.buffer<16x8xf16>, %f: !tilegpu.buffer<4x16xf16>, %c: tensor<32x8xf32, #acc>) {
  // expected-error@+1 {{expected factors of 'b' of 'f16', with 16 columns and a row for each group (a power of two, at least 16) of the 32 rows of c, got '!tilegpu.buffer<4x16xf16>'}}
  %d = tilegpu.dot %a, %b times %f, %c : !tilegpu.buffer<32x16xf16>, !tilegpu.buffer<16x8xf16> times !tilegpu.buffer<4x16xf16>, tensor<32x8xf32, #acc>
  return
}

// -----

// Columns of c are packed, 16 in a block.
#acc = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 2]>
func.func @dot_c9_packed(%a: !tilegpu.buffer<16x16xf16>, %b: !tilegpu.buffer<16x32xf8E4M3FN>, %f: !tilegpu.buffer<4x16xf16>, %c: tensor<16x32xf32, #acc>) {
  // expected-error@+1 {{a row for each group (a power of two, at least 16) of the 32 columns of c, got '!tilegpu.buffer<4x16xf16>'}}
  %d = tilegpu.dot %a times %f, %b, %c : !tilegpu.buffer<16x16xf16> times !tilegpu.buffer<4x16xf16>, !tilegpu.buffer<16x32xf8E4M3FN>, tensor<16x32xf32, #acc>
  return
}

// -----

// No operand is quantised.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c10_plain(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<8x16xbf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a packed 'a' to be a 16-bit buffer with columns along K, beside a quantised operand with columns along K, got '!tilegpu.buffer<16x16xbf16>'}}
  %d = tilegpu.dot %a, %b, %c {a_packed, b_transposed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<8x16xbf16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c10_rows(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<8x16xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a packed 'a' to be a 16-bit buffer with columns along K}}
  %d = tilegpu.dot %a, %b, %c {a_packed, a_transposed, b_transposed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<8x16xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c10_quantised(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<8x16xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a packed 'b' to be a 16-bit buffer}}
  %d = tilegpu.dot %a, %b, %c {b_packed, b_transposed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<8x16xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c10_tensor(%a: tensor<16x16xbf16, #opA>, %b: !tilegpu.buffer<8x16xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected a packed 'a' to be a 16-bit buffer}}
  %d = tilegpu.dot %a, %b, %c {a_packed, b_transposed} : tensor<16x16xbf16, #opA>, !tilegpu.buffer<8x16xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

// Columns of b run along N.
#acc = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c10_along_n(%a: !tilegpu.buffer<16x16xbf16>, %b: !tilegpu.buffer<16x16xf8E4M3FN>, %c: tensor<16x16xf32, #acc>) {
  // expected-error@+1 {{expected a packed 'a' to be a 16-bit buffer with columns along K, beside a quantised operand with columns along K}}
  %d = tilegpu.dot %a, %b, %c {a_packed} : !tilegpu.buffer<16x16xbf16>, !tilegpu.buffer<16x16xf8E4M3FN>, tensor<16x16xf32, #acc>
  return
}

// -----

#any = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @load_quantised_c1_shape(%p: !tilegpu.buffer<8x32xf8E4M3FN>) {
  // expected-error@+1 {{expected a payload of f8E4M3FN or f4E2M1FN and a result of bf16 or f16, of one shape, got '!tilegpu.buffer<8x32xf8E4M3FN>' and}}
  %t = tilegpu.load_quantised %p : !tilegpu.buffer<8x32xf8E4M3FN> -> tensor<8x16xbf16, #any>
  return
}

// -----

#any = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @load_quantised_c1_payload(%p: !tilegpu.buffer<8x16xi8>) {
  // expected-error@+1 {{expected a payload of f8E4M3FN or f4E2M1FN and a result of bf16 or f16, of one shape, got '!tilegpu.buffer<8x16xi8>' and}}
  %t = tilegpu.load_quantised %p : !tilegpu.buffer<8x16xi8> -> tensor<8x16xbf16, #any>
  return
}

// -----

#any = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @load_quantised_c1_result(%p: !tilegpu.buffer<8x16xf8E4M3FN>) {
  // expected-error@+1 {{expected a payload of f8E4M3FN or f4E2M1FN and a result of bf16 or f16, of one shape}}
  %t = tilegpu.load_quantised %p : !tilegpu.buffer<8x16xf8E4M3FN> -> tensor<8x16xf32, #any>
  return
}

// -----

#any = #tilegpu.layout<reg = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @load_quantised_c2(%p: !tilegpu.buffer<8x16xf8E4M3FN>, %s: !tilegpu.buffer<8x2xf8E8M0FNU>) {
  // expected-error@+1 {{expected scales of 'payload' of f8E8M0FNU or f8E4M3FN, with 8 rows and a column for each group (a power of two, at least 16) of its 16 columns, got '!tilegpu.buffer<8x2xf8E8M0FNU>'}}
  %t = tilegpu.load_quantised %p by %s : !tilegpu.buffer<8x16xf8E4M3FN> by !tilegpu.buffer<8x2xf8E8M0FNU> -> tensor<8x16xbf16, #any>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c3_fp8(%a: !tilegpu.buffer<16x48xf8E4M3FN>, %b: !tilegpu.buffer<8x48xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected K to be a multiple of 32, got 48}}
  %d = tilegpu.dot %a, %b, %c {b_transposed} : !tilegpu.buffer<16x48xf8E4M3FN>, !tilegpu.buffer<8x48xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c11_across(%a: !tilegpu.buffer<16x64xf8E4M3FN>, %b: !tilegpu.buffer<64x8xf8E4M3FN, stride = 16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 'b' of two f8E4M3FN to be a buffer with columns along K, neither packed nor with factors}}
  %d = tilegpu.dot %a, %b, %c : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<64x8xf8E4M3FN, stride = 16>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c11_packed(%a: !tilegpu.buffer<16x64xf8E4M3FN>, %b: !tilegpu.buffer<8x64xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected 'a' of two f8E4M3FN to be a buffer with columns along K, neither packed nor with factors}}
  %d = tilegpu.dot %a, %b, %c {a_packed, b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<8x64xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c11_scale(%a: !tilegpu.buffer<16x64xf8E4M3FN>, %b: !tilegpu.buffer<8x64xf8E4M3FN>, %s: !tilegpu.buffer<8x2xf8E4M3FN, stride = 4>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected scales of 'b' of two f8E4M3FN to be f8E8M0FNU, one for a multiple of 32 columns, in rows at multiples of 4 bytes}}
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<8x64xf8E4M3FN> by !tilegpu.buffer<8x2xf8E4M3FN, stride = 4>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c11_group(%a: !tilegpu.buffer<16x64xf8E4M3FN>, %b: !tilegpu.buffer<8x64xf8E4M3FN>, %s: !tilegpu.buffer<16x4xf8E8M0FNU>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected scales of 'a' of two f8E4M3FN to be f8E8M0FNU, one for a multiple of 32 columns}}
  %d = tilegpu.dot %a scaled by %s, %b, %c {b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN> by !tilegpu.buffer<16x4xf8E8M0FNU>, !tilegpu.buffer<8x64xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c11_stride(%a: !tilegpu.buffer<16x64xf8E4M3FN>, %b: !tilegpu.buffer<8x64xf8E4M3FN>, %s: !tilegpu.buffer<8x2xf8E8M0FNU>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{in rows at multiples of 4 bytes}}
  %d = tilegpu.dot %a, %b scaled by %s, %c {b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<8x64xf8E4M3FN> by !tilegpu.buffer<8x2xf8E8M0FNU>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c12(%a: !tilegpu.buffer<16x32xf16>, %b: !tilegpu.buffer<8x32xf8E4M3FN>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected narrow products of an f16 operand and an f8E4M3FN one without scales, whose columns do not run along K}}
  %d = tilegpu.dot %a, %b, %c {b_transposed, narrow} : !tilegpu.buffer<16x32xf16>, !tilegpu.buffer<8x32xf8E4M3FN>, tensor<16x8xf32, #acc>
  return
}

// -----

#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
func.func @dot_c12_wide(%a: !tilegpu.buffer<16x32xf16>, %b: !tilegpu.buffer<8x32xf16>, %c: tensor<16x8xf32, #acc>) {
  // expected-error@+1 {{expected narrow products of an f16 operand and an f8E4M3FN one}}
  %d = tilegpu.dot %a, %b, %c {b_transposed, narrow} : !tilegpu.buffer<16x32xf16>, !tilegpu.buffer<8x32xf16>, tensor<16x8xf32, #acc>
  return
}
