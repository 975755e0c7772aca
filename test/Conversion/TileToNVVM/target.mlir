// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not mlatile-opt %s --convert-tile-to-nvvm=target=sm_999 2>&1 | FileCheck %s
// CHECK: error: expected a known target, got 'sm_999'
tile.kernel @any warps(1) () {
  tile.return
}
