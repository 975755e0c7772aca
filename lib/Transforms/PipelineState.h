// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where one who goes round a ring of stages is.
#ifndef MLATILE_LIB_TRANSFORMS_PIPELINESTATE_H
#define MLATILE_LIB_TRANSFORMS_PIPELINESTATE_H

#include "mlir/IR/Builders.h"

namespace mlatile {

/// The stage of a tile or record, and the parity of the phase of its mbarriers
/// (PTX ISA, "mbarrier": phases count from 0), both i32.
struct PipelineState {
  mlir::Value stage, parity;

  /// That of the first tile of all.
  static PipelineState first(mlir::OpBuilder &b, mlir::Location loc);
  /// That of the next tile of `stages` stages.
  PipelineState next(mlir::OpBuilder &b, mlir::Location loc,
                     int64_t stages) const;
  /// The parity of the phase in which whoever had the stage before frees it.
  mlir::Value freed(mlir::OpBuilder &b, mlir::Location loc) const;
};

} // namespace mlatile
#endif
