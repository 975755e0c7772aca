// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

// 448 columns are seven steps of 8 threads x 8 bytes; 128 threads take 16 rows
// at once, all of the buffer. All loads stand before the first store. The bytes
// 0 and 255 are a subnormal and NaN: top mantissa bit on.
// CHECK-LABEL: llvm.func @ue8m0
// CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-DAG: %[[C23:.*]] = llvm.mlir.constant(23 : i32)
// CHECK-DAG: %[[TOP:.*]] = llvm.mlir.constant(4194304 : i32)
// CHECK-DAG: %[[C254:.*]] = llvm.mlir.constant(254 : i32)
// CHECK: llvm.load %[[FROM:.*]] {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xi16>
// CHECK: %[[BYTE:.*]] = llvm.load %[[SCALES:.*]] {alignment = 1 : i64} : !llvm.ptr<3> -> i8
// CHECK: %[[E:.*]] = llvm.zext %[[BYTE]] : i8 to i32
// CHECK: %[[EXPONENT:.*]] = llvm.shl %[[E]], %[[C23]]
// CHECK: %[[LESS:.*]] = llvm.sub %[[E]], %[[ONE]]
// CHECK: %[[SPECIAL:.*]] = llvm.icmp "uge" %[[LESS]], %[[C254]]
// CHECK: %[[MANTISSA:.*]] = llvm.select %[[SPECIAL]], %[[TOP]], %{{.*}}
// CHECK: %[[BITS:.*]] = llvm.or %[[EXPONENT]], %[[MANTISSA]]
// CHECK: %[[SCALE:.*]] = llvm.bitcast %[[BITS]] : i32 to f32
// CHECK: %[[FROM1:.*]] = llvm.getelementptr %[[FROM]][64]
// CHECK: llvm.load %[[FROM1]] {alignment = 8 : i64}
// CHECK: %[[SCALES1:.*]] = llvm.getelementptr %[[SCALES]][1]
// CHECK: llvm.load %[[SCALES1]] {alignment = 1 : i64}
// CHECK-COUNT-5: -> vector<4xi16>
// CHECK-NOT: -> vector<4xi16>
// CHECK: %[[HALVES:.*]] = nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: %[[H0:.*]] = llvm.extractelement %[[HALVES]]
// CHECK: %[[W0:.*]] = llvm.fpext %[[H0]] : f16 to f32
// CHECK: %[[P0:.*]] = llvm.fmul %[[W0]], %[[SCALE]]
// CHECK: %[[P1:.*]] = llvm.fmul %{{.*}}, %[[SCALE]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[P1]], %[[P0]])
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-COUNT-6: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return
tile.kernel @ue8m0 warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>
  %s = tilegpu.alloc "s" {offset = 9472 : i64} : !tilegpu.buffer<16x8xi8>
  %r = tilegpu.alloc "r" {offset = 9600 : i64} : !tilegpu.buffer<16x448xbf16, stride = 912>
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16, stride = 912>
  tile.return
}

// Two steps of 32 threads a row, four rows at once: 16 blocks of rows are a
// loop. A scale is f32 as it stands; the result may be f16.
// CHECK-LABEL: llvm.func @f32
// CHECK-DAG: %[[BLOCKS:.*]] = llvm.mlir.constant(16 : i32)
// CHECK: llvm.br ^[[LOOP:bb[0-9]+]](
// CHECK: ^[[LOOP]](%[[COUNT:.*]]: i32, %[[P:.*]]: !llvm.ptr<3>, %[[S:.*]]: !llvm.ptr<3>, %[[R:.*]]: !llvm.ptr<3>):
// CHECK: llvm.load %[[P]] {alignment = 8 : i64}
// CHECK: %[[SCALE:.*]] = llvm.load %[[S]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK: llvm.getelementptr %[[S]][8]
// CHECK: llvm.fmul %{{.*}}, %[[SCALE]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"
// CHECK: llvm.store %{{.*}}, %[[R]] {alignment = 16 : i64}
// CHECK: llvm.getelementptr %[[P]][2112]
// CHECK: llvm.getelementptr %[[S]][2112]
// CHECK: llvm.getelementptr %[[R]][4160]
// CHECK: %[[MORE:.*]] = llvm.icmp "ult" %{{.*}}, %[[BLOCKS]]
// CHECK: llvm.cond_br %[[MORE]], ^[[LOOP]](
tile.kernel @f32 warps(4) () {
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<64x528xi8>
  %p = tilegpu.view %rows + 0 : !tilegpu.buffer<64x528xi8> -> !tilegpu.buffer<64x512xi8, stride = 528>
  %s = tilegpu.view %rows + 512 : !tilegpu.buffer<64x528xi8> -> !tilegpu.buffer<64x4xf32, stride = 528>
  %r = tilegpu.alloc "r" {offset = 33792 : i64} : !tilegpu.buffer<64x512xf16, stride = 1040>
  tilegpu.dequant "glm53_nope" %p, %s -> %r : !tilegpu.buffer<64x512xi8, stride = 528>, !tilegpu.buffer<64x4xf32, stride = 528> -> !tilegpu.buffer<64x512xf16, stride = 1040>
  tile.return
}

// More threads than rows: two sets share the seven steps, three each, the first
// one takes the last.
// CHECK-LABEL: llvm.func @sets
// CHECK-COUNT-3: -> vector<4xi16>
// CHECK: %[[HAS:.*]] = llvm.icmp "ult"
// CHECK: llvm.cond_br %[[HAS]]
// CHECK: -> vector<4xi16>
// CHECK-NOT: -> vector<4xi16>
// CHECK: llvm.return
tile.kernel @sets warps(8) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>
  %s = tilegpu.alloc "s" {offset = 9472 : i64} : !tilegpu.buffer<16x8xi8>
  %r = tilegpu.alloc "r" {offset = 9600 : i64} : !tilegpu.buffer<16x448xbf16, stride = 912>
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xbf16, stride = 912>
  tile.return
}

// Nibbles 0 and 4 are one pair of halves, smaller by 2^14; the scale of 16
// elements, e4m3, makes up for it.
// CHECK-LABEL: llvm.func @e2m1
// CHECK-DAG: %[[FACTOR:.*]] = llvm.mlir.constant(1.638400e+04 : f32)
// CHECK-DAG: %[[EM:.*]] = llvm.mlir.constant(458759 : i32)
// CHECK-DAG: %[[SIGN:.*]] = llvm.mlir.constant(524296 : i32)
// CHECK: %[[NIBBLES:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: llvm.fmul %{{.*}}, %[[FACTOR]]
// CHECK: llvm.and %[[NIBBLES]], %[[EM]]
// CHECK: llvm.and %[[NIBBLES]], %[[SIGN]]
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
tile.kernel @e2m1 warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x224xi8, stride = 240>
  %s = tilegpu.alloc "s" {offset = 3840 : i64} : !tilegpu.buffer<16x32xi8>
  %r = tilegpu.alloc "r" {offset = 4352 : i64} : !tilegpu.buffer<16x448xbf16, stride = 912>
  tilegpu.dequant "dsv4_nvfp4" %p, %s -> %r : !tilegpu.buffer<16x224xi8, stride = 240>, !tilegpu.buffer<16x32xi8> -> !tilegpu.buffer<16x448xbf16, stride = 912>
  tile.return
}

// The payload alone: no scale is read, nothing is multiplied.
// CHECK-LABEL: llvm.func @unscaled
// CHECK-NOT: -> f32
// CHECK-NOT: llvm.fmul
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK-NOT: llvm.fmul
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK-NOT: llvm.fmul
// CHECK: llvm.return
tile.kernel @unscaled warps(4) () {
  %rows = tilegpu.alloc "rows" {offset = 0 : i64} : !tilegpu.buffer<64x528xi8>
  %p = tilegpu.view %rows + 0 : !tilegpu.buffer<64x528xi8> -> !tilegpu.buffer<64x512xi8, stride = 528>
  %s = tilegpu.view %rows + 512 : !tilegpu.buffer<64x528xi8> -> !tilegpu.buffer<64x4xf32, stride = 528>
  %r = tilegpu.alloc "r" {offset = 33792 : i64} : !tilegpu.buffer<64x512xbf16, stride = 1040>
  tilegpu.dequant "glm53_nope" %p, %s -> %r {unscaled} : !tilegpu.buffer<64x512xi8, stride = 528>, !tilegpu.buffer<64x4xf32, stride = 528> -> !tilegpu.buffer<64x512xbf16, stride = 1040>
  tile.return
}

// But for the factor that an e2m1 pair was made small by.
// CHECK-LABEL: llvm.func @unscaled_e2m1
// CHECK: %[[FACTOR:.*]] = llvm.mlir.constant(1.638400e+04 : f32)
// CHECK-NOT: -> i8
// CHECK: llvm.fmul %{{.*}}, %[[FACTOR]]
// CHECK: llvm.return
tile.kernel @unscaled_e2m1 warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x224xi8, stride = 240>
  %s = tilegpu.alloc "s" {offset = 3840 : i64} : !tilegpu.buffer<16x32xi8>
  %r = tilegpu.alloc "r" {offset = 4352 : i64} : !tilegpu.buffer<16x448xbf16, stride = 912>
  tilegpu.dequant "dsv4_nvfp4" %p, %s -> %r {unscaled} : !tilegpu.buffer<16x224xi8, stride = 240>, !tilegpu.buffer<16x32xi8> -> !tilegpu.buffer<16x448xbf16, stride = 912>
  tile.return
}

// Factors of the kernel's own: seven of a row by one load, and pairs of
// f16 as they are converted, multiplied in f16. Nothing goes through f32.
// CHECK-LABEL: llvm.func @factors
// CHECK-NOT: f32
// CHECK: %[[WORDS:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xi16>
// CHECK: %[[SEVEN:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<7xf16>
// CHECK: %[[F0:.*]] = llvm.extractelement %[[SEVEN]][%{{.*}} : i32] : vector<7xf16>
// CHECK-COUNT-6: llvm.extractelement %[[SEVEN]]
// CHECK-NOT: -> vector<7xf16>
// CHECK: %[[PAIR:.*]] = nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
// CHECK: llvm.insertelement %[[F0]]
// CHECK: %[[BOTH:.*]] = llvm.insertelement %[[F0]]
// CHECK: llvm.fmul %[[PAIR]], %[[BOTH]] : vector<2xf16>
// CHECK-COUNT-3: llvm.fmul %{{.*}}, %[[BOTH]] : vector<2xf16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
// CHECK-NOT: f32
// CHECK: llvm.return
tile.kernel @factors warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>
  %s = tilegpu.alloc "s" {offset = 9472 : i64} : !tilegpu.buffer<16x8xf16>
  %r = tilegpu.alloc "r" {offset = 9728 : i64} : !tilegpu.buffer<16x448xf16, stride = 912>
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<16x8xf16> -> !tilegpu.buffer<16x448xf16, stride = 912>
  tile.return
}

// A row of seven may end where memory ends: one at a time. Pairs of bf16 come
// through f32, exact, and are multiplied in bf16.
// CHECK-LABEL: llvm.func @seven
// CHECK-NOT: -> vector<7xbf16>
// CHECK-COUNT-7: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> bf16
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK: llvm.fmul %{{.*}}, %{{.*}} : vector<2xbf16>
// CHECK-NOT: llvm.fmul {{.*}} : f32
// CHECK: llvm.return
tile.kernel @seven warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>
  %r = tilegpu.alloc "r" {offset = 9472 : i64} : !tilegpu.buffer<16x448xbf16, stride = 912>
  %s = tilegpu.alloc "s" {offset = 24064 : i64} : !tilegpu.buffer<16x7xbf16, stride = 16>
  tilegpu.dequant "dsv4" %p, %s -> %r : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<16x7xbf16, stride = 16> -> !tilegpu.buffer<16x448xbf16, stride = 912>
  tile.return
}

// f16 without factors: pairs as they are.
// CHECK-LABEL: llvm.func @unscaled_f16
// CHECK-NOT: f32
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK-NOT: {{f32|llvm.fmul}}
// CHECK: llvm.return
tile.kernel @unscaled_f16 warps(4) () {
  %p = tilegpu.alloc "p" {offset = 0 : i64} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>
  %s = tilegpu.alloc "s" {offset = 9472 : i64} : !tilegpu.buffer<16x8xi8>
  %r = tilegpu.alloc "r" {offset = 9600 : i64} : !tilegpu.buffer<16x448xf16, stride = 912>
  tilegpu.dequant "dsv4" %p, %s -> %r {unscaled} : !tilegpu.buffer<16x448xf8E4M3FN, stride = 592>, !tilegpu.buffer<16x8xi8> -> !tilegpu.buffer<16x448xf16, stride = 912>
  tile.return
}
