// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the table of refusals does not know and NVPTX cannot select ends in an
// error of the compiler, not in the end of the process.
// RUN: not mlatile-compile %s 2>&1 | FileCheck %s
// CHECK: code generation for sm_120a failed: unsupported library call operation
// CHECK-NOT: Stack dump
llvm.func @product(%p: !llvm.ptr<1>, %x: f128, %y: f128) attributes {nvvm.kernel} {
  %r = llvm.fmul %x, %y : f128
  llvm.store %r, %p : f128, !llvm.ptr<1>
  llvm.return
}
