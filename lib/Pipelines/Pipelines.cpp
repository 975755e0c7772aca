// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/Pipelines.h"
#include "mlatile/Conversion/TileToNVVM/Passes.h"
#include "mlatile/Transforms/Passes.h"
#include "mlatile/Transforms/Specialise.h"
#include "mlatile/Transforms/Steps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace mlatile {

std::string joinParams(const std::map<std::string, std::string> &params) {
  std::string text;
  for (const auto &[name, value] : params)
    text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

void buildSelection(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createSelectKernel({options.kernel}));
}

void buildSpecialise(OpPassManager &pm, const PipelineOptions &options) {
  // Steps that kernels share are functions over the names of parameters.
  pm.addPass(createLinkSteps({.steps = options.steps}, options.ownSteps));
  pm.addPass(createInlinerPass());
  pm.addPass(createInlineCalls());
  pm.addPass(createTileSpecialise(
      {.params = options.params, .kernel = options.kernel}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void buildStaging(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createAssignRoles());
  pm.addPass(createAssignLayouts());
  pm.addPass(createLowerChannels());
  pm.addPass(createPipelineGathers());
  pm.addPass(createTileToTileGPU());
  pm.addPass(createHoldOperands());
  pm.addPass(createLowerPeers());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createBatchExchanges());
}

void buildPlacement(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createPlanShared({.target = options.target}));
  pm.addPass(createInsertSyncs());
}

void buildConversion(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createConvertTileToNVVM({.target = options.target}));
}

std::string describePipeline() {
  OpPassManager pm("builtin.module");
  PipelineOptions options;
  buildSelection(pm, options);
  buildSpecialise(pm, options);
  buildStaging(pm, options);
  buildPlacement(pm, options);
  buildConversion(pm, options);
  std::string text;
  llvm::raw_string_ostream stream(text);
  pm.printAsTextualPipeline(stream);
  return text;
}

#define GEN_PASS_REGISTRATION
#include "mlatile/Pipelines/Passes.h.inc"

void registerPipelines() {
  registerPipelinesPasses();
  PassPipelineRegistration<PipelineOptions>(
      "mlatile-tile-to-tilegpu",
      "author's level to the second level: layouts, staging, gather pipeline",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildSelection(pm, options);
        buildSpecialise(pm, options);
        buildStaging(pm, options);
      });
  PassPipelineRegistration<PipelineOptions>(
      "mlatile-tilegpu-to-nvvm",
      "second level to NVVM: shared-memory plan, barriers, conversion",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildPlacement(pm, options);
        buildConversion(pm, options);
      });
  PassPipelineRegistration<PipelineOptions>(
      "mlatile-tile-to-nvvm", "author's level to the LLVM and NVVM dialects",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildSelection(pm, options);
        buildSpecialise(pm, options);
        buildStaging(pm, options);
        buildPlacement(pm, options);
        buildConversion(pm, options);
      });
  PassPipelineRegistration<PipelineOptions>(
      "mlatile-tile-to-ptx",
      "author's level to PTX, in the module's attribute tilegpu.ptx",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildSelection(pm, options);
        buildSpecialise(pm, options);
        buildStaging(pm, options);
        buildPlacement(pm, options);
        buildConversion(pm, options);
        pm.addPass(createAttachPTX({options.target}));
      });
}

} // namespace mlatile
