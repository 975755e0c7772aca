// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --split-input-file --convert-tile-to-nvvm | FileCheck %s --check-prefixes=CHECK,SM120
// RUN: mlatile-opt %s --split-input-file --convert-tile-to-nvvm=target=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90

// The ABI: views, pools and scalars flattened in order, described for the host.
// CHECK-LABEL: llvm.func @abi(
// CHECK-SAME: %arg0: !llvm.ptr<1>, %arg1: i64, %arg2: i64, %arg3: i64,
// CHECK-SAME: %arg4: !llvm.ptr<1>, %arg5: i64, %arg6: i64, %arg7: i64, %arg8: i64,
// CHECK-SAME: %arg9: i64, %arg10: f32)
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 256>
// CHECK-SAME: {element = bf16, kind = "view", name = "q", rank = 2 : i64}
// CHECK-SAME: {format = "dsv4", kind = "pool", name = "kv"}
// CHECK-SAME: {element = index, kind = "scalar", name = "n"}
// CHECK-SAME: tilegpu.shared_bytes = 0 : i64
// CHECK-NEXT: llvm.return
tile.kernel @abi warps(8) (%q: !tile.view<[T, 512], bf16>, %kv: !tile.pool<"dsv4">, %n: index, %s: f32) {
  tile.return
}

// -----

// The arena is a static array of exactly the planned size, one a kernel.
// CHECK: llvm.mlir.global internal @mlatile_shared_one() {addr_space = 3 : i32, alignment = 1024 : i64{{.*}}} : !llvm.array<2048 x i8>
// CHECK-LABEL: llvm.func @one
// CHECK-SAME: tilegpu.shared_bytes = 2048
tile.kernel @one warps(1) () attributes {tilegpu.shared_bytes = 2048 : i64} {
  tile.return
}
// CHECK: llvm.mlir.global internal @mlatile_shared_two() {{.*}} : !llvm.array<100 x i8>
// CHECK-LABEL: llvm.func @two
// CHECK-SAME: tilegpu.shared_bytes = 100
tile.kernel @two warps(1) () attributes {tilegpu.shared_bytes = 100 : i64} {
  tile.return
}

// -----

// CTAs of an SM: as many as its shared memory holds, ...
// CHECK-LABEL: llvm.func @by_shared
// SM120-SAME: nvvm.minctasm = 2 : i32
// SM90-SAME: nvvm.minctasm = 4 : i32
tile.kernel @by_shared warps(4) () attributes {tilegpu.shared_bytes = 50000 : i64} {
  tile.return
}

// ... but one at least, ...
// CHECK-LABEL: llvm.func @whole
// SM120-SAME: nvvm.minctasm = 1 : i32
// SM90-SAME: nvvm.minctasm = 2 : i32
tile.kernel @whole warps(4) () attributes {tilegpu.shared_bytes = 101376 : i64} {
  tile.return
}

// ... and as leave room for 96 registers a thread, ...
// CHECK-LABEL: llvm.func @by_registers
// CHECK-SAME: nvvm.minctasm = 5 : i32
tile.kernel @by_registers warps(4) () {
  tile.return
}

// ... and for what a loop carries: 64 more.
#acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 16]>
// CHECK-LABEL: llvm.func @carried
// CHECK-SAME: nvvm.minctasm = 3 : i32
tile.kernel @carried warps(4) (%src: !tile.view<[M, N], f32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c = tile.load %src[%zero, %zero] : !tile.view<[M, N], f32> -> tensor<16x512xf32, #acc>
  %d = scf.for %i = %zero to %n step %one iter_args(%e = %c) -> tensor<16x512xf32, #acc> {
    %f = arith.addf %e, %e : tensor<16x512xf32, #acc>
    scf.yield %f : tensor<16x512xf32, #acc>
  }
  tile.store %d, %src[%zero, %zero] : tensor<16x512xf32, #acc>, !tile.view<[M, N], f32>
  tile.return
}
