// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s --strict-whitespace
// RUN: echo 'tilegpu.sync grid' | not mlatile-opt 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: sed s/maximumf/mul/ %s | not mlatile-opt 2>&1 | FileCheck %s --check-prefix=KIND
// SCOPE: expected cta, role or warp, got 'grid'
// KIND: expected addf, maximumf, minimumf, addi or maxsi, got 'mul'

#rows = #tilegpu.layout<reg = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#sums = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [], reps = [1]>

// Words of enums have one space on either side.
func.func @words(%x: tensor<8x8xf32, #rows>) -> tensor<8xf32, #sums> {
  //      CHECK:{{^ +}}tilegpu.sync cta{{$}}
  // CHECK-NEXT:{{^ +}}tilegpu.sync warp {why}{{$}}
  tilegpu.sync cta
  tilegpu.sync warp {why}
  //      CHECK: = tilegpu.reduce_warp maximumf %arg0 along 1 : tensor
  %max = tilegpu.reduce_warp maximumf %x along 1 : tensor<8x8xf32, #rows> -> tensor<8xf32, #sums>
  return %max : tensor<8xf32, #sums>
}
