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

    Layouts of the examples, all over four warps: `#acc` holds the sums of a
    product of 16 x 64, `#wide` of 16 x 512, `#block` of 16 x 128, `#packed`
    of 16 x 448 with columns packed as 8-bit values bring them; `#opA` is
    operand a of a product, `#part` what a reduction of `#acc` inside each warp
    leaves; `#ids` has a row a thread, `#rows` 16 bytes a thread.

    ```mlir
    #acc = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                           warp = [[0, 8], [0, 16]], reps = [1, 2]>
    #wide = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                            warp = [[0, 8], [0, 16]], reps = [1, 16]>
    #block = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                             warp = [[0, 8], [0, 16]], reps = [1, 4]>
    #opA = #tilegpu.layout<reg = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                           warp = [[0, 0], [0, 0]], reps = [1, 4]>
    #packed = #tilegpu.layout<reg = [[0, 2], [8, 0], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
                              warp = [[0, 16], [0, 32]], reps = [1, 7]>
    #part = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]],
                            warp = [[0, 1], [0, 2]], reps = [1, 1]>
    #ids = #tilegpu.layout<reg = [], lane = [[0], [1], [2], [4], [8]], warp = [[16], [32]], reps = [1]>
    #rows = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                            warp = [[4, 0], [8, 0]], reps = [1, 1]>
    ```
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
