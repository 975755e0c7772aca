// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

// CHECK-DAG: #[[$N:.+]] = #tile.dims<BH, 512>
// CHECK-DAG: ![[$T:.+]] = tensor<?x512xbf16, #[[$N]]>
// CHECK: func.func private @tile(![[$T]])
func.func private @tile(tensor<?x512xbf16, #tile.dims<BH, 512>>)
// CHECK: func.func private @view(!tile.view<[B, T, 512], f8E4M3FN>)
func.func private @view(!tile.view<[B, T, 512], f8E4M3FN>)
// CHECK: func.func private @pool(!tile.pool<FMT>, !tile.pool<"dsv4_nvfp4">)
func.func private @pool(!tile.pool<FMT>, !tile.pool<"dsv4_nvfp4">)
// CHECK: func.func private @rows(!tile.rows<FMT, [BN]>, !tile.rows<"glm", [64]>)
func.func private @rows(!tile.rows<FMT, [BN]>, !tile.rows<"glm", [64]>)

// CHECK: func.func private @attributes() attributes {
// CHECK-SAME: a = #tile.parameter<A : index = 16>, b = #tile.parameter<B : i1 = true>,
// CHECK-SAME: c = #tile.parameter<C : format = "dsv4">, d = #tile.parameter<D : index = C.groups>,
// CHECK-SAME: e = #tile.parameter<E : format>, f = #tile.pipeline<stages = 3>,
// CHECK-SAME: g = #tile.parameter<G : roles = "4c+4+8">, h = #tile.parameter<H : i1 = G.converts>}
func.func private @attributes() attributes {
  a = #tile.parameter<A : index = 16>, b = #tile.parameter<B : i1 = true>,
  c = #tile.parameter<C : format = "dsv4">, d = #tile.parameter<D : index = C.groups>,
  e = #tile.parameter<E : format>, f = #tile.pipeline<stages = 3>,
  g = #tile.parameter<G : roles = "4c+4+8">, h = #tile.parameter<H : i1 = G.converts>}
