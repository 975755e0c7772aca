// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tile-assign-layouts --split-input-file | FileCheck %s

// A dot is an anchor: four warps side by side along N. What is reduced from its
// result takes the slice; operands keep 16-byte pieces.
// CHECK-DAG: #[[$ACC:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 8], [0, 16]], reps = [1, 1]>
// CHECK-DAG: #[[$SLICE:.+]] = #tilegpu.layout<reg = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]], warp = {{\[\[}}0], [0]], reps = [1]>
// CHECK-DAG: #[[$PIECES:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [0, 2], [0, 4]], lane = {{\[\[}}0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = {{\[\[}}0, 0], [0, 0]], reps = [1, 1]>
// CHECK-LABEL: @anchor
tile.kernel @anchor warps(4) (%q : !tile.view<[M, K], bf16>, %k : !tile.view<[K, N], bf16>, %o : !tile.view<[M], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: tile.full %{{.*}} -> tensor<16x32xf32, #[[$ACC]]>
  %zero = tile.full %f0 : f32 -> tensor<16x32xf32>
  // CHECK: tile.load %q{{.*}} -> tensor<16x16xbf16, #[[$PIECES]]>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %b = tile.load %k[%c0, %c0] : !tile.view<[K, N], bf16> -> tensor<16x32xbf16>
  // CHECK: tile.dot {{.*}}, tensor<16x32xf32, #[[$ACC]]>
  %s = tile.dot %a, %b, %zero : tensor<16x16xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>
  // CHECK: tile.reduce maximumf {{.*}} -> tensor<16xf32, #[[$SLICE]]>
  %m = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK-NOT: convert_layout
  tile.store %m, %o[%c0] : tensor<16xf32>, !tile.view<[M], f32>
  tile.return
}

// -----

// `warps` asks for an arrangement: here 2 x 2, and one warp along M whose work
// the three others copy.
// CHECK-DAG: #[[$TWO:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [8, 0]], lane = {{.*}}, warp = {{\[\[}}0, 8], [16, 0]], reps = [1, 2]>
// CHECK-DAG: #[[$ONE:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 1], [8, 0]], lane = {{.*}}, warp = {{\[\[}}0, 0], [0, 0]], reps = [2, 4]>
// CHECK-LABEL: @arranged
tile.kernel @arranged warps(4) (%q : !tile.view<[M, K], bf16>, %k : !tile.view<[K, N], bf16>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<32x32xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<32x16xbf16>
  %b = tile.load %k[%c0, %c0] : !tile.view<[K, N], bf16> -> tensor<16x32xbf16>
  // CHECK: tile.dot {{.*}}, tensor<32x32xf32, #[[$TWO]]>
  %s = tile.dot %a, %b, %zero {warps = array<i64: 2, 2>} : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>
  // A constant of two classes is copied, so that nothing is converted.
  // CHECK: tile.dot {{.*}}, tensor<32x32xf32, #[[$ONE]]>
  %t = tile.dot %a, %b, %zero {warps = array<i64: 1, 1>} : tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>
  // CHECK-NOT: convert_layout
  tile.store %s, %o[%c0, %c0] : tensor<32x32xf32>, !tile.view<[M, N], f32>
  tile.store %t, %o[%c0, %c0] : tensor<32x32xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// A loop ties its initial value, argument and result together; an elementwise
// operation its operands and result; a transposition derives.
// CHECK-LABEL: @ties
tile.kernel @ties warps(2) (%q : !tile.view<[M, K], bf16>, %k : !tile.view<[K, N], bf16>, %o : !tile.view<[N, M], f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %f0 = arith.constant 0.0 : f32
  // CHECK: %[[ZERO:.+]] = tile.full %{{.*}} : f32 -> tensor<16x16xf32, #[[ACC:.+]]>
  %zero = tile.full %f0 : f32 -> tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %b = tile.load %k[%c0, %c0] : !tile.view<[K, N], bf16> -> tensor<16x16xbf16>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (tensor<16x16xf32, #[[ACC]]>)
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %zero) -> (tensor<16x16xf32>) {
    %d = tile.dot %a, %b, %c : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
    // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<16x16xf32, #[[ACC]]>
    %e = arith.addf %d, %d : tensor<16x16xf32>
    scf.yield %e : tensor<16x16xf32>
  }
  // CHECK: tile.transpose %{{.*}} : tensor<16x16xf32, #[[ACC]]> -> tensor<16x16xf32, #[[T:.+]]>
  // CHECK-NEXT: tile.store %{{.*}} : tensor<16x16xf32, #[[T]]>
  %t = tile.transpose %s : tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %t, %o[%c0, %c0] : tensor<16x16xf32>, !tile.view<[N, M], f32>
  tile.return
}

// -----

// Where classes meet with different layouts a conversion stands: here a vector
// along the rows of one tile and the columns of another.
// CHECK-LABEL: @meets
tile.kernel @meets warps(2) (%q : !tile.view<[M, K], bf16>, %k : !tile.view<[K, N], bf16>, %o : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %zero = tile.full %f0 : f32 -> tensor<16x16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %b = tile.load %k[%c0, %c0] : !tile.view<[K, N], bf16> -> tensor<16x16xbf16>
  %s = tile.dot %a, %b, %zero : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
  // CHECK: %[[M:.+]] = tile.reduce maximumf {{.*}} -> tensor<16xf32, #[[ROWS:.+]]>
  %m = tile.reduce maximumf %s along 1 : tensor<16x16xf32> -> tensor<16xf32>
  // CHECK-NEXT: %[[C:.+]] = tilegpu.convert_layout %[[M]] : tensor<16xf32, #[[ROWS]]> -> tensor<16xf32, #[[COLUMNS:.+]]>
  // CHECK-NEXT: tile.broadcast %[[C]] along 0 : tensor<16xf32, #[[COLUMNS]]>
  %r = tile.broadcast %m along 0 : tensor<16xf32> -> tensor<16x16xf32>
  %d = arith.subf %s, %r : tensor<16x16xf32>
  tile.store %d, %o[%c0, %c0] : tensor<16x16xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// Neighbouring threads share a row of a gather: 8 rows, 128 threads.
// CHECK: #[[$IDS:.+]] = #tilegpu.layout<reg = [], lane = {{\[\[}}0], [0], [0], [0], [1]], warp = {{\[\[}}2], [4]], reps = [1]>
// CHECK-LABEL: @gather
tile.kernel @gather warps(4) (%kv : !tile.pool<"dsv4">, %idx : !tile.view<[W], i32>) {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %idx{{.*}} -> tensor<8xi32, #[[$IDS]]>
  // CHECK: tile.gather {{.*}}tensor<8xi32, #[[$IDS]]>
  %ids = tile.load %idx[%c0] : !tile.view<[W], i32> -> tensor<8xi32>
  %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4">, tensor<8xi32> -> !tile.rows<"dsv4", [8]>, tensor<8xi1>
  tile.return
}

// -----

// A constant without a use, and a value without an anchor, get a layout too.
// CHECK-LABEL: @unused
tile.kernel @unused warps(4) () {
  %f0 = arith.constant 0.0 : f32
  // CHECK: tile.full %{{.*}} : f32 -> tensor<7xf32, #layout
  // CHECK: arith.constant dense<{{.*}}> : tensor<64xf32, #layout
  %x = tile.full %f0 : f32 -> tensor<7xf32>
  %y = arith.constant dense<0.0> : tensor<64xf32>
  tile.return
}

// -----

// What was converted may be an operand of the next conversion: reductions and
// broadcasts along turns of the dimensions.
// CHECK-LABEL: @turns
tile.kernel @turns warps(4) (%q : !tile.view<[M, N], f32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<[M, N], f32> -> tensor<16x16xf32>
  %b = tile.reduce maximumf %a along 0 : tensor<16x16xf32> -> tensor<16xf32>
  %c = tile.broadcast %b along 1 : tensor<16xf32> -> tensor<16x16xf32>
  // CHECK: %[[D:.+]] = tile.reduce maximumf %{{.+}} along 1
  // CHECK-NEXT: %[[E:.+]] = tilegpu.convert_layout %[[D]]
  // CHECK-NEXT: tile.broadcast %[[E]] along 0
  %d = tile.reduce maximumf %c along 1 : tensor<16x16xf32> -> tensor<16xf32>
  %e = tile.broadcast %d along 0 : tensor<16xf32> -> tensor<16x16xf32>
  tile.store %e, %q[%c0, %c0] : tensor<16x16xf32>, !tile.view<[M, N], f32>
  tile.return
}

// -----

// One accumulator through two loops, as two lists of candidates have it, whose
// operands are packed differently: 8 bits first, 4 bits next. It is converted
// once, before the second loop; what is not packed, the sums of the scores,
// stays as it is.
// CHECK-DAG: #[[$EIGHT:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 2], [8, 0], [0, 1]], {{.*}} reps = [1, 32]>
// CHECK-DAG: #[[$FOUR:.+]] = #tilegpu.layout<reg = {{\[\[}}0, 4], [8, 0], [0, 1], [0, 2]], {{.*}} reps = [1, 16]>
// CHECK-LABEL: @two_lists
tile.kernel @two_lists warps(1) (%q : !tile.view<[M, K], bf16>, %kv : !tile.pool<"dsv4_1">, %kv2 : !tile.pool<"dsv4_1_fp4">, %idx : !tile.view<[W], i32>, %o : !tile.view<[M, N], f32>, %s : !tile.view<[M], f32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %W = tile.dim %idx, 0 : !tile.view<[W], i32>
  %p = tile.load %q[%c0, %c0] : !tile.view<[M, K], bf16> -> tensor<16x16xbf16>
  %l0 = tile.full %f0 : f32 -> tensor<16xf32>
  %o0 = tile.full %f0 : f32 -> tensor<16x512xf32>
  // CHECK: %[[FIRST:.+]]:2 = scf.for {{.*}} -> (tensor<16x512xf32, #[[$EIGHT]]>, tensor<16xf32, #[[ROW:.+]]>)
  // CHECK-NOT: tilegpu.convert_layout {{.*}}f32
  // CHECK: scf.yield
  %o1, %l1 = scf.for %n = %c0 to %W step %c16 iter_args(%oi = %o0, %li = %l0) -> (tensor<16x512xf32>, tensor<16xf32>) {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    %rows, %ok = tile.gather %kv[%ids] : !tile.pool<"dsv4_1">, tensor<16xi32> -> !tile.rows<"dsv4_1", [16]>, tensor<16xi1>
    %v = tile.dequant %rows nope : !tile.rows<"dsv4_1", [16]> -> tensor<16x512xbf16>
    %r = tile.dot %p, %v, %oi : tensor<16x16xbf16>, tensor<16x512xbf16>, tensor<16x512xf32>
    %t = tile.reduce addf %r along 1 : tensor<16x512xf32> -> tensor<16xf32>
    %l = arith.addf %li, %t : tensor<16xf32>
    scf.yield %r, %l : tensor<16x512xf32>, tensor<16xf32>
  }
  // CHECK: %[[MOVED:.+]] = tilegpu.convert_layout %[[FIRST]]#0 : tensor<16x512xf32, #[[$EIGHT]]> -> tensor<16x512xf32, #[[$FOUR]]>
  // CHECK-NOT: tilegpu.convert_layout
  // CHECK: scf.for {{.*}} iter_args(%{{.+}} = %[[MOVED]], %{{.+}} = %[[FIRST]]#1) -> (tensor<16x512xf32, #[[$FOUR]]>, tensor<16xf32, #[[ROW]]>)
  // CHECK-NOT: tilegpu.convert_layout {{.*}}f32
  // CHECK: tile.store
  %o2, %l2 = scf.for %n = %c0 to %W step %c16 iter_args(%oi = %o1, %li = %l1) -> (tensor<16x512xf32>, tensor<16xf32>) {
    %ids = tile.load %idx[%n] : !tile.view<[W], i32> -> tensor<16xi32>
    %rows, %ok = tile.gather %kv2[%ids] : !tile.pool<"dsv4_1_fp4">, tensor<16xi32> -> !tile.rows<"dsv4_1_fp4", [16]>, tensor<16xi1>
    %v = tile.dequant %rows nope : !tile.rows<"dsv4_1_fp4", [16]> -> tensor<16x512xbf16>
    %r = tile.dot %p, %v, %oi : tensor<16x16xbf16>, tensor<16x512xbf16>, tensor<16x512xf32>
    %t = tile.reduce addf %r along 1 : tensor<16x512xf32> -> tensor<16xf32>
    %l = arith.addf %li, %t : tensor<16xf32>
    scf.yield %r, %l : tensor<16x512xf32>, tensor<16xf32>
  }
  tile.store %o2, %o[%c0, %c0] : tensor<16x512xf32>, !tile.view<[M, N], f32>
  tile.store %l2, %s[%c0] : tensor<16xf32>, !tile.view<[M], f32>
  tile.return
}
