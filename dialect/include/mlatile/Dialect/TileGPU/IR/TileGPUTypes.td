// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILEGPU_IR_TYPES_TD
#define MLATILE_DIALECT_TILEGPU_IR_TYPES_TD
include "mlir/IR/AttrTypeBase.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUDialect.td"

class TileGPU_Type<string name, string mnem> : TypeDef<TileGPU_Dialect, name> {
  let mnemonic = mnem;
  let genVerifyDecl = 1;
}

def TileGPU_Buffer : TileGPU_Type<"Buffer", "buffer"> {
  let summary = "a tile in shared memory";
  let description = [{
    One to three dimensions: planes of rows of elements. Rows follow each other
    at `stride` bytes, from plane to plane too, elements of a row are contiguous.
    Without `stride` rows are tight.

    Constraints:
    * buffer_c1: one to three dimensions, each between 1 and 2^20, and at most
      2^20 rows in all planes.
    * buffer_c2: the element is an integer or float of 8, 16, 32 or 64 bits, or
      a float of 4 bits, two in a byte, low bits first, and an even number of
      columns.
    * buffer_c3: the stride is at least a row, a multiple of the element and at
      most 2^20; a buffer of one dimension has none.

    Example:
    ```mlir
    !tilegpu.buffer<32x448xbf16, stride = 912>
    !tilegpu.buffer<64xi32>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "planes, rows and columns, or fewer">:$shape,
                        TypeParameter<"::mlir::Type", "of an element">:$elementType,
                        TypeParameter<"int64_t", "from one row to the next, in bytes">:$strideBytes);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 0;
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType), [{
      return $_get($_ctxt, shape, elementType,
                   shape.back() * elementType.getIntOrFloatBitWidth() / 8);
    }]>];
  let extraClassDeclaration = [{
    int getRank() const { return static_cast<int>(getShape().size()); }
    /// Of all planes.
    int64_t getRows() const {
      int64_t rows = 1;
      for (int64_t size : getShape().drop_back())
        rows *= size;
      return rows;
    }
    int64_t getCols() const { return getShape().back(); }
    int64_t getElementBits() const { return getElementType().getIntOrFloatBitWidth(); }
    /// Of elements that have an address of their own; 0 of those of 4 bits.
    int64_t getElementBytes() const { return getElementBits() / 8; }
    /// Bytes of a row without its padding.
    int64_t getRowBytes() const { return getCols() * getElementBits() / 8; }
    /// Bytes from the first element to past the last: the last row has no padding.
    int64_t getNumBytes() const { return (getRows() - 1) * getStrideBytes() + getRowBytes(); }
    /// Every row starts at a multiple of 16 bytes, if the buffer does (the arena's places do).
    bool hasAlignedRows() const { return getRows() == 1 || getStrideBytes() % 16 == 0; }
  }];
}

def TileGPU_Ring : TileGPU_Type<"Ring", "ring"> {
  let summary = "the stages of a pipeline, one buffer each";
  let description = [{
    All of one type. They follow each other, each at a multiple of 16 bytes.

    Constraints:
    * ring_c1: between 1 and 64 stages.

    Example:
    ```mlir
    !tilegpu.ring<2, !tilegpu.buffer<64x576xi8, stride = 592>>
    ```
  }];
  let parameters = (ins TypeParameter<"int64_t", "how many">:$stages,
                        TypeParameter<"::mlatile::tilegpu::BufferType", "of one stage">:$buffer);
  let assemblyFormat = "`<` $stages `,` qualified($buffer) `>`";
  let extraClassDeclaration = [{
    /// From one stage to the next: the buffer, rounded up to 16 bytes.
    int64_t getStageBytes() const { return (getBuffer().getNumBytes() + 15) / 16 * 16; }
    int64_t getNumBytes() const { return getStages() * getStageBytes(); }
  }];
}

def TileGPU_MBarriers : TileGPU_Type<"MBarriers", "mbarriers"> {
  let summary = "mbarrier objects in shared memory";
  let description = [{
    That many mbarriers of 8 bytes (PTX ISA, "Parallel synchronization and
    communication instructions: mbarrier").

    Constraints:
    * mbarriers_c1: between 1 and 64 of them.

    Example:
    ```mlir
    !tilegpu.mbarriers<2>
    ```
  }];
  let parameters = (ins TypeParameter<"int64_t", "how many">:$count);
  let assemblyFormat = "`<` $count `>`";
  let extraClassDeclaration = [{
    int64_t getNumBytes() const { return 8 * getCount(); }
  }];
}

def TileGPU_Channel : TileGPU_Type<"Channel", "channel"> {
  let summary = "a queue of records between roles";
  let description = [{
    At most `stages` records at a time; a record has one value of each type.
    Tiles are named without their layout, which differs between the two ends.
    Gathered rows (`!tile.rows`) stand in the place to which they are copied.

    Constraints:
    * channel_c1: between 1 and 8 stages.
    * channel_c2: at least one type; each is a static tensor of one or two
      dimensions without an encoding, or `!tile.rows`, which is the first one
      and is followed by its validity (i1, one a row) alone.

    Example:
    ```mlir
    !tilegpu.channel<2, [tensor<64x32xbf16>, tensor<64xf32>]>
    ```
  }];
  let parameters = (ins TypeParameter<"int64_t", "how many records at a time">:$stages,
                        ArrayRefParameter<"::mlir::Type", "of a record">:$types);
  let assemblyFormat = "`<` $stages `,` `[` $types `]` `>`";
  let extraClassDeclaration = [{
    /// Whether records are gathered rows.
    bool carriesRows() const;
  }];
}

def TileGPU_Shared : AnyTypeOf<[TileGPU_Buffer, TileGPU_Ring, TileGPU_MBarriers],
                               "shared memory (buffer, ring or mbarriers)">;

/// A tensor whose elements are spread over threads.
def TileGPU_Tile : Type<
    CPred<"::mlatile::tilegpu::LayoutAttr::of($_self) != nullptr">,
    "tensor with a #tilegpu.layout", "::mlir::RankedTensorType">;
/// One that may still be without: tile-assign-layouts gives it one.
def TileGPU_AnyTile : StaticShapeTensorOf<[AnyType]>;
def TileGPU_Operand : AnyTypeOf<[TileGPU_Buffer, TileGPU_Tile], "buffer or tensor with a #tilegpu.layout">;
#endif
