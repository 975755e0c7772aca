// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm | FileCheck %s

// CHECK-LABEL: llvm.func @scalars(
// CHECK-SAME: %[[Q:[^:]*]]: !llvm.ptr<1>, %{{[^:]*}}: i64, %[[COLS:[^:]*]]: i64, %{{[^:]*}}: i64, %{{[^:]*}}: !llvm.ptr<1>, %[[SLOTS:[^:]*]]: i64
tile.kernel @scalars warps(1) (%q: !tile.view<[T, 512], i64>, %kv: !tile.pool<"dsv4">) {
  // CHECK: %[[Y:.*]] = nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[Y]] : i32 to i64
  %y = tile.program_id 1 : index
  %cols = tile.dim %q, 1 : !tile.view<[T, 512], i64>
  %slots = tile.slots %kv : !tile.pool<"dsv4">
  // CHECK: %[[SUM:.*]] = llvm.add %[[COLS]], %[[SLOTS]] : i64
  // CHECK: %[[ALL:.*]] = llvm.add %[[SUM]], %[[WIDE]] : i64
  %sum = arith.addi %cols, %slots : index
  %all = arith.addi %sum, %y : index
  %value = arith.index_cast %all : index to i64
  %zero = arith.constant 0 : index
  // One thread stores a scalar.
  // CHECK: llvm.store %[[ALL]], %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
  tile.store %value, %q[%y, %zero] : i64, !tile.view<[T, 512], i64>
  tile.return
}

// From a block's own row to those of its neighbours along the grid.
// CHECK-LABEL: llvm.func @items(
tile.kernel @items warps(1) (%done: !tile.view<[N], i64>) {
  // CHECK: %[[FIRST:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK: %[[FROM:.*]] = llvm.zext %[[FIRST]] : i32 to i64
  %first = tile.program_id 0 : index
  // CHECK: %[[COUNT:.*]] = nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK: %[[STEP:.*]] = llvm.zext %[[COUNT]] : i32 to i64
  %programs = tile.num_programs 0 : index
  %n = tile.dim %done, 0 : !tile.view<[N], i64>
  scf.for %i = %first to %n step %programs {
    // CHECK: llvm.add %{{.*}}, %[[STEP]] : i64
    %value = arith.index_cast %i : index to i64
    tile.store %value, %done[%i] : i64, !tile.view<[N], i64>
  }
  // CHECK: nvvm.read.ptx.sreg.nctaid.y
  // CHECK: nvvm.read.ptx.sreg.nctaid.z
  %y = tile.num_programs 1 : index
  %z = tile.num_programs 2 : index
  %yz = arith.addi %y, %z : index
  %all = arith.index_cast %yz : index to i64
  tile.store %all, %done[%first] : i64, !tile.view<[N], i64>
  tile.return
}

// Rounding divisions have no LLVM operation of their own.
// CHECK-LABEL: llvm.func @divisions(
tile.kernel @divisions warps(1) (%q: !tile.view<[T], i64>, %n: index, %d: index) {
  // CHECK: llvm.udiv
  %a = arith.ceildivui %n, %d : index
  // CHECK: llvm.sdiv
  %b = arith.ceildivsi %n, %d : index
  %c = arith.addi %a, %b : index
  %value = arith.index_cast %c : index to i64
  %zero = arith.constant 0 : index
  tile.store %value, %q[%zero] : i64, !tile.view<[T], i64>
  tile.return
}
