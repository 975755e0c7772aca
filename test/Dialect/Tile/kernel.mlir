// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

!x = tensor<?xbf16, #tile.dims<BH>>

// CHECK-DAG: #[[$BH:.+]] = #tile.dims<BH>
// CHECK-DAG: ![[$X:.+]] = tensor<?xbf16, #[[$BH]]>
// CHECK-DAG: #[[$SET:.+]] = affine_set<(d0, d1) : (d0 mod 16 == 0, d1 - d0 >= 0)>

// CHECK: tile.kernel @copy params(FMT : format, OTHER : format = "glm", BH : index = 16, SPLIT : i1 = false, NOPE : index = FMT.nope, V : i1 = OTHER.rope_in_value) warps(BH)
// CHECK-SAME: (%src: !tile.view<[T, H], bf16>, %dst: !tile.view<[T, 128], bf16>, %kv: !tile.pool<FMT>, %extra: !tile.pool<"dsv4">, %scale: f32, %n: index)
tile.kernel @copy params(FMT : format, OTHER : format = "glm", BH : index = 16, SPLIT : i1 = false,
                         NOPE : index = FMT.nope, V : i1 = OTHER.rope_in_value) warps(BH)
    (%src: !tile.view<[T, H], bf16>, %dst: !tile.view<[T, 128], bf16>, %kv: !tile.pool<FMT>,
     %extra: !tile.pool<"dsv4">, %scale: f32, %n: index) {
  // CHECK: tile.require #[[$SET]](BH, NOPE), "heads come in sixteens"
  tile.require affine_set<(h, n) : (h mod 16 == 0, n - h >= 0)>(BH, NOPE), "heads come in sixteens"
  // CHECK: %[[T:.+]] = tile.program_id 2 : index
  %t = tile.program_id 2 : index
  // CHECK: tile.num_programs 2 : index
  %programs = tile.num_programs 2 : index
  // CHECK: %[[H:.+]] = tile.dim %src, 1 : !tile.view<[T, H], bf16>
  %h = tile.dim %src, 1 : !tile.view<[T, H], bf16>
  // CHECK: tile.slots %kv : !tile.pool<FMT>
  %slots = tile.slots %kv : !tile.pool<FMT>
  // CHECK: tile.param BH : index
  %bh = tile.param BH : index
  // CHECK: tile.param SPLIT : i1
  %split = tile.param SPLIT : i1
  // CHECK: tile.load %src[%[[T]], %[[H]]] : !tile.view<[T, H], bf16> -> ![[$X]]
  %x = tile.load %src[%t, %h] : !tile.view<[T, H], bf16> -> !x
  tile.store %x, %dst[%t, %h] : !x, !tile.view<[T, 128], bf16>
  // CHECK: scf.for
  scf.for %i = %h to %n step %bh {
    // CHECK: } {tile.pipeline = #tile.pipeline<stages = 2>}
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  // CHECK: tile.return
  tile.return
}

// Argument attributes, `tile.bound` and no parameters.
// CHECK: tile.kernel @bound warps(4)(%x: !tile.view<[N], f32>) attributes {tile.bound = {BH = 16 : index}} {
tile.kernel @bound warps(4) (%x: !tile.view<[N], f32>) attributes {tile.bound = {BH = 16 : index}} {
  tile.return
}

// Steps that kernels share are functions.
// CHECK: func.func @step(%{{.*}}: ![[$X]]) -> ![[$X]]
func.func @step(%x: !x) -> !x {
  return %x : !x
}
