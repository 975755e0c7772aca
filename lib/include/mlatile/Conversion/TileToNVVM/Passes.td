// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_CONVERSION_TILETONVVM_PASSES_TD
#define MLATILE_CONVERSION_TILETONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTileToNVVM : Pass<"convert-tile-to-nvvm", "mlir::ModuleOp"> {
  let summary = "kernels at the second level to the LLVM and NVVM dialects";
  let description = [{
    Takes kernels that are specialised, laid out, staged, planned and
    synchronised, and leaves `llvm.func`s with the ABI of docs/Pipeline.md:

    1. `scf` becomes `cf`.
    2. One full conversion. A tile becomes the registers of a thread; nothing of
       `tile`, `tilegpu`, `arith`, `math` or `cf` remains, and an operation that
       no pattern takes is an error that names it. Full rather than partial, so
       that a missing pattern is found here and not by the back end, which can
       only abort.
    3. Structs that carried tiles through block arguments dissolve into one
       block argument a register, equal thread-dependent values are merged, and
       dead ones removed. The back end then needs no LLVM passes before it.

    ```mlir
    // before
    %0 = arith.addf %a, %b : tensor<16x8xf32, #acc>
    // after: one addition a register
    %0 = llvm.fadd %a0, %b0 : f32
    %1 = llvm.fadd %a1, %b1 : f32
    ```

    Numerics: `math.exp2` and `math.log2` are `ex2.approx.ftz` and `lg2.approx`;
    `math.exp`, `math.log` and `math.tanh` are built on them. Everything else is
    rounded as `arith` says; fast-math flags are kept.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_120a\"",
           "GPU target, as ptxas spells it">
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::cf::ControlFlowDialect"];
}

#endif
