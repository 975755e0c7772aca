// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last step of mlatile-tile-to-ptx, and the first, alone.
// RUN: mlatile-opt %s --select-kernel=kernel=two --attach-ptx=target=sm_121a | FileCheck %s
// RUN: not mlatile-opt %s --select-kernel 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not mlatile-opt %s --attach-ptx=target=sm_7 2>&1 | FileCheck %s --check-prefix=TARGET

// CHECK: module attributes {tilegpu.ptx = "
// CHECK-SAME: .target sm_121a
// CHECK-SAME: .visible .entry two(
// CHECK-NOT: @one
// CHECK: llvm.func @two
// SEVERAL: error: expected the name of one of the kernels 'one', 'two'
// TARGET: error: unknown target 'sm_7'
llvm.func @one() attributes {nvvm.kernel} {
  llvm.return
}
llvm.func @two() attributes {nvvm.kernel} {
  llvm.return
}
