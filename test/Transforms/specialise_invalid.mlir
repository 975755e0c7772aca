// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: split-file --leading-lines %s %t
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=16,XX=1" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=BH=16" 2>&1 | FileCheck %s --check-prefix=MISSING-FORMAT
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=many" 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=-16" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=16,SPLIT=1" 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv5,BH=16" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=16,N=448" 2>&1 | FileCheck %s --check-prefix=DERIVED
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH" 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=BH=16,BH=32" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=24" 2>&1 | FileCheck %s --check-prefix=REQUIRE
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="params=FMT=dsv4,BH=16,WARPS=33" 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not mlatile-opt %t/k.mlir -tile-specialise="kernel=j" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mlatile-opt %t/two.mlir -tile-specialise 2>&1 | FileCheck %s --check-prefix=CHOOSE
// RUN: not mlatile-opt %t/two.mlir -tile-specialise="kernel=a params=D=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not mlatile-opt %t/none.mlir -tile-specialise 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mlatile-opt %t/shape.mlir -tile-specialise="params=F=dsv4_1" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: mlatile-opt %t/shape.mlir -tile-specialise="params=F=glm" | FileCheck %s --check-prefix=SHAPE-GOOD
// RUN: not mlatile-opt %t/other.mlir -tile-specialise="params=F=dsv4,G=dsv4_1" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: mlatile-opt %t/other.mlir -tile-specialise="params=F=dsv4,G=dsv4_nvfp4" | FileCheck %s --check-prefix=OTHER-GOOD
// RUN: not mlatile-opt %t/call.mlir -tile-specialise 2>&1 | FileCheck %s --check-prefix=CALL

//--- k.mlir
// MISSING: error: 'tile.kernel' op parameter BH (index) has no default: give it a value
// MISSING-FORMAT: error: 'tile.kernel' op parameter FMT (format) has no default: give it a value
// INDEX: error: 'tile.kernel' op parameter BH: expected an integer from 0 to 2147483647, got 'many'
// NEGATIVE: error: 'tile.kernel' op parameter BH: expected an integer from 0 to 2147483647, got '-16'
// BOOL: error: 'tile.kernel' op parameter SPLIT: expected true or false, got '1'
// FORMAT: error: 'tile.kernel' op parameter FMT: unknown cache format 'dsv5', expected one of dsv3_2, glm, glm53_nope, dsv4,
// DERIVED: error: 'tile.kernel' op parameter N is derived as FMT.nope and cannot be given
// PAIR: error: expected NAME=VALUE, got 'BH'
// TWICE: error: parameter BH is given twice
// WARPS: error: 'tile.kernel' op expected 1 to 32 warps, got 33
// NAME: error: expected a kernel of the module, one of k, got j

// UNKNOWN: k.mlir:[[@LINE+2]]:1: error: 'tile.kernel' op has no parameter XX
// UNKNOWN: note: its parameters: FMT, BH, SPLIT, WARPS, N
tile.kernel @k params(FMT : format, BH : index, SPLIT : i1 = false, WARPS : index = 1,
                      N : index = FMT.nope) warps(WARPS) () {
  // Both violated requirements, each at its own line.
  // REQUIRE: k.mlir:[[@LINE+1]]:3: error: requirement violated: heads come in sixteens (BH = 24)
  tile.require affine_set<(h) : (h mod 16 == 0)>(BH), "heads come in sixteens"
  // REQUIRE: k.mlir:[[@LINE+1]]:3: error: requirement violated: a split takes 32 heads (BH = 24, SPLIT = 0)
  tile.require affine_set<(h, s) : (s * 32 + 16 - h == 0)>(BH, SPLIT), "a split takes 32 heads"
  tile.return
}

//--- two.mlir
// CHOOSE: error: expected the name of a kernel, one of a, b
// A division by zero is no crash.
// ZERO: error: requirement violated: whole pieces (D = 0)
tile.kernel @a params(D : index) warps(1) () {
  tile.require affine_set<(d) : (d mod 0 == 0)>(D), "whole pieces"
  tile.return
}
tile.kernel @b warps(1) () { tile.return }

//--- none.mlir
// NONE: error: expected a tile.kernel in the module, got none
func.func private @f()

//--- shape.mlir
// What only some values get wrong is reported at its line.
// SHAPE-GOOD: tile.dequant {{.*}} rope : !tile.rows<"glm", [8]> -> tensor<8x64xbf16>
tile.kernel @k params(F : format, R : index = F.rope) warps(1) (%kv: !tile.pool<F>, %o: !tile.view<[M, N], bf16>) {
  %z = arith.constant 0 : index
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %kv[%ids] : !tile.pool<F>, tensor<8xi32> -> !tile.rows<F, [8]>, tensor<8xi1>
  // SHAPE: shape.mlir:[[@LINE+1]]:8: error: 'tile.dequant' op format "dsv4_1" has no rope part
  %d = tile.dequant %r rope : !tile.rows<F, [8]> -> tensor<8x?xbf16, #tile.dims<8, R>>
  tile.store %d, %o[%z, %z] : tensor<8x?xbf16, #tile.dims<8, R>>, !tile.view<[M, N], bf16>
  tile.return
}

//--- other.mlir
// The size of another format's field is accepted until both are bound.
// OTHER-GOOD: tile.dequant {{.*}} nope : !tile.rows<"dsv4", [8]> -> tensor<8x448xbf16>
tile.kernel @k params(F : format, G : format, N : index = G.nope) warps(1) (%kv: !tile.pool<F>, %o: !tile.view<[M, D], bf16>) {
  %z = arith.constant 0 : index
  %ids = tile.iota : tensor<8xi32>
  %r, %ok = tile.gather %kv[%ids] : !tile.pool<F>, tensor<8xi32> -> !tile.rows<F, [8]>, tensor<8xi1>
  // OTHER: other.mlir:[[@LINE+1]]:8: error: 'tile.dequant' op expected the second dimension to be the nope size of "dsv4", 448, got 512
  %d = tile.dequant %r nope : !tile.rows<F, [8]> -> tensor<8x?xbf16, #tile.dims<8, N>>
  tile.store %d, %o[%z, %z] : tensor<8x?xbf16, #tile.dims<8, N>>, !tile.view<[M, D], bf16>
  tile.return
}

//--- call.mlir
func.func private @step()
tile.kernel @k warps(1) () {
  // CALL: call.mlir:[[@LINE+1]]:3: error: 'func.call' op in a kernel: inline the function before (-inline)
  func.call @step() : () -> ()
  tile.return
}
