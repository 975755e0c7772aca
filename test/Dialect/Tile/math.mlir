// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

!q = tensor<?x512xbf16, #tile.dims<BH, 512>>
!k = tensor<?x512xbf16, #tile.dims<BN, 512>>
!kt = tensor<512x?xbf16, #tile.dims<512, BN>>
!s = tensor<?x?xf32, #tile.dims<BH, BN>>
!row = tensor<?xf32, #tile.dims<BH>>

// CHECK-LABEL: func.func @ops
func.func @ops(%q: !q, %k: !k, %c: f32) -> f32 {
  // CHECK: tile.full %{{.*}} : f32 -> !f32_BH_BN
  %z = tile.full %c : f32 -> !s
  // CHECK: tile.iota : !i32_BN
  %i = tile.iota : tensor<?xi32, #tile.dims<BN>>
  // CHECK: tile.transpose %{{.*}} : !bf16_BN_512 -> !bf16_512_BN
  %kt = tile.transpose %k : !k -> !kt
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {warps = array<i64: 1, 4>} : !bf16_BH_512, !bf16_512_BN, !f32_BH_BN
  %s = tile.dot %q, %kt, %z {warps = array<i64: 1, 4>} : !q, !kt, !s
  // CHECK: tile.reduce maximumf %{{.*}} along 1 : !f32_BH_BN -> !f32_BH
  %m = tile.reduce maximumf %s along 1 : !s -> !row
  // CHECK: tile.broadcast %{{.*}} along 1 : !f32_BH -> !f32_BH_BN
  %mm = tile.broadcast %m along 1 : !row -> !s
  // CHECK: arith.subf %{{.*}}, %{{.*}} : !f32_BH_BN
  %d = arith.subf %s, %mm : !s
  // CHECK: tile.reduce addf %{{.*}} along 0 : !f32_BH -> f32
  %t = tile.reduce addf %m along 0 : !row -> f32
  return %t : f32
}

// Blocks along K, then along N.
// CHECK-LABEL: func.func @dot_scaled
func.func @dot_scaled(%q: !q, %k: !k, %kt: !kt, %sc: tensor<?x?xf32, #tile.dims<BN, G>>, %st: tensor<?x?xf32, #tile.dims<G, BN>>,
                      %z: !s, %o: tensor<?x512xf32, #tile.dims<BH, 512>>) {
  // CHECK: %[[S:.*]] = tile.dot_scaled %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {warps = array<i64: 1, 4>} : !bf16_BH_512, !bf16_512_BN, !f32_G_BN, !f32_BH_BN
  %s = tile.dot_scaled %q, %kt, %st, %z {warps = array<i64: 1, 4>} : !q, !kt, tensor<?x?xf32, #tile.dims<G, BN>>, !s
  // CHECK: tile.dot_scaled %[[S]], %{{.*}}, %{{.*}}, %{{.*}} : !f32_BH_BN, !bf16_BN_512, !f32_BN_G, !f32_BH_512
  %p = tile.dot_scaled %s, %k, %sc, %o : !s, !k, tensor<?x?xf32, #tile.dims<BN, G>>, tensor<?x512xf32, #tile.dims<BH, 512>>
  return
}

// CHECK-LABEL: func.func @dot_scaled_sizes
func.func @dot_scaled_sizes(%a: tensor<16x64xf16, "a">, %b: tensor<64x32xf16, "b">, %s: tensor<4x32xf32, "s">, %c: tensor<16x32xf32, "c">,
                            %a32: tensor<16x64xf32, "d">, %t: tensor<64x2xf32>) {
  // CHECK: tile.dot_scaled {{.*}} : tensor<16x64xf16, "a">, tensor<64x32xf16, "b">, tensor<4x32xf32, "s">, tensor<16x32xf32, "c">
  %d = tile.dot_scaled %a, %b, %s, %c : tensor<16x64xf16, "a">, tensor<64x32xf16, "b">, tensor<4x32xf32, "s">, tensor<16x32xf32, "c">
  // CHECK: tile.dot_scaled {{.*}} : tensor<16x64xf32, "d">, tensor<64x32xf16, "b">, tensor<64x2xf32>, tensor<16x32xf32, "c">
  %e = tile.dot_scaled %a32, %b, %t, %c : tensor<16x64xf32, "d">, tensor<64x32xf16, "b">, tensor<64x2xf32>, tensor<16x32xf32, "c">
  return
}

// Scales of b's own type, along N: `a` has it too.
// CHECK-LABEL: func.func @dot_scaled_narrow
func.func @dot_scaled_narrow(%p: tensor<?x?xf16, #tile.dims<BH, BN>>, %k: tensor<?x512xf16, #tile.dims<BN, 512>>,
                             %x: tensor<?x?xf16, #tile.dims<BN, G>>, %o: tensor<?x512xf32, #tile.dims<BH, 512>>,
                             %kt: tensor<64x32xbf16>, %pt: tensor<32x8xbf16>, %xt: tensor<2x32xbf16>, %ot: tensor<64x8xf32>) {
  // CHECK: tile.dot_scaled %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !f16_BH_BN, !f16_BN_512, !f16_BN_G, !f32_BH_512
  %0 = tile.dot_scaled %p, %k, %x, %o
    : tensor<?x?xf16, #tile.dims<BH, BN>>, tensor<?x512xf16, #tile.dims<BN, 512>>, tensor<?x?xf16, #tile.dims<BN, G>>, tensor<?x512xf32, #tile.dims<BH, 512>>
  // CHECK: tile.dot_scaled %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale_a} : tensor<64x32xbf16>, tensor<32x8xbf16>, tensor<2x32xbf16>, tensor<64x8xf32>
  %1 = tile.dot_scaled %kt, %pt, %xt, %ot {scale_a} : tensor<64x32xbf16>, tensor<32x8xbf16>, tensor<2x32xbf16>, tensor<64x8xf32>
  return
}

// The first operand is scaled: blocks along K, then along M.
// CHECK-LABEL: func.func @scale_a
func.func @scale_a(%k: !k, %kt: !kt, %qt: tensor<512x?xbf16, #tile.dims<512, BH>>, %sc: tensor<?x?xf32, #tile.dims<BN, G>>,
                   %st: tensor<?x?xf32, #tile.dims<G, BN>>, %z: tensor<?x?xf32, #tile.dims<BN, BH>>, %o: tensor<512x?xf32, #tile.dims<512, BH>>) {
  // CHECK: %[[S:.*]] = tile.dot_scaled %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale_a} : !bf16_BN_512, !bf16_512_BH, !f32_BN_G, !f32_BN_BH
  %s = tile.dot_scaled %k, %qt, %sc, %z {scale_a}
    : !k, tensor<512x?xbf16, #tile.dims<512, BH>>, tensor<?x?xf32, #tile.dims<BN, G>>, tensor<?x?xf32, #tile.dims<BN, BH>>
  // CHECK: tile.dot_scaled %{{.*}}, %[[S]], %{{.*}}, %{{.*}} {scale_a, warps = array<i64: 2, 2>} : !bf16_512_BN, !f32_BN_BH, !f32_G_BN, !f32_512_BH
  %p = tile.dot_scaled %kt, %s, %st, %o {scale_a, warps = array<i64: 2, 2>}
    : !kt, tensor<?x?xf32, #tile.dims<BN, BH>>, tensor<?x?xf32, #tile.dims<G, BN>>, tensor<512x?xf32, #tile.dims<512, BH>>
  return
}

// CHECK-LABEL: func.func @kinds
func.func @kinds(%f: tensor<4x8xf32>, %i: tensor<4x8xi32>) {
  // CHECK: tile.reduce minimumf %{{.*}} along 0 : tensor<4x8xf32> -> tensor<8xf32>
  %0 = tile.reduce minimumf %f along 0 : tensor<4x8xf32> -> tensor<8xf32>
  // CHECK: tile.reduce addi
  %1 = tile.reduce addi %i along 1 : tensor<4x8xi32> -> tensor<4xi32>
  // CHECK: tile.reduce maxsi
  %2 = tile.reduce maxsi %i along 1 : tensor<4x8xi32> -> tensor<4xi32>
  return
}

// Other encodings may differ between operands and result.
// CHECK-LABEL: func.func @foreign
func.func @foreign(%a: tensor<16x64xbf16, "a">, %b: tensor<64x32xbf16, "b">, %c: tensor<16x32xf32, "c">) {
  // CHECK: tile.dot {{.*}} : tensor<16x64xbf16, "a">, tensor<64x32xbf16, "b">, tensor<16x32xf32, "c">
  %d = tile.dot %a, %b, %c : tensor<16x64xbf16, "a">, tensor<64x32xbf16, "b">, tensor<16x32xf32, "c">
  // CHECK: tile.reduce addf {{.*}} : tensor<16x32xf32, "c"> -> tensor<16xf32, "s">
  %r = tile.reduce addf %d along 1 : tensor<16x32xf32, "c"> -> tensor<16xf32, "s">
  return
}

// Products of f8E4M3FN: scales of powers of two, or of f32; and with an operand
// of f16, which is rounded.
// CHECK-LABEL: func.func @fp8
func.func @fp8(%q: tensor<16x64xf8E4M3FN>, %k: tensor<32x64xf8E4M3FN>, %kt: tensor<64x32xf8E4M3FN>, %s8: tensor<2x32xf8E8M0FNU>,
               %s32: tensor<2x32xf32>, %z: tensor<16x32xf32>, %p: tensor<16x32xf16>, %r: tensor<32x2xf16>, %o: tensor<16x64xf32>) {
  // CHECK: tile.dot {{.*}} : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<16x32xf32>
  %0 = tile.dot %q, %kt, %z : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<16x32xf32>
  // CHECK: tile.dot_scaled {{.*}} : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>, tensor<16x32xf32>
  %1 = tile.dot_scaled %q, %kt, %s8, %z : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>, tensor<16x32xf32>
  // CHECK: tile.dot_scaled {{.*}} : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xf32>, tensor<16x32xf32>
  %2 = tile.dot_scaled %q, %kt, %s32, %z : tensor<16x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<2x32xf32>, tensor<16x32xf32>
  // CHECK: tile.dot_scaled {{.*}} : tensor<16x32xf16>, tensor<32x64xf8E4M3FN>, tensor<32x2xf16>, tensor<16x64xf32>
  %3 = tile.dot_scaled %p, %k, %r, %o : tensor<16x32xf16>, tensor<32x64xf8E4M3FN>, tensor<32x2xf16>, tensor<16x64xf32>
  return
}
