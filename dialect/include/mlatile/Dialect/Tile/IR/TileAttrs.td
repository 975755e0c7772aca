// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILE_IR_TILEATTRS_TD
#define MLATILE_DIALECT_TILE_IR_TILEATTRS_TD

include "mlatile/Dialect/Tile/IR/TileDialect.td"
include "mlatile/Dialect/Tile/IR/TileReduceKind.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tile_DimsAttr : Tile_Attr<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "names of the dimensions of a tile";
  let description = [{
    One entry a dimension: the name of an `index` parameter of the kernel (the
    dimension is `?`) or an integer (the dimension is static and has that
    size). There is no arithmetic inside: a derived size is a parameter with
    its own name.

    Constraints:
    * dims_c1: an entry is a name or an integer of 0 or more.
    * dims_c2: as many entries as the tensor has dimensions.
    * dims_c3: a named dimension is `?`; an integer equals the static size.

    Example:
    ```mlir
    tensor<?x512xbf16, #tile.dims<BH, 512>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute", "names and integers">:$dims);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_PipelineAttr : Tile_Attr<"Pipeline", "pipeline"> {
  let summary = "how far ahead the gathers of a loop are issued";
  let description = [{
    `stages` buffers: gathers are issued `stages - 1` iterations ahead, the
    loads of their indices one more. One stage is no overlap.

    Constraints:
    * pipeline_c1: `stages` is from 1 to 8.
    * pipeline_c2: `tile.pipeline` stands on `scf.for` only.

    Example:
    ```mlir
    #tile.pipeline<stages = 2>
    ```
  }];
  let parameters = (ins AttrParameter<"int64_t", "of the ring">:$stages);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_ParamKind : I32EnumAttr<"ParamKind", "type of a kernel parameter", [
    I32EnumAttrCase<"Format", 0, "format">,
    I32EnumAttrCase<"Index", 1, "index">,
    I32EnumAttrCase<"Bool", 2, "i1">,
    I32EnumAttrCase<"Roles", 3, "roles">]> {
  let cppNamespace = "::mlatile::tile";
  let genSpecializedAttr = 0;
}

def Tile_ParameterAttr : Tile_Attr<"Parameter", "parameter"> {
  let summary = "one parameter of a kernel";
  let description = [{
    A name, a kind (`format`, `index`, `i1` or `roles`) and where the value comes from:
    the caller (no default), a default, or a field of a format parameter:
    `nope`, `rope`, `group`, `groups`, `dim_qk`, `dim_v` (`index`),
    `rope_in_value`, `scale_e4m3` or `scale_f32` (`i1`); or `converts` (`i1`) of a
    roles parameter: whether the warps that gather convert. A derived parameter cannot be given by the caller.

    Constraints:
    * parameter_c1: the default has the parameter's kind; an `index` is from 0
      to 2147483647, a format is a known one, in quotes, roles are `none` or
      warps in quotes (docs/Roles.md).
    * parameter_c2: the field exists and has the parameter's kind.

    Examples:
    ```mlir
    #tile.parameter<BH : index = 16>
    #tile.parameter<FMT : format = "dsv4">
    #tile.parameter<NOPE : index = FMT.nope>
    #tile.parameter<ROLES : roles = none>
    #tile.parameter<ROLES : roles = "4+4+8">
    #tile.parameter<CONVERTS : i1 = ROLES.converts>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::mlir::StringAttr", "as the kernel says it">:$name,
    AttrParameter<"::mlatile::tile::ParamKind", "`format`, `index`, `i1` or `roles`">:$kind,
    OptionalParameter<"::mlir::Attribute", "the default, null if none">:$value,
    OptionalParameter<"::mlir::StringAttr", "the format parameter derived from">:$source,
    OptionalParameter<"::mlir::StringAttr", "the field of it">:$field);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isDerived() const { return getSource() != nullptr; }
    /// `NAME : kind = default`, without the attribute's brackets.
    static ParameterAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
  }];
}

def Tile_BindingAttr : Tile_Attr<"Binding", "binding"> {
  let summary = "what a name of a step stands for in one call";
  let description = [{
    `name` is a name that the step uses. It stands for a name of the caller
    (`to`) or for a value: an integer, `true` or `false`, a format in quotes.

    Constraints:
    * binding_c1: `name` and `to` are a letter or `_` first, then letters,
      digits or `_`.
    * binding_c2: either `to` or a value; an integer (`index`) is from 0 to
      2147483647, a text is a known format or roles (docs/Roles.md).

    Examples:
    ```mlir
    #tile.binding<FMT = EXTRA>
    #tile.binding<BN = 16>
    #tile.binding<FMT = "dsv4">
    #tile.binding<SPLIT = true>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::mlir::StringAttr", "as the step says it">:$name,
    OptionalParameter<"::mlir::StringAttr", "the name in the caller">:$to,
    OptionalParameter<"::mlir::Attribute", "the value, null if it is a name">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `NAME = what`, without the attribute's brackets.
    static BindingAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
    /// What the name stands for, as in the source: `EXTRA`, `16`, `"dsv4"`.
    ::std::string getText() const;
  }];
}

def Tile_RowField : I32EnumAttr<"RowField", "part of a gathered row", [
    I32EnumAttrCase<"Nope", 0, "nope">,
    I32EnumAttrCase<"Rope", 1, "rope">,
    I32EnumAttrCase<"Payload", 2, "payload">,
    I32EnumAttrCase<"Scale", 3, "scale">]> {
  let cppNamespace = "::mlatile::tile";
  let genSpecializedAttr = 0;
}
def Tile_RowFieldAttr : EnumAttr<Tile_Dialect, Tile_RowField, "row_field"> {
  let assemblyFormat = "$value";
}

#endif
