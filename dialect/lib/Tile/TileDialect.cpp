// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/EnumKeyword.h"
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlatile::tile;

#include "mlatile/Dialect/Tile/IR/TileDialect.cpp.inc"

namespace {
/// Short names for `#tile.dims` and the tiles that carry it: `#dims_BH_BN`,
/// `!f32_BH_BN`.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    auto dims = dyn_cast<DimsAttr>(attr);
    if (!dims)
      return AliasResult::NoAlias;
    os << "dims";
    append(dims, os);
    return AliasResult::OverridableAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto dims = tensor ? dyn_cast_if_present<DimsAttr>(tensor.getEncoding())
                       : DimsAttr();
    if (!dims)
      return AliasResult::NoAlias;
    os << tensor.getElementType();
    append(dims, os);
    return AliasResult::OverridableAlias;
  }

private:
  static void append(DimsAttr dims, raw_ostream &os) {
    for (Attribute dim : dims.getDims())
      os << '_' << dimName(dim);
  }
};

/// Kernels may call shared steps (func.func); every op of ours may move there
/// and back, apart from what belongs to a kernel's own body. tile.call is none
/// of the inliner's calls: its names have to be replaced.
struct TileInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable,
                       bool wouldBeCloned) const final {
    return !isa<KernelOp>(callable);
  }
  bool isLegalToInline(Operation *op, Region *, bool, IRMapping &) const final {
    return !isa<KernelOp, RequireOp>(op);
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void TileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mlatile/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addInterfaces<TileAsmInterface, TileInlinerInterface>();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kPipelineAttr) {
    if (!isa<PipelineAttr>(attr.getValue()))
      return op->emitOpError() << "expected 'tile.pipeline' to be "
                                  "#tile.pipeline<stages = N>, got "
                               << attr.getValue();
    // pipeline_c2
    if (!isa<scf::ForOp>(op))
      return op->emitOpError("'tile.pipeline' stands on scf.for only");
    return success();
  }
  if (name == kBoundAttr) {
    if (!isa<KernelOp>(op) || !isa<DictionaryAttr>(attr.getValue()))
      return op->emitOpError(
          "'tile.bound' is a dictionary and stands on tile.kernel only");
    return success();
  }
  if (name == kRolesAttr) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!isa<KernelOp>(op) || !text || !parseRoleSplit(text.getValue()))
      return op->emitOpError("'tile.roles' is a text like \"4+4+8\" and stands "
                             "on tile.kernel only");
    return success();
  }
  return op->emitOpError() << "unknown attribute '" << name
                           << "'; expected tile.pipeline, tile.bound or "
                              "tile.roles";
}

#include "mlatile/Dialect/Tile/IR/TileEnums.cpp.inc"

// Parse and print helpers that the generated code below calls.
static ParseResult parseName(OpAsmParser &parser, StringAttr &name) {
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  name = parser.getBuilder().getStringAttr(text);
  return success();
}
static void printName(OpAsmPrinter &printer, Operation *, StringAttr name) {
  printer.printKeywordOrString(name.getValue());
}

static ParseResult parseNames(OpAsmParser &parser, ArrayAttr &names) {
  SmallVector<Attribute> list;
  auto one = [&]() -> ParseResult {
    StringAttr name;
    if (parseName(parser, name))
      return failure();
    list.push_back(name);
    return success();
  };
  if (parser.parseCommaSeparatedList(one))
    return failure();
  names = parser.getBuilder().getArrayAttr(list);
  return success();
}
static void printNames(OpAsmPrinter &printer, Operation *, ArrayAttr names) {
  llvm::interleaveComma(names.getAsValueRange<StringAttr>(), printer,
                        [&](StringRef name) { printer << name; });
}

static ParseResult parseBindings(OpAsmParser &parser, ArrayAttr &bindings) {
  SmallVector<Attribute> list;
  auto one = [&]() -> ParseResult {
    BindingAttr binding = BindingAttr::parseBare(parser);
    if (!binding)
      return failure();
    list.push_back(binding);
    return success();
  };
  if (parser.parseCommaSeparatedList(one))
    return failure();
  bindings = parser.getBuilder().getArrayAttr(list);
  return success();
}
static void printBindings(OpAsmPrinter &printer, Operation *,
                          ArrayAttr bindings) {
  llvm::interleaveComma(
      bindings.getAsRange<BindingAttr>(), printer,
      [&](BindingAttr binding) { binding.printBare(printer); });
}

/// The `else` value has the view's element type, so the text leaves it out.
static ParseResult
parseViewType(OpAsmParser &parser, Type &view,
              std::optional<OpAsmParser::UnresolvedOperand> pad,
              Type &padType) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(view))
    return failure();
  auto viewType = dyn_cast<ViewType>(view);
  if (!viewType)
    return parser.emitError(loc) << "expected a !tile.view, got " << view;
  if (pad)
    padType = viewType.getElementType();
  return success();
}
static void printViewType(OpAsmPrinter &printer, Operation *, Type view, Value,
                          Type) {
  printer << view;
}

ParseResult mlatile::tile::parseReduceKind(OpAsmParser &parser,
                                           ReduceKindAttr &kind) {
  return parseEnumKeyword(
      parser, kind, [](StringRef word) { return symbolizeReduceKind(word); },
      "addf, maximumf, minimumf, addi or maxsi");
}
void mlatile::tile::printReduceKind(OpAsmPrinter &printer, Operation *,
                                    ReduceKindAttr kind) {
  printer << stringifyReduceKind(kind.getValue());
}
static ParseResult parseRowField(OpAsmParser &parser, RowFieldAttr &field) {
  return parseEnumKeyword(
      parser, field, [](StringRef word) { return symbolizeRowField(word); },
      "nope, rope, payload or scale");
}
static void printRowField(OpAsmPrinter &printer, Operation *,
                          RowFieldAttr field) {
  printer << stringifyRowField(field.getValue());
}

#define GET_OP_CLASSES
#include "mlatile/Dialect/Tile/IR/TileOps.cpp.inc"
