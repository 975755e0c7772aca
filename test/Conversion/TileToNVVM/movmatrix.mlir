// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s
// RUN: mlatile-opt %s --mlatile-tilegpu-to-nvvm | FileCheck %s --check-prefix=SHARED

// Scores with candidates on the rows, rounded, as operand b of the next product:
// each pair of registers is a transposed 8 x 8 matrix. Nothing goes through
// shared memory.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8]], reps = [2, 1]>
#opB = #tilegpu.layout<reg = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8]], reps = [2, 1]>

// CHECK-LABEL: llvm.func @turned(
// SHARED-LABEL: llvm.func @turned(
// SHARED-SAME: tilegpu.shared_bytes = 0
// SHARED-NOT: nvvm.barrier
tile.kernel @turned warps(2) (%src: !tile.view<[N, H], bf16>, %dst: !tile.view<[N, H], bf16>) {
  %zero = arith.constant 0 : index
  %x = tile.load %src[%zero, %zero] : !tile.view<[N, H], bf16> -> tensor<32x16xbf16, #acc>
  // CHECK: %[[MOVED:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %{{.*}} : (i32) -> i32
  // CHECK-NEXT: llvm.bitcast %[[MOVED]] : i32 to vector<2xbf16>
  // CHECK-COUNT-3: movmatrix
  // CHECK-NOT: movmatrix
  %y = tilegpu.convert_layout %x : tensor<32x16xbf16, #acc> -> tensor<32x16xbf16, #opB>
  tile.store %y, %dst[%zero, %zero] : tensor<32x16xbf16, #opB>, !tile.view<[N, H], bf16>
  // CHECK: llvm.return
  // SHARED: llvm.return
  tile.return
}
