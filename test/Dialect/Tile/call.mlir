// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

func.func private @declared(tensor<?xf32, #tile.dims<BH>>)
func.func private @use(%kv: !tile.pool<FMT>, %x: tensor<?xf32, #tile.dims<BH>>) -> index {
  %on = tile.param ON : i1
  %n = tile.slots %kv : !tile.pool<FMT>
  // A step that calls a step: its names come from its own caller.
  // CHECK: tile.call @declared(%{{.*}}) : (!f32_BH) -> ()
  tile.call @declared(%x) : (tensor<?xf32, #tile.dims<BH>>) -> ()
  return %n : index
}

tile.kernel @k params(FMT : format, EXTRA : format, BH : index, ON : i1, OFF : i1) warps(1)
    (%kv: !tile.pool<FMT>, %extra: !tile.pool<EXTRA>, %one: !tile.pool<"glm">) {
  %x = tile.iota : tensor<?xi32, #tile.dims<BH>>
  %f = arith.sitofp %x : tensor<?xi32, #tile.dims<BH>> to tensor<?xf32, #tile.dims<BH>>
  %y = tile.iota : tensor<16xi32>
  %g = arith.sitofp %y : tensor<16xi32> to tensor<16xf32>
  // CHECK: tile.call @use(%kv, %{{.*}}) : (!tile.pool<FMT>, !f32_BH) -> index
  %0 = tile.call @use(%kv, %f) : (!tile.pool<FMT>, tensor<?xf32, #tile.dims<BH>>) -> index
  // CHECK: tile.call @use(%extra, %{{.*}}) bind(FMT = EXTRA, ON = OFF) : (!tile.pool<EXTRA>, !f32_BH) -> index
  %1 = tile.call @use(%extra, %f) bind(FMT = EXTRA, ON = OFF) : (!tile.pool<EXTRA>, tensor<?xf32, #tile.dims<BH>>) -> index
  // CHECK: tile.call @use(%one, %{{.*}}) bind(FMT = "glm", BH = 16, ON = true) {note} : (!tile.pool<"glm">, tensor<16xf32>) -> index
  %2 = tile.call @use(%one, %g) bind(FMT = "glm", BH = 16, ON = true) {note} : (!tile.pool<"glm">, tensor<16xf32>) -> index
  tile.return
}

// CHECK: func.func private @alone() attributes {b = [#tile.binding<A = B>, #tile.binding<A = 0>, #tile.binding<A = false>, #tile.binding<A = "dsv4">]}
func.func private @alone() attributes {b = [#tile.binding<A = B>, #tile.binding<A = 0>, #tile.binding<A = false>, #tile.binding<A = "dsv4">]}
