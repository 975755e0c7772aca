// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every tool that reads our IR registers: one list of dialects, one of
// passes.
#ifndef MLATILE_REGISTRATION_REGISTRATION_H
#define MLATILE_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlatile {

/// Our dialects, those that kernels are written with, and those they are
/// lowered to.
void registerAllDialects(mlir::DialectRegistry &registry);
/// Our passes and pipelines, and the upstream ones that are useful beside them.
void registerAllPasses();

} // namespace mlatile
#endif
