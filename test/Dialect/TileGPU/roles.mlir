// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s | FileCheck %s
// RUN: mlatile-opt %s | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -mlir-print-op-generic | mlatile-opt | FileCheck %s
// RUN: mlatile-opt %s -emit-bytecode | mlatile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @chosen params(ROLES : roles = none, OTHER : roles = "4c:40+4+8@3:2") warps(4) roles(ROLES)
tile.kernel @chosen params(ROLES : roles = none, OTHER : roles = "4c:40+4+8@3:2") warps(4) roles(ROLES) () {
  tile.return
}

// CHECK-LABEL: @two
tile.kernel @two warps(12) (%x : f32) {
  // CHECK: %[[C:.+]] = tilegpu.channel "sums" : !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]>
  %c = tilegpu.channel "sums" : !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]>
  %bars = tilegpu.alloc "bars" : !tilegpu.mbarriers<2>
  // CHECK: tilegpu.roles
  tilegpu.roles
  // CHECK-NEXT: role "wide" warps(8) registers(168) {
  role "wide" warps(8) registers(168) {
    // CHECK: tilegpu.receive %[[C]] : !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]> -> tensor<16x64xf32>, tensor<16xf32>
    %r:2 = tilegpu.receive %c : !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]> -> tensor<16x64xf32>, tensor<16xf32>
    // CHECK: tilegpu.sync role
    tilegpu.sync role
    // CHECK: tilegpu.role_end
    tilegpu.role_end
  // CHECK: role "narrow" warps(4) registers(96) {
  } role "narrow" warps(4) registers(96) {
    %s = tile.full %x : f32 -> tensor<16x64xf32>
    %v = tile.full %x : f32 -> tensor<16xf32>
    // CHECK: tilegpu.send %{{.+}}, %{{.+}} to %[[C]] : tensor<16x64xf32>, tensor<16xf32> to !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]>
    tilegpu.send %s, %v to %c : tensor<16x64xf32>, tensor<16xf32> to !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]>
    %i = arith.constant 0 : i32
    // CHECK: tilegpu.mbarrier_arrive %{{.+}}[%{{.+}}] {by_warp} : !tilegpu.mbarriers<2>
    tilegpu.mbarrier_arrive %bars[%i] {by_warp} : !tilegpu.mbarriers<2>
    tilegpu.role_end
  }
  tile.return
}

// CHECK-LABEL: @copied
// CHECK-SAME: (%[[Q:.+]]: !tile.view<[T, H, D], bf16>, %[[T:.+]]: index)
tile.kernel @copied warps(8) (%q : !tile.view<[T, H, D], bf16>, %t : index) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[C:.+]] = tilegpu.channel "item"
  %c = tilegpu.channel "item" : !tilegpu.channel<1, [tensor<64x448xbf16>]>
  tilegpu.roles
  role "reads" warps(4) registers(208) {
    %r = tilegpu.receive %c : !tilegpu.channel<1, [tensor<64x448xbf16>]> -> tensor<64x448xbf16>
    tilegpu.role_end
  } role "sends" warps(4) registers(48) {
    // CHECK: tilegpu.send_copy %[[Q]][%[[T]], %{{.+}}, %{{.+}}] to %[[C]] : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<64x448xbf16>]>
    tilegpu.send_copy %q[%t, %c0, %c0] to %c : !tile.view<[T, H, D], bf16> to !tilegpu.channel<1, [tensor<64x448xbf16>]>
    tilegpu.role_end
  }
  tile.return
}

// CHECK-LABEL: @scaled
func.func @scaled(%t : tensor<16x64xf32>, %f : tensor<16xf32>, %g : tensor<64xf32>) -> tensor<16x64xf32> {
  // CHECK: tilegpu.scale %{{.+}} by %{{.+}} along 1 : tensor<16x64xf32>, tensor<16xf32>
  %a = tilegpu.scale %t by %f along 1 : tensor<16x64xf32>, tensor<16xf32>
  // CHECK: tilegpu.scale %{{.+}} by %{{.+}} along 0 : tensor<16x64xf32>, tensor<64xf32>
  %b = tilegpu.scale %a by %g along 0 : tensor<16x64xf32>, tensor<64xf32>
  return %b : tensor<16x64xf32>
}
