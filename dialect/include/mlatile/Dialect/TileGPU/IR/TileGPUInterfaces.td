// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILEGPU_IR_INTERFACES_TD
#define MLATILE_DIALECT_TILEGPU_IR_INTERFACES_TD
include "mlir/IR/OpBase.td"

def SharedAccessOpInterface : OpInterface<"SharedAccessOpInterface"> {
  let cppNamespace = "::mlatile::tilegpu";
  let description = [{
    What an op does to the shared buffers among its operands, and, where known,
    which thread touches which element. A pass that inserts barriers asks this.
  }];
  let methods = [
    InterfaceMethod<[{
        Every access, one entry an operand and direction (an operand that is
        read and written has two). Operands that are no shared memory have none.
      }],
      "::llvm::SmallVector<::mlatile::tilegpu::SharedAccess>",
      "getSharedAccesses", (ins)>
  ];
}
#endif
