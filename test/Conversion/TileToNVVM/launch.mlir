// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

// CHECK-LABEL: llvm.func @launches
// CHECK-NOT: tilegpu.coresident
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: nvvm.griddepcontrol wait
// CHECK: llvm.return
tile.kernel @launches warps(4) () {
  tile.launch_dependents
  tile.wait_dependencies
  tile.return
}
