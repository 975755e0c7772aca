// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions outside of a function are refused: MLIR's translation to LLVM IR
// dies of them.
// RUN: split-file %s %t
// RUN: not mlatile-compile %t/barrier.mlir 2>&1 | FileCheck %s --check-prefix=BARRIER
// RUN: not mlatile-compile %t/constant.mlir 2>&1 | FileCheck %s --check-prefix=CONSTANT
// RUN: not mlatile-opt --mlatile-tile-to-ptx %t/sync.mlir 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: mlatile-compile %t/global.mlir | FileCheck %s --check-prefix=GLOBAL

// BARRIER: barrier.mlir:1:1: error: expected functions and globals at the top of the module, got 'nvvm.barrier0'
//--- barrier.mlir
nvvm.barrier0
llvm.func @k() attributes {nvvm.kernel} {
  llvm.return
}

// CONSTANT: constant.mlir:4:6: error: expected functions and globals at the top of the module, got 'llvm.mlir.constant'
//--- constant.mlir
llvm.func @k() attributes {nvvm.kernel} {
  llvm.return
}
%0 = llvm.mlir.constant(1 : i32) : i32

// SYNC: sync.mlir:1:1: error: expected functions and globals at the top of the module, got 'nvvm.barrier0'
//--- sync.mlir
tilegpu.sync cta
tile.kernel @k warps(1) () {
  tile.return
}

// GLOBAL: .global .align 4 .u32 seven = 7
//--- global.mlir
llvm.mlir.global external @seven(7 : i32) {addr_space = 1 : i32} : i32
llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %a = llvm.mlir.addressof @seven : !llvm.ptr<1>
  %x = llvm.load %a : !llvm.ptr<1> -> i32
  llvm.store %x, %p : i32, !llvm.ptr<1>
  llvm.return
}
