// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILEGPU_IR_ATTRS_TD
#define MLATILE_DIALECT_TILEGPU_IR_ATTRS_TD
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUDialect.td"

def DistributedLayoutParameter
    : AttrOrTypeParameter<"::mlatile::DistributedLayout", "the layout",
                          "const ::mlatile::DistributedLayout &">;

def LayoutAttr : AttrDef<TileGPU_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which thread holds which element of a tensor";
  let description = [{
    Wraps `mlatile::DistributedLayout` (see its header and docs/Layouts.md): a
    block that is linear over GF(2) in the bits of register, lane and warp,
    repeated `reps[d]` times along dimension d.

    Constraints:
    * layout_c1: the bases are those of a layout that
      `DistributedLayout::create` accepts (its message is repeated).
    * layout_c2: as the encoding of a tensor, the layout's shape is the
      tensor's.

    Example, the accumulator of `mma.m16n8` for 16 x 448 over four warps:
    ```mlir
    #tilegpu.layout<reg = [[0, 1], [8, 0]],
                    lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                    warp = [[0, 8], [0, 16]], reps = [1, 14]>
    ```
  }];
  let parameters = (ins DistributedLayoutParameter:$distributed);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Number of warps that hold the tensor.
    int getNumWarps() const { return getDistributed().numWarps(); }
    /// The layout of a tensor type, or null.
    static LayoutAttr of(::mlir::Type type);
  }];
}

def SyncScope : I32EnumAttr<"SyncScope", "who waits for whom", [
    I32EnumAttrCase<"Cta", 0, "cta">,
    I32EnumAttrCase<"Warp", 1, "warp">,
    I32EnumAttrCase<"Role", 2, "role">]> {
  let cppNamespace = "::mlatile::tilegpu";
  let genSpecializedAttr = 0;
}
def SyncScopeAttr : EnumAttr<TileGPU_Dialect, SyncScope, "scope"> {
  let assemblyFormat = "$value";
}
#endif
