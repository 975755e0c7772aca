// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
llvm.func @one(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>, tilegpu.shared_bytes = 2048 : i64, tilegpu.args = [{name = "p", kind = "view", rank = 1 : i64, element = "i32"}]} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  llvm.store %tid, %p : i32, !llvm.ptr<1>
  llvm.return
}
