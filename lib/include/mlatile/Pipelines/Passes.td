// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ends of the pipelines: one kernel of a file, and the text of its PTX.
#ifndef MLATILE_PIPELINES_PASSES_TD
#define MLATILE_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectKernel : Pass<"select-kernel", "::mlir::ModuleOp"> {
  let summary = "erase all kernels but one";
  let description = [{
    Erases all kernels of the module but one, so that the parameters of one do
    not have to fit the others. An error lists the kernels where there is no
    such one, or where `kernel` is empty and there are several. Takes kernels of
    every level, also after conversion.
  }];
  let options = [
    Option<"kernel", "kernel", "std::string", /*default=*/"\"\"", "symbol; empty: the only kernel">
  ];
}

def AttachPTX : Pass<"attach-ptx", "::mlir::ModuleOp"> {
  let summary = "generate PTX into the module's attribute tilegpu.ptx";
  let description = [{
    Sets the attribute `tilegpu.ptx` of the module, a string, to the PTX of its
    functions of the LLVM dialect, which stay.
    Precondition: `convert-tile-to-nvvm`, for the same target.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_120a\"", "GPU target, as ptxas spells it">
  ];
}

#endif
