// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads IR of every level and runs passes and pipelines on it.
#include "mlatile/Registration/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlatile::registerAllPasses();
  mlir::DialectRegistry registry;
  mlatile::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mlatile optimizer driver\n", registry));
}
