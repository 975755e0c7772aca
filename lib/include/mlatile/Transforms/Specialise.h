// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding the parameters of a kernel; the pass is tile-specialise.
#ifndef MLATILE_TRANSFORMS_SPECIALISE_H
#define MLATILE_TRANSFORMS_SPECIALISE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"
#include <map>
#include <string>

namespace mlatile {

#define GEN_PASS_DECL
#include "mlatile/Transforms/Specialise.h.inc"

#define GEN_PASS_REGISTRATION
#include "mlatile/Transforms/Specialise.h.inc"

} // namespace mlatile

namespace mlatile::tile {

/// Parameter names and their values as text: `16`, `true`, `dsv4`.
using ParamValues = std::map<std::string, std::string>;

/// Splits `NAME=VALUE NAME=VALUE`, at spaces or commas; a name given twice, or
/// a word that is not a pair, is an error.
llvm::Expected<ParamValues> parseParamValues(llvm::StringRef text);

/// Checks values for the parameters of a tile.kernel and what the kernel
/// requires of them, and changes nothing. Without `complete` parameters may be
/// missing; requirements on them are then left out. Diagnostics as by
/// `specialise`.
llvm::LogicalResult checkParams(mlir::Operation *kernel,
                                const ParamValues &params, bool complete);

/// Binds the parameters of `kernel` in `module`, in place, and erases the
/// module's other kernels and its steps. An empty name means the only kernel.
/// On failure a diagnostic has been emitted and the module is half rewritten:
/// drop it.
llvm::LogicalResult specialise(mlir::ModuleOp module, llvm::StringRef kernel,
                               const ParamValues &params);

} // namespace mlatile::tile
#endif
