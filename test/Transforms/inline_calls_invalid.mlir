// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file --leading-lines %s %t
// RUN: not mlatile-opt %t/declared.mlir -tile-inline-calls 2>&1 | FileCheck %s --check-prefix=DECLARED
// RUN: not mlatile-opt %t/declared.mlir -tile-specialise 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not mlatile-opt %t/step.mlir -tile-inline-calls -tile-specialise="params=F=dsv4_1" 2>&1 | FileCheck %s --check-prefix=STEP

//--- declared.mlir
func.func private @step()
tile.kernel @k warps(1) () {
  // DECLARED: declared.mlir:[[@LINE+2]]:3: error: 'tile.call' op expected a definition of step @step: link it before (-tile-link-steps)
  // CALL: declared.mlir:[[@LINE+1]]:3: error: 'tile.call' op in a kernel: inline the step before (-tile-inline-calls)
  tile.call @step() : () -> ()
  tile.return
}

//--- step.mlir
// What only some parameters get wrong: the line of the step, then the call's.
func.func private @rope(%kv: !tile.pool<FMT>, %o: !tile.view<[M, N], bf16>) {
  %z = arith.constant 0 : index
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<8xi32> -> !tile.rows<FMT, [8]>, tensor<8xi1>
  // STEP: step.mlir:[[@LINE+1]]:8: error: 'tile.dequant' op format "dsv4_1" has no rope part
  %d = tile.dequant %r rope : !tile.rows<FMT, [8]> -> tensor<8x?xbf16, #tile.dims<8, R>>
  tile.store %d, %o[%z, %z] : tensor<8x?xbf16, #tile.dims<8, R>>, !tile.view<[M, N], bf16>
  func.return
}
tile.kernel @k params(F : format, R : index = F.rope) warps(1) (%kv: !tile.pool<F>, %o: !tile.view<[M, N], bf16>) {
  // STEP: step.mlir:[[@LINE+1]]:3: note: called from
  tile.call @rope(%kv, %o) bind(FMT = F) : (!tile.pool<F>, !tile.view<[M, N], bf16>) -> ()
  tile.return
}
