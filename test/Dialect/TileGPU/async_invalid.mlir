// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics

func.func @mbarrier_init_c1(%bars: !tilegpu.mbarriers<2>) {
  // expected-error@+1 {{expected a count between 1 and 1048575, got 0}}
  tilegpu.mbarrier_init %bars {count = 0 : i32} : !tilegpu.mbarriers<2>
  return
}

// -----

func.func @mbarrier_arrive_c1(%bars: !tilegpu.mbarriers<2>) {
  %i = arith.constant -1 : i32
  // expected-error@+1 {{expected an index between 0 and 1, got -1}}
  tilegpu.mbarrier_arrive %bars[%i] : !tilegpu.mbarriers<2>
  return
}

// -----

func.func @mbarrier_wait_c1(%bars: !tilegpu.mbarriers<2>, %p: i32) {
  %i = arith.constant 2 : i32
  // expected-error@+1 {{expected an index between 0 and 1, got 2}}
  tilegpu.mbarrier_wait %bars[%i], %p : !tilegpu.mbarriers<2>
  return
}

// -----

func.func @mbarrier_wait_c2(%bars: !tilegpu.mbarriers<2>, %i: i32) {
  %p = arith.constant 2 : i32
  // expected-error@+1 {{expected a parity of 0 or 1, got 2}}
  tilegpu.mbarrier_wait %bars[%i], %p : !tilegpu.mbarriers<2>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c1(%pool: !tile.pool<FMT>, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x576xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected a pool that is bound to a cache format, got '!tile.pool<FMT>'}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<FMT>, tensor<32xi32, #ids>, !tilegpu.buffer<32x576xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#reversed = #tilegpu.layout<reg = [], lane = [[16], [8], [4], [2], [1]], warp = [], reps = [1]>
func.func @gather_async_c2_layout(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi32, #reversed>, %rows: !tilegpu.buffer<32x576xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected ids in one dimension of i32, laid out as rows over threads, got}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi32, #reversed>, !tilegpu.buffer<32x576xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c2_type(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi64, #ids>, %rows: !tilegpu.buffer<32x576xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected ids in one dimension of i32}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi64, #ids>, !tilegpu.buffer<32x576xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c3_short(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x448xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected 'rows' to have 32 rows of at least 576 elements of 8 bits, got '!tilegpu.buffer<32x448xi8>'}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !tilegpu.buffer<32x448xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c3_stride(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x576xi8, stride = 584>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected the rows of 'rows' to start at multiples of 16 bytes, got a stride of 584}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !tilegpu.buffer<32x576xi8, stride = 584>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c4_footer(%pool: !tile.pool<"dsv4_1">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x512xi8>,
    %scales: !tilegpu.buffer<32x16xi8, stride = 24>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected 'scales' to have 32 x 16 elements of 8 bits and a row stride that is a multiple of 16, got '!tilegpu.buffer<32x16xi8, stride = 24>'}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4_1">, tensor<32xi32, #ids>, !tilegpu.buffer<32x512xi8>, !tilegpu.buffer<32x16xi8, stride = 24>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c4_inline(%pool: !tile.pool<"glm">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x656xi8>,
    %scales: !tilegpu.buffer<32x4xf32>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected 'scales' to have 32 x 4 f32 elements and the row stride 656 of 'rows', got '!tilegpu.buffer<32x4xf32>'}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"glm">, tensor<32xi32, #ids>, !tilegpu.buffer<32x656xi8>, !tilegpu.buffer<32x4xf32>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c5(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x576xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi64>, %full: !tilegpu.mbarriers<1>, %i: i32) {
  // expected-error@+1 {{expected 'slots' to have 32 elements of i32, got '!tilegpu.buffer<32xi64>'}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !tilegpu.buffer<32x576xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi64>, !tilegpu.mbarriers<1>
  return
}

// -----

#ids = #tilegpu.layout<reg = [], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
func.func @gather_async_c6(%pool: !tile.pool<"dsv4">, %ids: tensor<32xi32, #ids>, %rows: !tilegpu.buffer<32x576xi8>,
    %scales: !tilegpu.buffer<32x8xi8>, %slots: !tilegpu.buffer<32xi32>, %full: !tilegpu.mbarriers<1>) {
  %i = arith.constant 1 : i32
  // expected-error@+1 {{expected an index between 0 and 0, got 1}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !tilegpu.buffer<32x576xi8>, !tilegpu.buffer<32x8xi8>,
      !tilegpu.buffer<32xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

// 911 rows of 1,152 bytes are more than an mbarrier counts, 910 are not.
#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [0]], warp = [], reps = [911]>
#ids910 = #tilegpu.layout<reg = [], lane = [[0], [0], [0], [0], [1]], warp = [], reps = [455]>
func.func @gather_async_c7(%pool: !tile.pool<"dots3_swa">, %ids: tensor<911xi32, #ids>, %rows: !tilegpu.buffer<911x1152xi8>,
    %scales: !tilegpu.buffer<911x8xi8>, %slots: !tilegpu.buffer<911xi32>, %full: !tilegpu.mbarriers<1>, %i: i32,
    %ids910: tensor<910xi32, #ids910>, %rows910: !tilegpu.buffer<910x1152xi8>, %scales910: !tilegpu.buffer<910x8xi8>,
    %slots910: !tilegpu.buffer<910xi32>) {
  tilegpu.gather_async %pool[%ids910] into %rows910, %scales910, %slots910 signal %full[%i] {bulk}
    : !tile.pool<"dots3_swa">, tensor<910xi32, #ids910>, !tilegpu.buffer<910x1152xi8>, !tilegpu.buffer<910x8xi8>,
      !tilegpu.buffer<910xi32>, !tilegpu.mbarriers<1>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dots3_swa">, tensor<911xi32, #ids>, !tilegpu.buffer<911x1152xi8>, !tilegpu.buffer<911x8xi8>,
      !tilegpu.buffer<911xi32>, !tilegpu.mbarriers<1>
  // expected-error@+1 {{expected at most 1048575 bytes of bulk copies, got 911 rows of 1152}}
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dots3_swa">, tensor<911xi32, #ids>, !tilegpu.buffer<911x1152xi8>, !tilegpu.buffer<911x8xi8>,
      !tilegpu.buffer<911xi32>, !tilegpu.mbarriers<1>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c1_rank(%v: !tile.view<[D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected a view of two dimensions or more and one index for each, got '!tile.view<[D], bf16>' and 1}}
  tilegpu.copy_async %v[%c] into %b signal %full[%i] by #pieces
    : !tile.view<[D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c1_indices(%v: !tile.view<[T, H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected a view of two dimensions or more and one index for each, got '!tile.view<[T, H, D], bf16>' and 2}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[T, H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c2_rank(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<64xbf16>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected 'buffer' to have two dimensions, got '!tilegpu.buffer<64xbf16>'}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<64xbf16>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c2_stride(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 136>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected the rows of 'buffer' to start at multiples of 16 bytes, got a stride of 136}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 136>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c2_element(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected a buffer of the view's elements, 'bf16', got '!tilegpu.buffer<16x64xf16, stride = 144>'}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c2_bits(%v: !tile.view<[H, D], f4E2M1FN>, %c: index, %b: !tilegpu.buffer<16x64xf4E2M1FN>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected a buffer of the view's elements, 'f4E2M1FN', got '!tilegpu.buffer<16x64xf4E2M1FN>'}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], f4E2M1FN>, !tilegpu.buffer<16x64xf4E2M1FN>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c3_shape(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<32x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{expected a layout of '!tilegpu.buffer<32x64xbf16, stride = 144>' in pieces of 16 bytes, each once, got}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<32x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

// Eight bytes a thread, twice.
#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [8, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]], reps = [1, 1]>
func.func @copy_async_c3_pieces(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{in pieces of 16 bytes, each once, got}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

// Lanes that copy the same, and warps.
#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [8, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [0, 0]], warp = [[2, 0], [4, 0]], reps = [1, 1]>
func.func @copy_async_c3_lanes(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{in pieces of 16 bytes, each once, got}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4], [8, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [0, 0]], reps = [1, 1]>
func.func @copy_async_c3_warps(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{in pieces of 16 bytes, each once, got}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

#pieces = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>
func.func @copy_async_c4(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>) {
  %i = arith.constant 2 : i32
  // expected-error@+1 {{expected an index between 0 and 1, got 2}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// -----

// Rows apart in one register after the other: a piece is in every second one.
#pieces = #tilegpu.layout<reg = [[8, 0], [0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0]], reps = [1, 1]>
func.func @copy_async_c3_order(%v: !tile.view<[H, D], bf16>, %c: index, %b: !tilegpu.buffer<16x64xbf16, stride = 144>, %full: !tilegpu.mbarriers<2>, %i: i32) {
  // expected-error@+1 {{in pieces of 16 bytes, each once, got}}
  tilegpu.copy_async %v[%c, %c] into %b signal %full[%i] by #pieces
    : !tile.view<[H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}
