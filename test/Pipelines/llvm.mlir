// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The LLVM module is whole: it parses back, verifies, and gives the same PTX.
// RUN: mlatile-compile %s --emit=llvm -o %t.ll
// RUN: FileCheck %s --input-file=%t.ll
// RUN: opt -passes=verify -S %t.ll -o /dev/null
// RUN: mlatile-compile %s --emit=ptx -o %t.ptx
// RUN: llc -asm-verbose=false -mcpu=sm_120a -mattr=+ptx87 %t.ll -o %t.llc.ptx
// RUN: cmp %t.ptx %t.llc.ptx

// CHECK: target datalayout = "{{.*}}"
// CHECK: target triple = "nvptx64-nvidia-cuda"
// CHECK-LABEL: define ptx_kernel void @copy(
// CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg [[AT:![0-9]+]]
// CHECK: [[AT]] = !DILocation(line: [[#@LINE+4]], column: 3,
llvm.func @copy(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %from = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  nvvm.barrier
  %x = llvm.load %from : !llvm.ptr<1> -> i32
  %to = llvm.getelementptr %q[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %x, %to : i32, !llvm.ptr<1>
  llvm.return
}
