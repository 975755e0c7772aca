// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a target lacks is refused at its source line, before code generation.
// RUN: mlatile-compile %s --kernel=mma --target=sm_120a | FileCheck %s --check-prefix=PTX
// RUN: not mlatile-compile %s --kernel=mma --target=sm_90a -o /dev/null 2>&1 | FileCheck %s --check-prefix=MMA
// RUN: not mlatile-compile %s --kernel=mma --target=sm_90a --emit=llvm 2>&1 | FileCheck %s --check-prefix=MMA
// RUN: not mlatile-compile %s --kernel=version --target=sm_90a 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: mlatile-compile %s --kernel=version --target=sm_121a -o /dev/null
// RUN: not mlatile-compile %s --kernel=nowhere --target=sm_120a 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not mlatile-compile %s --kernel=inline_asm --target=sm_120a 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not mlatile-compile %s --kernel=logarithm 2>&1 | FileCheck %s --check-prefix=LOG
// RUN: not mlatile-compile %s --kernel=outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE

// PTX: mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32
// MMA: refused.mlir:[[#@LINE+3]]:{{[0-9]+}}: error: target sm_90a has no mma of kind::f8f6f4 (llvm.nvvm.mma.m16n8k32.row.col.kind.f8f6f4.f32.e4m3.e4m3.f32)
// MMA-NOT: {{.}}
llvm.func @mma(%p: !llvm.ptr<1>, %a: i32, %c: f32) attributes {nvvm.kernel} {
  %d = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.kind.f8f6f4.f32.e4m3.e4m3.f32"(%a, %a, %a, %a, %a, %a, %c, %c, %c, %c) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %x = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %x, %p : f32, !llvm.ptr<1>
  llvm.return
}

// VERSION: refused.mlir:[[#@LINE+2]]:{{[0-9]+}}: error: cp.async.bulk to .shared::cta (llvm.nvvm.cp.async.bulk.global.to.shared.cta) needs PTX 8.6, target sm_90a is compiled as PTX 8.0
llvm.func @version(%dst: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %src: !llvm.ptr<1>, %size: i32) attributes {nvvm.kernel} {
  nvvm.cp.async.bulk.shared.cluster.global %dst, %src, %bar, %size : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// NOWHERE: refused.mlir:[[#@LINE+3]]:{{[0-9]+}}: error: target sm_120a has no redux.sync.fmax
llvm.func @nowhere(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %m = llvm.mlir.constant(-1 : i32) : i32
  %y = nvvm.redux.sync fmax %x, %m : f32 -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
}

// ASM: refused.mlir:[[#@LINE+2]]:{{[0-9]+}}: error: target sm_120a has no wgmma.fence.sync.aligned
llvm.func @inline_asm() attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "{ wgmma.fence.sync.aligned; }", "" : () -> ()
  llvm.return
}

// LOG: refused.mlir:[[#@LINE+2]]:{{[0-9]+}}: error: NVPTX has no code for llvm.log2.f32; use llvm.nvvm.lg2.approx.f
llvm.func @logarithm(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %y = llvm.intr.log2(%x) : (f32) -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
}

// OUTSIDE: refused.mlir:[[#@LINE+3]]:{{[0-9]+}}: error: call of function 'helper', which has no body
llvm.func @helper(f32) -> f32
llvm.func @outside(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %y = llvm.call @helper(%x) : (f32) -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
}
