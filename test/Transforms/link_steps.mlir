// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: rm -rf %t && split-file --leading-lines %s %t && mkdir -p %t/path && cp -r %t/second %t/path/steps
// RUN: mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/first" | FileCheck %s
// RUN: env MLATILE_KERNEL_PATH=%t/none:%t/path mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/first" | FileCheck %s
// RUN: env MLATILE_KERNEL_PATH=%t/path mlatile-opt %t/k.mlir -tile-link-steps | FileCheck %s --check-prefix=PATH
// RUN: mlatile-opt %t/built_in.mlir -tile-link-steps | FileCheck %s --check-prefix=BUILT-IN
// RUN: mlatile-opt %t/built_in.mlir -tile-link-steps="steps=%t/override" | FileCheck %s --check-prefix=OVERRIDE

// RUN: not mlatile-opt %t/k.mlir -tile-link-steps 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/gone" 2>&1 | FileCheck %s --check-prefix=GONE
// RUN: not mlatile-opt %t/type.mlir -tile-link-steps="steps=%t/first" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/twice" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/public" 2>&1 | FileCheck %s --check-prefix=PUBLIC
// RUN: not mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/kernel" 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not mlatile-opt %t/k.mlir -tile-link-steps="steps=%t/syntax" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not mlatile-opt %t/clash.mlir -tile-link-steps="steps=%t/first" 2>&1 | FileCheck %s --check-prefix=CLASH
// RUN: not mlatile-opt %t/name.mlir -tile-link-steps="steps=%t/first" 2>&1 | FileCheck %s --check-prefix=NAME

//--- k.mlir
// The definition stands where the declaration stood; what it calls follows: from
// its own file, or from any file if that one declares it too. The file broken.mlir
// is not read.
// CHECK: func.func private @twice(%{{.*}}: !f32_N) -> !f32_N {
// CHECK: call @add
// CHECK: func.func private @defined
// CHECK: tile.kernel @k
// CHECK: func.func private @add(
// CHECK: tile.call @zero
// CHECK: func.func private @zero() -> f32 {
// CHECK-NOT: @more
// PATH: func.func private @twice
// PATH-NEXT: arith.mulf
// NONE: k.mlir:[[@LINE+2]]:1: error: expected a definition of step @twice in a file of steps, got none in the built-in steps ({{.*}}finish.mlir{{.*}})
// GONE: error: '{{.*}}gone': No such file or directory
func.func private @twice(tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>
func.func private @defined() {
  return
}
tile.kernel @k params(N : index) warps(1) () {
  %f = arith.constant 0.0 : f32
  %x = tile.full %f : f32 -> tensor<?xf32, #tile.dims<N>>
  %y = func.call @twice(%x) : (tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>
  tile.return
}

//--- type.mlir
// TYPE: type.mlir:[[@LINE+1]]:1: error: expected step @twice to have the same type everywhere, '(tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>' in its file, got '(tensor<?xf32, #tile.dims<M>>) -> tensor<?xf32, #tile.dims<M>>'
func.func private @twice(tensor<?xf32, #tile.dims<M>>) -> tensor<?xf32, #tile.dims<M>>

//--- clash.mlir
func.func private @twice(tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>
// CLASH: clash.mlir:[[@LINE+1]]:1: error: step @twice calls @add of its own file; expected no other function of that name
func.func private @add(%x: tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>> {
  return %x : tensor<?xf32, #tile.dims<N>>
}

//--- name.mlir
// A name of the step that the kernel lacks, once the step is there.
func.func private @missing()
tile.kernel @k params(N : index) warps(1) () {
  tile.call @missing() bind(M = N) : () -> ()
  // NAME: name.mlir:[[@LINE+1]]:3: error: 'tile.call' op in step @missing: parameter M is not a parameter of kernel @k
  tile.call @missing() : () -> ()
  tile.return
}

//--- first/a.mlir
// TYPE: a.mlir:[[@LINE+1]]:1: note: defined here
func.func private @twice(%x: tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>> {
  %y = func.call @add(%x) : (tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>>
  return %y : tensor<?xf32, #tile.dims<N>>
}
// CLASH: a.mlir:[[@LINE+1]]:1: note: that one is defined here
func.func private @add(%x: tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>> {
  %y = arith.addf %x, %x : tensor<?xf32, #tile.dims<N>>
  %z = tile.call @zero() : () -> f32
  return %y : tensor<?xf32, #tile.dims<N>>
}
func.func private @zero() -> f32
func.func private @more()

//--- first/b.mlir
func.func private @zero() -> f32 {
  %f = arith.constant 0.0 : f32
  return %f : f32
}
// NAME: b.mlir:[[@LINE+2]]:8: note: used here
func.func private @missing() {
  %n = tile.param M : index
  return
}

//--- first/broken.mlir
no mlir

//--- second/a.mlir
func.func private @twice(%x: tensor<?xf32, #tile.dims<N>>) -> tensor<?xf32, #tile.dims<N>> {
  %y = arith.mulf %x, %x : tensor<?xf32, #tile.dims<N>>
  return %y : tensor<?xf32, #tile.dims<N>>
}

//--- built_in.mlir
// BUILT-IN: func.func private @finish(%{{.*}}: !f32_BH, %{{.*}}: !f32_BH, %{{.*}}: !f32_BH) -> (!f32_BH, !f32_BH) {
// OVERRIDE: func.func private @finish(%[[A:.*]]: !f32_BH, %{{.*}}: !f32_BH, %{{.*}}: !f32_BH) -> (!f32_BH, !f32_BH) {
// OVERRIDE-NEXT: return %[[A]], %[[A]]
!row = tensor<?xf32, #tile.dims<BH>>
func.func private @finish(!row, !row, !row) -> (!row, !row)

//--- override/any_name.mlir
!row = tensor<?xf32, #tile.dims<BH>>
func.func private @finish(%a : !row, %b : !row, %c : !row) -> (!row, !row) {
  return %a, %a : !row, !row
}

//--- twice/b.mlir
// TWICE: b.mlir:[[@LINE+1]]:1: error: step @twice is defined in two files
func.func private @twice() {
  return
}

//--- twice/a.mlir
// TWICE: a.mlir:[[@LINE+1]]:1: note: the other one
func.func private @twice() {
  return
}

//--- public/a.mlir
// PUBLIC: a.mlir:[[@LINE+1]]:1: error: expected private functions in a file of steps, got @twice
func.func @twice() {
  return
}

//--- kernel/a.mlir
func.func private @twice() {
  return
}
// KERNEL: a.mlir:[[@LINE+1]]:1: error: expected private functions in a file of steps, got tile.kernel
tile.kernel @k warps(1) () { tile.return }

//--- syntax/a.mlir
// SYNTAX: a.mlir:[[@LINE+1]]:27: error: expected operation name in quotes
func.func private @twice() =
