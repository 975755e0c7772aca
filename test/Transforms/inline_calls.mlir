// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -tile-inline-calls | FileCheck %s
// RUN: mlatile-opt %s -inline -tile-inline-calls | FileCheck %s
// RUN: mlatile-opt %s -tile-inline-calls -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=LOC
// RUN: mlatile-opt %s -inline -tile-inline-calls -tile-specialise="params=FMT=dsv4,EXTRA=dsv4_1,BN=32" | FileCheck %s --check-prefix=BOUND

// Steps that nobody calls any more go, also those that only they called. One
// that was not inlined, or is not private, stays.
// CHECK-NOT: func.func private @fetch
// CHECK-NOT: func.func private @inner
// CHECK: func.func private @unused
// CHECK: func.func @public
func.func private @fetch(%kv: !tile.pool<FMT>, %ids: tensor<?xi32, #tile.dims<N>>)
    -> (!tile.rows<FMT, [N]>, tensor<?x?xbf16, #tile.dims<N, NOPE>>, index) {
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<FMT>, tensor<?xi32, #tile.dims<N>> -> !tile.rows<FMT, [N]>, tensor<?xi1, #tile.dims<N>>
  %on = tile.param ON : i1
  %x = scf.if %on -> tensor<?x?xbf16, #tile.dims<N, NOPE>> {
    %d = tile.dequant %rows nope : !tile.rows<FMT, [N]> -> tensor<?x?xbf16, #tile.dims<N, NOPE>>
    scf.yield %d : tensor<?x?xbf16, #tile.dims<N, NOPE>>
  } else {
    %f = arith.constant 0.0 : bf16
    %d = tile.full %f : bf16 -> tensor<?x?xbf16, #tile.dims<N, NOPE>>
    scf.yield %d : tensor<?x?xbf16, #tile.dims<N, NOPE>>
  }
  // The names of both kinds of calls are this step's.
  %a = tile.call @inner() bind(M = N) : () -> index
  %b = func.call @plain() : () -> index
  %s = arith.addi %a, %b : index
  func.return %rows, %x, %s : !tile.rows<FMT, [N]>, tensor<?x?xbf16, #tile.dims<N, NOPE>>, index
}
func.func private @inner() -> index {
  %m = tile.param M : index
  func.return %m : index
}
func.func private @plain() -> index {
  %n = tile.param N : index
  func.return %n : index
}
func.func private @unused()
func.func @public() {
  func.return
}

// CHECK-LABEL: tile.kernel @k
// BOUND-LABEL: tile.kernel @k
tile.kernel @k params(FMT : format, EXTRA : format, BN : index, USE : i1 = true,
                      NOPE : index = FMT.nope, EXTRA_NOPE : index = EXTRA.nope) warps(1)
    (%kv: !tile.pool<FMT>, %extra: !tile.pool<EXTRA>, %out: !tile.view<[T, D], bf16>) {
  %c0 = arith.constant 0 : index
  %ids = tile.iota : tensor<?xi32, #tile.dims<BN>>
  %few = tile.iota : tensor<16xi32>
  tile.call @public() : () -> ()

  // Names for names.
  // CHECK: tile.gather %kv[%{{.*}}] : !tile.pool<FMT>, !i32_BN -> !tile.rows<FMT, [BN]>, !i1_BN
  // CHECK: %[[USE:.+]] = tile.param USE : i1
  // CHECK: scf.if %[[USE]] -> (!bf16_BN_NOPE)
  // CHECK: tile.dequant %{{.*}} nope : !tile.rows<FMT, [BN]> -> !bf16_BN_NOPE
  // CHECK: %[[A:.+]] = tile.param BN : index
  // CHECK: %[[B:.+]] = tile.param BN : index
  // CHECK: arith.addi %[[A]], %[[B]]
  // BOUND: tile.gather %kv[%{{.*}}] : !tile.pool<"dsv4">, tensor<32xi32> -> !tile.rows<"dsv4", [32]>
  // BOUND: tile.dequant %{{.*}} -> tensor<32x448xbf16>
  // Both places: the line of the step, and that of the call.
  // LOC: tile.gather {{.*}} loc(callsite("{{.*}}inline_calls.mlir":15:16 at "{{.*}}inline_calls.mlir":[[@LINE+1]]:19))
  %r0, %x0, %n0 = tile.call @fetch(%kv, %ids) bind(N = BN, ON = USE)
      : (!tile.pool<FMT>, tensor<?xi32, #tile.dims<BN>>) -> (!tile.rows<FMT, [BN]>, tensor<?x?xbf16, #tile.dims<BN, NOPE>>, index)

  // Values: static tiles, constants.
  // CHECK: tile.gather %extra[%{{.*}}] : !tile.pool<EXTRA>, tensor<16xi32> -> !tile.rows<EXTRA, [16]>, tensor<16xi1>
  // CHECK: %[[TRUE:.+]] = arith.constant true
  // CHECK: scf.if %[[TRUE]]
  // CHECK: tile.dequant %{{.*}} nope : !tile.rows<EXTRA, [16]> -> !bf16_16_EXTRA_NOPE
  // CHECK-COUNT-2: arith.constant 16 : index
  // BOUND: tile.gather %extra[%{{.*}}] : !tile.pool<"dsv4_1">, tensor<16xi32> -> !tile.rows<"dsv4_1", [16]>
  // BOUND: tile.dequant %{{.*}} -> tensor<16x512xbf16>
  %r1, %x1, %n1 = tile.call @fetch(%extra, %few) bind(FMT = EXTRA, N = 16, ON = true, NOPE = EXTRA_NOPE)
      : (!tile.pool<EXTRA>, tensor<16xi32>) -> (!tile.rows<EXTRA, [16]>, tensor<16x?xbf16, #tile.dims<16, EXTRA_NOPE>>, index)

  // CHECK: tile.store %{{.*}} : !bf16_BN_NOPE
  tile.store %x0, %out[%n0, %c0] : tensor<?x?xbf16, #tile.dims<BN, NOPE>>, !tile.view<[T, D], bf16>
  tile.store %x1, %out[%n1, %c0] : tensor<16x?xbf16, #tile.dims<16, EXTRA_NOPE>>, !tile.view<[T, D], bf16>
  // CHECK-NOT: call
  tile.return
}
