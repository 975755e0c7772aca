// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-compile %s --target=sm_120a | FileCheck %s --check-prefixes=CHECK,SM120
// RUN: mlatile-compile %s --target=sm_121a | FileCheck %s --check-prefixes=CHECK,SM121
// RUN: mlatile-compile %s --target=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90

// SM120: .version 8.7
// SM120: .target sm_120a
// SM121: .version 8.8
// SM121: .target sm_121a
// SM90: .version 8.0
// SM90: .target sm_90a

// CHECK-LABEL: .visible .entry scale(
// CHECK: .reqntid 128
// CHECK: .minnctapersm 1
// Every instruction keeps the line of its source.
// CHECK: .loc 1 [[#@LINE+6]]
// CHECK: ld.global
// CHECK: mul.rn.f32
// CHECK: st.global
llvm.func @scale(%p: !llvm.ptr<1>, %s: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, nvvm.minctasm = 1 : i32} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %at = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x = llvm.load %at : !llvm.ptr<1> -> f32
  %y = llvm.fmul %x, %s : f32
  llvm.store %y, %at : f32, !llvm.ptr<1>
  llvm.return
}
