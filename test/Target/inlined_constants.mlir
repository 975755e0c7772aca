// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --attach-ptx=target=sm_120a | FileCheck %s

// What was folded from several places before it was inlined has no file.
#place = loc("kernel.mlir":3:1)
#at = loc(callsite(unknown at #place))
// CHECK: .visible .entry folded
llvm.func @folded(%out: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %c = llvm.mlir.constant(4 : i64) : i64 loc(#at)
  llvm.store %c, %out : i64, !llvm.ptr<1> loc(callsite(callsite(unknown at unknown) at #place))
  llvm.return
}
