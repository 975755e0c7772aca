// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembles convert-tile-to-nvvm: see Passes.td for what it promises.
#include "DissolveStructs.h"
#include "RolesToNVVM.h"
#include "mlatile/Conversion/TileToNVVM/Passes.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlatile {
#define GEN_PASS_DEF_CONVERTTILETONVVM
#include "mlatile/Conversion/TileToNVVM/Passes.h.inc"
} // namespace mlatile

using namespace mlir;

namespace mlatile {
namespace {

struct ConvertTileToNVVMPass
    : impl::ConvertTileToNVVMBase<ConvertTileToNVVMPass> {
  using ConvertTileToNVVMBase::ConvertTileToNVVMBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Target *chip = findTarget(target);
    if (!chip) {
      module.emitError("expected a known target, got '") << target << "'";
      return signalPassFailure();
    }
    if (failed(lowerControlFlow(module)) || failed(convert(module, *chip)))
      return signalPassFailure();
    inlineRoles(module);
    module.walk([](LLVM::LLVMFuncOp function) { dissolveStructs(function); });
  }

private:
  // Before the conversion, so that blocks and their arguments are there when
  // types are converted.
  LogicalResult lowerControlFlow(ModuleOp module) {
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget legality(getContext());
    legality.addIllegalDialect<scf::SCFDialect>();
    legality.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(module, legality, std::move(patterns));
  }

  LogicalResult convert(ModuleOp module, const Target &chip) {
    TileTypeConverter types(&getContext());
    RewritePatternSet patterns(&getContext());
    populateKernelPatterns(types, chip, patterns);
    populateLaunchPatterns(types, chip, patterns);
    populateCounterPatterns(types, chip, patterns);
    populateGlobalPatterns(types, chip, patterns);
    populateElementwisePatterns(types, chip, patterns);
    populateMathPatterns(types, chip, patterns);
    populateReducePatterns(types, chip, patterns);
    populateLayoutPatterns(types, chip, patterns);
    populateScalePatterns(types, chip, patterns);
    populateProgramPatterns(types, chip, patterns);
    populateMovmatrixPatterns(types, chip, patterns);
    populateDotPatterns(types, chip, patterns);
    populateSharedPatterns(types, chip, patterns);
    populateFragmentLoadPatterns(types, chip, patterns);
    populatePeerPatterns(types, chip, patterns);
    populateGatherPatterns(types, chip, patterns);
    populateCopyPatterns(types, chip, patterns);
    populateDequantPatterns(types, chip, patterns);
    populateBarrierPatterns(types, chip, patterns);
    // Scalars, indices and branches are as upstream has them.
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);

    ConversionTarget legality(getContext());
    legality.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    // Roles keep their regions, where thread numbers belong, to the end.
    legality.addLegalOp<ModuleOp, tilegpu::RolesOp, tilegpu::RoleEndOp>();
    return applyFullConversion(module, legality, std::move(patterns));
  }
};

} // namespace
} // namespace mlatile
