// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The named pipelines (docs/Pipeline.md, section 3).
#ifndef MLATILE_PIPELINES_PIPELINES_H
#define MLATILE_PIPELINES_PIPELINES_H

#include "mlatile/Compiler/KernelFiles.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <map>
#include <memory>
#include <string>

namespace mlatile {

// createSelectKernel, createAttachPTX: see Passes.td.
#define GEN_PASS_DECL
#include "mlatile/Pipelines/Passes.h.inc"

/// Options of the named pipelines, as in
/// --mlatile-tile-to-ptx="target=sm_90a kernel=decode params=BH=16,FMT=dsv4".
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("GPU target, as ptxas spells it"),
                             llvm::cl::init("sm_120a")};
  Option<std::string> kernel{
      *this, "kernel",
      llvm::cl::desc("the kernel to keep; empty: the only one")};
  Option<std::string> params{*this, "params",
                             llvm::cl::desc("name=value, comma-separated")};
  Option<std::string> steps{
      *this, "steps",
      llvm::cl::desc("a folder of steps that is looked at first")};
  /// Steps that are looked at before those.
  std::vector<StepFile> ownSteps;
};

/// The text of `PipelineOptions::params` and of tile-specialise.
std::string joinParams(const std::map<std::string, std::string> &params);

/// Keeps the one kernel.
void buildSelection(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Links and inlines the steps, binds the kernel's parameters.
void buildSpecialise(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Layouts, staging and gather pipeline, of specialised kernels.
void buildStaging(mlir::OpPassManager &pm, const PipelineOptions &options);
/// Shared-memory plan and barriers.
void buildPlacement(mlir::OpPassManager &pm, const PipelineOptions &options);
/// The full conversion to the LLVM and NVVM dialects.
void buildConversion(mlir::OpPassManager &pm, const PipelineOptions &options);

/// The whole of mlatile-tile-to-nvvm with its default options as text, for
/// those who must tell one compiler from another.
std::string describePipeline();

/// Registers those two passes and the pipelines mlatile-tile-to-tilegpu,
/// mlatile-tilegpu-to-nvvm, mlatile-tile-to-nvvm and mlatile-tile-to-ptx.
void registerPipelines();

} // namespace mlatile
#endif
