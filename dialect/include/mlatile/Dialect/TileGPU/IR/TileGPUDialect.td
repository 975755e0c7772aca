// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILEGPU_IR_DIALECT_TD
#define MLATILE_DIALECT_TILEGPU_IR_DIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUInterfaces.td"

def TileGPU_Dialect : Dialect {
  let name = "tilegpu";
  let cppNamespace = "::mlatile::tilegpu";
  let summary = "tiles spread over threads, shared memory, asynchronous copies";
  let description = [{
    The second level. Tensors carry `#tilegpu.layout`, which says which thread
    holds which element in which register. Shared memory is explicit: buffers
    with a row stride, rings of buffers (pipeline stages), and mbarriers.

    Nothing here is attention: `dot`, `gather_async` and `dequant` are what the
    tile level's `tile.dot`, `tile.gather` and `tile.dequant` become.
  }];
  // gather_async takes its pools, reduce_warp has its kinds.
  let dependentDialects = ["::mlatile::tile::TileDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

/// Shared memory of the CTA. Buffers are reached only through buffer values.
def SharedMemory : Resource<"::mlatile::tilegpu::SharedMemory">;
def SharedRead : MemRead<SharedMemory, 0>;
def SharedWrite : MemWrite<SharedMemory, 1>;

class TileGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<TileGPU_Dialect, mnemonic, traits>;

/// An op that reads or writes shared memory and says how.
class TileGPU_SharedOp<string mnemonic, list<Trait> traits = []>
    : TileGPU_Op<mnemonic, traits # [DeclareOpInterfaceMethods<SharedAccessOpInterface>]>;
#endif
