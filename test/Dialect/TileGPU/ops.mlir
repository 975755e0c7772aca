// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text, generic text and bytecode round trips of every operation.
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

// CHECK: #[[$ACC:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [8, 0]], lane = {{.*}}, warp = {{\[\[}}0, 8], [0, 16]], reps = [1, 2]>
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                       warp = [[0, 8], [0, 16]], reps = [1, 2]>
#opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                       warp = [[0, 0], [0, 0]], reps = [1, 4]>
#part = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
                        warp = [[0, 1], [0, 2]], reps = [1, 1]>
#ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [[16], [32]], reps = [1]>
#rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                        warp = [[4, 0], [8, 0]], reps = [1, 1]>
#cols = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
                        warp = [[0, 0], [0, 0]], reps = [1, 1]>
#one = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0], [0]], reps = [1]>
#planes = #tilegpu.layout<reg = [], lane = [[0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 1, 0], [0, 2, 0]],
                          warp = [[1, 0, 0], [0, 0, 0]], reps = [1, 1, 1]>

// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[I:.*]]: i32, %[[T:.*]]: tensor<16x64xbf16, #{{.*}}>
func.func @shared(%i: i32, %t: tensor<16x64xbf16, #rows>) -> tensor<16x64xbf16, #rows> {
  // CHECK: %[[RING:.*]] = tilegpu.alloc "ring" {offset = 0 : i64} : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>>
  %ring = tilegpu.alloc "ring" {offset = 0 : i64} : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>>
  // CHECK: %[[STAGE:.*]] = tilegpu.stage %[[RING]][%[[I]]] : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>> -> !tilegpu.buffer<16x160xi8, stride = 176>
  %stage = tilegpu.stage %ring[%i] : !tilegpu.ring<2, !tilegpu.buffer<16x160xi8, stride = 176>> -> !tilegpu.buffer<16x160xi8, stride = 176>
  // CHECK: %[[VIEW:.*]] = tilegpu.view %[[STAGE]] + 32 : !tilegpu.buffer<16x160xi8, stride = 176> -> !tilegpu.buffer<16x64xbf16, stride = 176>
  %view = tilegpu.view %stage + 32 : !tilegpu.buffer<16x160xi8, stride = 176> -> !tilegpu.buffer<16x64xbf16, stride = 176>
  // CHECK: tilegpu.store_shared %[[T]], %[[VIEW]] : tensor<16x64xbf16, #{{.*}}>, !tilegpu.buffer<16x64xbf16, stride = 176>
  tilegpu.store_shared %t, %view : tensor<16x64xbf16, #rows>, !tilegpu.buffer<16x64xbf16, stride = 176>
  // CHECK: tilegpu.sync cta
  tilegpu.sync cta
  // CHECK: tilegpu.sync cta {proxy_fence}
  tilegpu.sync cta {proxy_fence}
  // CHECK: tilegpu.sync warp
  tilegpu.sync warp
  // CHECK: tilegpu.cluster_arrive
  tilegpu.cluster_arrive
  // CHECK: tilegpu.cluster_wait
  tilegpu.cluster_wait
  // CHECK: tilegpu.load_peer %[[VIEW]] of %[[AT:.+]][%[[AT]], %[[AT]]] : !tilegpu.buffer<16x64xbf16, stride = 176> -> tensor<16x64xbf16, #{{.*}}>
  %at = arith.constant 0 : index
  %peer = tilegpu.load_peer %view of %at[%at, %at] : !tilegpu.buffer<16x64xbf16, stride = 176> -> tensor<16x64xbf16, #rows>
  // CHECK: tilegpu.load_shared %[[VIEW]] : !tilegpu.buffer<16x64xbf16, stride = 176> -> tensor<16x64xbf16, #{{.*}}>
  %u = tilegpu.load_shared %view : !tilegpu.buffer<16x64xbf16, stride = 176> -> tensor<16x64xbf16, #rows>
  // A tight stride and the only row of a buffer are not printed.
  // CHECK: tilegpu.alloc "tight" : !tilegpu.buffer<4x8xf32>
  %tight = tilegpu.alloc "tight" : !tilegpu.buffer<4x8xf32, stride = 32>
  // CHECK: tilegpu.alloc "row" : !tilegpu.buffer<64xi32>
  %row = tilegpu.alloc "row" : !tilegpu.buffer<64xi32>
  // Planes of rows, tight and not.
  // CHECK: tilegpu.alloc "planes" : !tilegpu.buffer<2x4x8xf32>
  %planes = tilegpu.alloc "planes" : !tilegpu.buffer<2x4x8xf32, stride = 32>
  // CHECK: %[[PADDED:.*]] = tilegpu.alloc "padded" : !tilegpu.ring<3, !tilegpu.buffer<2x4x8xf32, stride = 48>>
  %padded = tilegpu.alloc "padded" : !tilegpu.ring<3, !tilegpu.buffer<2x4x8xf32, stride = 48>>
  // CHECK: %[[PLANES:.*]] = tilegpu.stage %[[PADDED]]
  %one = tilegpu.stage %padded[%i] : !tilegpu.ring<3, !tilegpu.buffer<2x4x8xf32, stride = 48>> -> !tilegpu.buffer<2x4x8xf32, stride = 48>
  // CHECK: %[[LOADED:.*]] = tilegpu.load_shared %[[PLANES]] : !tilegpu.buffer<2x4x8xf32, stride = 48> -> tensor<2x4x8xf32, #{{.*}}>
  %v = tilegpu.load_shared %one : !tilegpu.buffer<2x4x8xf32, stride = 48> -> tensor<2x4x8xf32, #planes>
  // CHECK: tilegpu.store_shared %[[LOADED]], %[[PLANES]] : tensor<2x4x8xf32, #{{.*}}>, !tilegpu.buffer<2x4x8xf32, stride = 48>
  tilegpu.store_shared %v, %one : tensor<2x4x8xf32, #planes>, !tilegpu.buffer<2x4x8xf32, stride = 48>
  return %u : tensor<16x64xbf16, #rows>
}

// CHECK-LABEL: func.func @async
func.func @async(%pool: !tile.pool<"dsv4">, %ids: tensor<64xi32, #ids>, %i: i32, %parity: i32) {
  %rows = tilegpu.alloc "rows" : !tilegpu.buffer<64x576xi8, stride = 592>
  %scales = tilegpu.alloc "scales" : !tilegpu.buffer<64x8xi8>
  %slots = tilegpu.alloc "slots" : !tilegpu.buffer<64xi32>
  // CHECK: %[[FULL:.*]] = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  %full = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_init %[[FULL]] {count = 256 : i32} : !tilegpu.mbarriers<2>
  tilegpu.mbarrier_init %full {count = 256 : i32} : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.gather_async %{{.*}}[%{{.*}}] into %{{.*}}, %{{.*}}, %{{.*}} signal %[[FULL]][%{{.*}}]
  // CHECK-SAME: : !tile.pool<"dsv4">, tensor<64xi32, #{{.*}}>, !tilegpu.buffer<64x576xi8, stride = 592>, !tilegpu.buffer<64x8xi8>, !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<2>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
    : !tile.pool<"dsv4">, tensor<64xi32, #ids>, !tilegpu.buffer<64x576xi8, stride = 592>, !tilegpu.buffer<64x8xi8>,
      !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<2>
  // CHECK: tilegpu.gather_async %{{.*}} signal %[[FULL]][%{{.*}}] {bulk} : !tile.pool<"dsv4">
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i] {bulk}
    : !tile.pool<"dsv4">, tensor<64xi32, #ids>, !tilegpu.buffer<64x576xi8, stride = 592>, !tilegpu.buffer<64x8xi8>,
      !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_arrive %[[FULL]][%{{.*}}] : !tilegpu.mbarriers<2>
  tilegpu.mbarrier_arrive %full[%i] : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.mbarrier_wait %[[FULL]][%{{.*}}], %{{.*}} : !tilegpu.mbarriers<2>
  tilegpu.mbarrier_wait %full[%i], %parity : !tilegpu.mbarriers<2>
  %nope = tilegpu.view %rows + 0 : !tilegpu.buffer<64x576xi8, stride = 592> -> !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>
  %keys = tilegpu.alloc "keys" : !tilegpu.buffer<64x448xbf16, stride = 912>
  // CHECK: tilegpu.dequant "dsv4" %{{.*}}, %{{.*}} -> %{{.*}} : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x8xi8> -> !tilegpu.buffer<64x448xbf16, stride = 912>
  tilegpu.dequant "dsv4" %nope, %scales -> %keys
    : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x8xi8> -> !tilegpu.buffer<64x448xbf16, stride = 912>
  // CHECK: tilegpu.dequant "dsv4" %{{.*}}, %{{.*}} -> %{{.*}} {unscaled} :
  tilegpu.dequant "dsv4" %nope, %scales -> %keys {unscaled}
    : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x8xi8> -> !tilegpu.buffer<64x448xbf16, stride = 912>
  %factors = tilegpu.alloc "factors" : !tilegpu.buffer<64x7xbf16, stride = 16>
  // CHECK: tilegpu.dequant "dsv4" %{{.*}}, %{{.*}} -> %{{.*}} : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x7xbf16, stride = 16> ->
  tilegpu.dequant "dsv4" %nope, %factors -> %keys
    : !tilegpu.buffer<64x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<64x7xbf16, stride = 16> -> !tilegpu.buffer<64x448xbf16, stride = 912>
  return
}

// CHECK-LABEL: func.func @copy
// CHECK-SAME: %[[V:.*]]: !tile.view<[T, H, D], bf16>, %[[T:.*]]: index, %[[H:.*]]: index, %[[C:.*]]: index, %[[I:.*]]: i32
func.func @copy(%v: !tile.view<[T, H, D], bf16>, %t: index, %h: index, %c: index, %i: i32) {
  // CHECK: %[[B:.*]] = tilegpu.alloc "tile"
  %b = tilegpu.alloc "tile" : !tilegpu.buffer<16x64xbf16, stride = 144>
  // CHECK: %[[FULL:.*]] = tilegpu.alloc "full"
  %full = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.copy_async %[[V]][%[[T]], %[[H]], %[[C]]] into %[[B]] signal %[[FULL]][%[[I]]] by #{{[a-z0-9]+}}
  // CHECK-SAME: : !tile.view<[T, H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  tilegpu.copy_async %v[%t, %h, %c] into %b signal %full[%i] by #rows
    : !tile.view<[T, H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  // CHECK: tilegpu.copy_async {{.*}} {why} : !tile.view
  tilegpu.copy_async %v[%t, %h, %c] into %b signal %full[%i] by #rows {why}
    : !tile.view<[T, H, D], bf16>, !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.mbarriers<2>
  return
}

// CHECK-LABEL: func.func @inline_scales
func.func @inline_scales(%pool: !tile.pool<"glm">, %ids: tensor<64xi32, #ids>, %i: i32, %bars: !tilegpu.mbarriers<1>) {
  %rows = tilegpu.alloc "rows" : !tilegpu.buffer<64x656xi8, stride = 656>
  %scales = tilegpu.view %rows + 512 : !tilegpu.buffer<64x656xi8> -> !tilegpu.buffer<64x4xf32, stride = 656>
  %slots = tilegpu.alloc "slots" : !tilegpu.buffer<64xi32>
  // CHECK: tilegpu.gather_async {{.*}} : !tile.pool<"glm">, {{.*}}, !tilegpu.buffer<64x656xi8>, !tilegpu.buffer<64x4xf32, stride = 656>
  tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %bars[%i]
    : !tile.pool<"glm">, tensor<64xi32, #ids>, !tilegpu.buffer<64x656xi8>, !tilegpu.buffer<64x4xf32, stride = 656>,
      !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<1>
  return
}

// CHECK-LABEL: func.func @compute
func.func @compute(%p: tensor<16x64xbf16, #opA>, %q: !tilegpu.buffer<16x64xbf16, stride = 144>,
                   %kv: !tilegpu.buffer<64x64xbf16, stride = 144>, %c: tensor<16x64xf32, #acc>)
    -> (tensor<16x64xf32, #acc>, tensor<16x4xf32, #part>, tensor<16xf32, #one>) {
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} {b_transposed} : !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.buffer<64x64xbf16, stride = 144>, tensor<16x64xf32, #[[$ACC]]>
  %s = tilegpu.dot %q, %kv, %c {b_transposed}
    : !tilegpu.buffer<16x64xbf16, stride = 144>, !tilegpu.buffer<64x64xbf16, stride = 144>, tensor<16x64xf32, #acc>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x64xbf16, #{{.*}}>, !tilegpu.buffer<64x64xbf16, stride = 144>, tensor<16x64xf32, #[[$ACC]]>
  %o = tilegpu.dot %p, %kv, %s
    : tensor<16x64xbf16, #opA>, !tilegpu.buffer<64x64xbf16, stride = 144>, tensor<16x64xf32, #acc>
  // CHECK: tilegpu.reduce_warp maximumf %{{.*}} along 1 : tensor<16x64xf32, #[[$ACC]]> -> tensor<16x4xf32, #{{.*}}>
  %m = tilegpu.reduce_warp maximumf %s along 1 : tensor<16x64xf32, #acc> -> tensor<16x4xf32, #part>
  %m1 = arith.constant dense<0.0> : tensor<16x1xf32, #cols>
  // CHECK: tilegpu.reduce_warp addf %{{.*}} along 1 : tensor<16x1xf32, #{{.*}}> -> tensor<16xf32, #{{.*}}>
  %l = tilegpu.reduce_warp addf %m1 along 1 : tensor<16x1xf32, #cols> -> tensor<16xf32, #one>
  %h = arith.truncf %o : tensor<16x64xf32, #acc> to tensor<16x64xbf16, #acc>
  // CHECK: tilegpu.convert_layout %{{.*}} : tensor<16x64xbf16, #[[$ACC]]> -> tensor<16x64xbf16, #{{.*}}>
  %a = tilegpu.convert_layout %h : tensor<16x64xbf16, #acc> -> tensor<16x64xbf16, #opA>
  return %o, %m, %l : tensor<16x64xf32, #acc>, tensor<16x4xf32, #part>, tensor<16xf32, #one>
}

// A block of columns, and the column of a block of scales.
#half = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                        warp = [[0, 8], [0, 16]], reps = [1, 1]>
#scales = #tilegpu.layout<reg = [[0, 1], [0, 2], [8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
                          warp = [[0, 0], [0, 0]], reps = [1, 1]>
// CHECK-LABEL: func.func @slices
func.func @slices(%c: tensor<16x64xf32, #acc>, %s: tensor<16x4xf32, #scales>)
    -> (tensor<16x64xf32, #acc>, tensor<16x1xf32, #cols>) {
  // CHECK: %[[H:.*]] = tilegpu.extract_slice %[[C:.*]][0, 32] : tensor<16x64xf32, #[[$ACC]]> -> tensor<16x32xf32, #{{.*}}>
  %h = tilegpu.extract_slice %c[0, 32] : tensor<16x64xf32, #acc> -> tensor<16x32xf32, #half>
  // CHECK: tilegpu.insert_slice %[[H]] into %[[C]][0, 0] : tensor<16x32xf32, #{{.*}}> into tensor<16x64xf32, #[[$ACC]]>
  %d = tilegpu.insert_slice %h into %c[0, 0] : tensor<16x32xf32, #half> into tensor<16x64xf32, #acc>
  // CHECK: tilegpu.extract_slice %{{.*}}[0, 3] : tensor<16x4xf32, #{{.*}}> -> tensor<16x1xf32, #{{.*}}>
  %x = tilegpu.extract_slice %s[0, 3] : tensor<16x4xf32, #scales> -> tensor<16x1xf32, #cols>
  return %d, %x : tensor<16x64xf32, #acc>, tensor<16x1xf32, #cols>
}

// Operands of 8 and 4 bits, with and without scales, and what stands for them
// before: their order is that of the packed columns of c, or of a along K.
#packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
                          warp = [[0, 16], [0, 32]], reps = [1, 1]>
#opB4 = #tilegpu.layout<reg = [[1, 0], [2, 0], [4, 0]], lane = [[8, 0], [16, 0], [0, 1], [0, 2], [0, 4]],
                        warp = [[0, 8], [0, 16]], reps = [2, 2]>
// CHECK-LABEL: func.func @quantised
func.func @quantised(%p: tensor<16x64xbf16, #opA>, %k8: !tilegpu.buffer<64x64xf8E4M3FN>, %s8: !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>,
                     %q4: !tilegpu.buffer<16x64xf4E2M1FN>, %s4: !tilegpu.buffer<16x4xf8E4M3FN>, %b: tensor<64x64xf16, #opB4>,
                     %c: tensor<16x64xf32, #acc>, %o: tensor<16x64xf32, #packed>) -> (tensor<16x64xf32, #acc>, tensor<16x64xf32, #packed>) {
  // CHECK: tilegpu.dot %{{.*}} scaled by %{{.*}}, %{{.*}}, %{{.*}} : !tilegpu.buffer<16x64xf4E2M1FN> by !tilegpu.buffer<16x4xf8E4M3FN>, tensor<64x64xf16, #{{.*}}>, tensor<16x64xf32, #[[$ACC]]>
  %0 = tilegpu.dot %q4 scaled by %s4, %b, %c
    : !tilegpu.buffer<16x64xf4E2M1FN> by !tilegpu.buffer<16x4xf8E4M3FN>, tensor<64x64xf16, #opB4>, tensor<16x64xf32, #acc>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}} scaled by %{{.*}}, %{{.*}} : tensor<16x64xbf16, #{{.*}}>, !tilegpu.buffer<64x64xf8E4M3FN> by !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>, tensor<16x64xf32, #{{.*}}>
  %1 = tilegpu.dot %p, %k8 scaled by %s8, %o
    : tensor<16x64xbf16, #opA>, !tilegpu.buffer<64x64xf8E4M3FN> by !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>, tensor<16x64xf32, #packed>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x64xbf16, #{{.*}}>, !tilegpu.buffer<64x64xf8E4M3FN>, tensor<16x64xf32, #{{.*}}>
  %2 = tilegpu.dot %p, %k8, %1 : tensor<16x64xbf16, #opA>, !tilegpu.buffer<64x64xf8E4M3FN>, tensor<16x64xf32, #packed>
  // CHECK: tilegpu.load_quantised %{{.*}} by %{{.*}} : !tilegpu.buffer<16x64xf4E2M1FN> by !tilegpu.buffer<16x4xf8E4M3FN> -> tensor<16x64xbf16, #{{.*}}>
  %3 = tilegpu.load_quantised %q4 by %s4 : !tilegpu.buffer<16x64xf4E2M1FN> by !tilegpu.buffer<16x4xf8E4M3FN> -> tensor<16x64xbf16, #rows>
  // CHECK: tilegpu.load_quantised %{{.*}} : !tilegpu.buffer<64x64xf8E4M3FN> -> tensor<64x64xf16, #{{.*}}>
  %4 = tilegpu.load_quantised %k8 : !tilegpu.buffer<64x64xf8E4M3FN> -> tensor<64x64xf16, #opB4>
  return %0, %2 : tensor<16x64xf32, #acc>, tensor<16x64xf32, #packed>
}

// Columns in the order of a quantised partner, and a buffer of them; factors of
// the first and of the second operand.
#rowsPacked = #tilegpu.layout<reg = [[0, 1], [0, 8], [0, 2]], lane = [[0, 4], [0, 16], [0, 32], [1, 0], [2, 0]],
                              warp = [[4, 0], [8, 0]], reps = [1, 1]>
#accM = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                        warp = [[16, 0], [32, 0]], reps = [1, 2]>
// CHECK-LABEL: func.func @packed
func.func @packed(%t: tensor<16x64xf16, #rows>, %q: !tilegpu.buffer<16x64xf16, stride = 144>,
                  %k8: !tilegpu.buffer<64x64xf8E4M3FN>, %c: tensor<16x64xf32, #acc>, %d: tensor<64x16xf32, #accM>) {
  // CHECK: tilegpu.pack_columns %{{.*}} {pack = 1 : i64} : tensor<16x64xf16, #{{.*}}> -> tensor<16x64xf16, #{{.*}}>
  %p = tilegpu.pack_columns %t {pack = 1 : i64} : tensor<16x64xf16, #rows> -> tensor<16x64xf16, #rowsPacked>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} {a_packed, b_transposed} : !tilegpu.buffer<16x64xf16, stride = 144>, !tilegpu.buffer<64x64xf8E4M3FN>,
  %s = tilegpu.dot %q, %k8, %c {a_packed, b_transposed}
    : !tilegpu.buffer<16x64xf16, stride = 144>, !tilegpu.buffer<64x64xf8E4M3FN>, tensor<16x64xf32, #acc>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}}, %{{.*}} {b_packed, b_transposed} : !tilegpu.buffer<64x64xf8E4M3FN>, !tilegpu.buffer<16x64xf16, stride = 144>,
  %u = tilegpu.dot %k8, %q, %d {b_packed, b_transposed}
    : !tilegpu.buffer<64x64xf8E4M3FN>, !tilegpu.buffer<16x64xf16, stride = 144>, tensor<64x16xf32, #accM>
  return
}

// CHECK-LABEL: func.func @factors
func.func @factors(%p: !tilegpu.buffer<16x64xf16, stride = 144>, %k8: !tilegpu.buffer<64x64xf8E4M3FN>,
                   %s8: !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>, %x: !tilegpu.buffer<2x64xf16, stride = 144>,
                   %k: !tilegpu.buffer<64x64xf16, stride = 144>, %o: tensor<16x64xf32, #packed>, %d: tensor<64x16xf32, #accM>) {
  // CHECK: tilegpu.dot %{{.*}} times %{{.*}}, %{{.*}}, %{{.*}} : !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<2x64xf16, stride = 144>, !tilegpu.buffer<64x64xf8E4M3FN>, tensor<16x64xf32, #{{.*}}>
  %0 = tilegpu.dot %p times %x, %k8, %o
    : !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<2x64xf16, stride = 144>, !tilegpu.buffer<64x64xf8E4M3FN>, tensor<16x64xf32, #packed>
  // CHECK: tilegpu.dot %{{.*}} times %{{.*}}, %{{.*}} scaled by %{{.*}}, %{{.*}} : {{.*}} times !tilegpu.buffer<2x64xf16, stride = 144>, !tilegpu.buffer<64x64xf8E4M3FN> by !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>, tensor<16x64xf32, #{{.*}}>
  %1 = tilegpu.dot %p times %x, %k8 scaled by %s8, %o
    : !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<2x64xf16, stride = 144>,
      !tilegpu.buffer<64x64xf8E4M3FN> by !tilegpu.buffer<64x1xf8E8M0FNU, stride = 8>, tensor<16x64xf32, #packed>
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}} times %{{.*}}, %{{.*}} {b_transposed} : !tilegpu.buffer<64x64xf16, stride = 144>, !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<2x64xf16, stride = 144>, tensor<64x16xf32, #{{.*}}>
  %2 = tilegpu.dot %k, %p times %x, %d {b_transposed}
    : !tilegpu.buffer<64x64xf16, stride = 144>, !tilegpu.buffer<16x64xf16, stride = 144> times !tilegpu.buffer<2x64xf16, stride = 144>,
      tensor<64x16xf32, #accM>
  return
}

#acc8 = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]>
#acc8packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 4]>
// CHECK-LABEL: func.func @fp8
func.func @fp8(%q: !tilegpu.buffer<16x64xf8E4M3FN>, %k: !tilegpu.buffer<8x64xf8E4M3FN>, %s: !tilegpu.buffer<8x2xf8E8M0FNU, stride = 4>,
               %c: tensor<16x8xf32, #acc8>, %p: !tilegpu.buffer<16x32xf16>, %v: !tilegpu.buffer<32x64xf8E4M3FN>,
               %x: !tilegpu.buffer<2x32xf16>, %o: tensor<16x64xf32, #acc8packed>) {
  // CHECK: tilegpu.dot %{{.*}}, %{{.*}} scaled by %{{.*}}, %{{.*}} {b_transposed} : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<8x64xf8E4M3FN> by !tilegpu.buffer<8x2xf8E8M0FNU, stride = 4>, tensor<16x8xf32, #{{.*}}>
  %0 = tilegpu.dot %q, %k scaled by %s, %c {b_transposed}
    : !tilegpu.buffer<16x64xf8E4M3FN>, !tilegpu.buffer<8x64xf8E4M3FN> by !tilegpu.buffer<8x2xf8E8M0FNU, stride = 4>, tensor<16x8xf32, #acc8>
  // CHECK: tilegpu.dot %{{.*}} times %{{.*}}, %{{.*}}, %{{.*}} {narrow} : !tilegpu.buffer<16x32xf16> times !tilegpu.buffer<2x32xf16>, !tilegpu.buffer<32x64xf8E4M3FN>, tensor<16x64xf32, #{{.*}}>
  %1 = tilegpu.dot %p times %x, %v, %o {narrow}
    : !tilegpu.buffer<16x32xf16> times !tilegpu.buffer<2x32xf16>, !tilegpu.buffer<32x64xf8E4M3FN>, tensor<16x64xf32, #acc8packed>
  return
}

// The second of two warps holds copies of c, and so of a.
#accCopy = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], reps = [1, 1]>
#opACopy = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0]], reps = [1, 1]>
// CHECK-LABEL: func.func @copies
func.func @copies(%a: tensor<16x16xbf16, #opACopy>, %b: !tilegpu.buffer<16x8xbf16>, %c: tensor<16x8xf32, #accCopy>) {
  // CHECK: tilegpu.dot %{{.*}} : tensor<16x16xbf16, #{{.*}}>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #{{.*}}>
  %d = tilegpu.dot %a, %b, %c : tensor<16x16xbf16, #opACopy>, !tilegpu.buffer<16x8xbf16>, tensor<16x8xf32, #accCopy>
  return
}
