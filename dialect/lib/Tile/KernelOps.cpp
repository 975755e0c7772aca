// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.kernel, and verifiers of the ops that belong to kernels. Numbers are
// those of the ODS text.
#include "NameChecker.h"
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

//===-- Small ops
//----------------------------------------------------------===//

LogicalResult RequireOp::verify() {
  IntegerSet set = getSet();
  if (set.getNumSymbols() != 0 ||
      set.getNumDims() != getNames().size()) // require_c1
    return emitOpError() << "expected one parameter a dimension of the set and "
                            "no symbols, got "
                         << getNames().size() << " parameters, "
                         << set.getNumDims() << " dimensions and "
                         << set.getNumSymbols() << " symbols";
  if (getMessage().empty()) // require_c3
    return emitOpError("expected a message that says what is required");
  return success();
}

LogicalResult DimOp::verify() {
  int64_t rank = getView().getType().getRank();
  if (getAxis() >= static_cast<uint64_t>(rank)) // dim_c1
    return emitOpError() << "expected an axis of the view, 0 to " << rank - 1
                         << ", got " << static_cast<int64_t>(getAxis());
  return success();
}

//===-- Kernel: building and text
//------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     int64_t numWarps, ArrayRef<StringRef> argNames,
                     ArrayRef<Type> argTypes) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argTypes, {})));
  state.addAttribute(getParamsAttrName(state.name), builder.getArrayAttr({}));
  state.addAttribute(getNumWarpsAttrName(state.name),
                     builder.getI64IntegerAttr(numWarps));
  state.addAttribute(getArgNamesAttrName(state.name),
                     builder.getStrArrayAttr(argNames));
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Type type : argTypes)
    block.addArgument(type, state.location);
}

/// `(4)` or `(WARPS)`.
static ParseResult parseCount(OpAsmParser &parser, Attribute &count) {
  StringRef name;
  if (parser.parseLParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword(&name))) {
    count = parser.getBuilder().getStringAttr(name);
    return parser.parseRParen();
  }
  int64_t number = 0;
  if (parser.parseInteger(number))
    return failure();
  count = parser.getBuilder().getI64IntegerAttr(number);
  return parser.parseRParen();
}

static void printCount(OpAsmPrinter &printer, Attribute count) {
  if (auto name = dyn_cast<StringAttr>(count))
    printer << '(' << name.getValue() << ')';
  else
    printer << '(' << cast<IntegerAttr>(count).getInt() << ')';
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name),
                             state.attributes))
    return failure();

  SmallVector<Attribute> params;
  auto param = [&]() -> ParseResult {
    ParameterAttr parsed = ParameterAttr::parseBare(parser);
    if (!parsed)
      return failure();
    params.push_back(parsed);
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("params")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, param))
    return failure();
  state.addAttribute(getParamsAttrName(state.name),
                     builder.getArrayAttr(params));

  Attribute count;
  if (parser.parseKeyword("warps") || parseCount(parser, count))
    return failure();
  state.addAttribute(getNumWarpsAttrName(state.name), count);
  if (succeeded(parser.parseOptionalKeyword("cluster"))) {
    if (parseCount(parser, count))
      return failure();
    state.addAttribute(getClusterAttrName(state.name), count);
  }
  if (succeeded(parser.parseOptionalKeyword("roles"))) {
    StringRef text;
    if (parser.parseLParen() || parser.parseKeyword(&text) ||
        parser.parseRParen())
      return failure();
    state.addAttribute(getRolesAttrName(state.name),
                       builder.getStringAttr(text));
  }

  SmallVector<OpAsmParser::Argument> args;
  if (parser.parseArgumentList(args, AsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  SmallVector<Type> types;
  SmallVector<Attribute> names;
  for (const OpAsmParser::Argument &arg : args) {
    types.push_back(arg.type);
    names.push_back(builder.getStringAttr(arg.ssaName.name.drop_front()));
  }
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(types, {})));
  state.addAttribute(getArgNamesAttrName(state.name),
                     builder.getArrayAttr(names));
  call_interface_impl::addArgAndResultAttrs(builder, state, args, {},
                                            getArgAttrsAttrName(state.name),
                                            getResAttrsAttrName(state.name));
  return parser.parseRegion(*state.addRegion(), args);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  if (!getParams().empty()) {
    printer << " params(";
    llvm::interleaveComma(getParams().getAsRange<ParameterAttr>(), printer,
                          [&](ParameterAttr p) { p.printBare(printer); });
    printer << ')';
  }
  printer << " warps";
  printCount(printer, getNumWarps());
  if (Attribute cluster = getClusterAttr()) {
    printer << " cluster";
    printCount(printer, cluster);
    printer << ' ';
  }
  if (std::optional<StringRef> roles = getRoles())
    printer << " roles(" << *roles << ") ";
  printer << '(';
  ArrayAttr attrs = getArgAttrsAttr();
  for (auto [i, arg] : llvm::enumerate(getBody().getArguments())) {
    if (i)
      printer << ", ";
    ArrayRef<NamedAttribute> own;
    if (attrs && i < attrs.size())
      own = cast<DictionaryAttr>(attrs[i]).getValue();
    printer.printRegionArgument(arg, own);
  }
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getParamsAttrName(),
       getNumWarpsAttrName(), getClusterAttrName(), getRolesAttrName(),
       getArgNamesAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setNameFn) {
  for (BlockArgument arg : region.getArguments())
    if (arg.getArgNumber() < getArgNames().size())
      setNameFn(arg, getArgName(arg.getArgNumber()));
}

//===-- Kernel: queries
//----------------------------------------------------===//

ParameterAttr KernelOp::lookupParam(StringRef name) {
  for (auto param : getParams().getAsRange<ParameterAttr>())
    if (param.getName().getValue() == name)
      return param;
  return {};
}

StringRef KernelOp::getArgName(unsigned i) {
  return cast<StringAttr>(getArgNames()[i]).getValue();
}

std::optional<int64_t> KernelOp::getWarpCount() {
  if (auto count = dyn_cast<IntegerAttr>(getNumWarps()))
    return count.getInt();
  return std::nullopt;
}

std::optional<int64_t> KernelOp::getClusterSize() {
  Attribute cluster = getClusterAttr();
  if (!cluster)
    return 1;
  if (auto size = dyn_cast<IntegerAttr>(cluster))
    return size.getInt();
  return std::nullopt;
}

//===-- Kernel: verifiers
//--------------------------------------------------===//

static bool isArgument(Type type) {
  return isa<ViewType, PoolType, IndexType, FloatType>(type) ||
         type.isSignlessInteger();
}

LogicalResult KernelOp::verify() {
  llvm::StringSet<> seen;
  for (auto param : getParams().getAsRange<ParameterAttr>()) {
    StringRef name = param.getName();
    if (param.isDerived()) {
      StringRef source = param.getSource();
      ParameterAttr base = lookupParam(source);
      ParamKind kind = param.getField().getValue() == kConvertsField
                           ? ParamKind::Roles
                           : ParamKind::Format;
      if (!base || !seen.contains(source) ||
          base.getKind() != kind) // kernel_c2
        return emitOpError() << "parameter " << name << ": expected a "
                             << stringifyParamKind(kind)
                             << " parameter declared before it, got " << source;
    }
    if (!seen.insert(name).second) // kernel_c1
      return emitOpError() << "parameter " << name << " is declared twice";
  }
  // kernel_c3
  if (auto name = dyn_cast<StringAttr>(getNumWarps())) {
    ParameterAttr param = lookupParam(name);
    if (!param || param.getKind() != ParamKind::Index)
      return emitOpError()
             << "expected warps to be an integer or an index parameter, got "
             << name.getValue();
  } else if (*getWarpCount() < 1 || *getWarpCount() > 32) {
    return emitOpError() << "expected 1 to 32 warps, got " << *getWarpCount();
  }
  if (std::optional<StringRef> roles = getRoles()) { // kernel_c8
    ParameterAttr param = lookupParam(*roles);
    if (!param || param.getKind() != ParamKind::Roles)
      return emitOpError() << "expected roles to be a roles parameter, got "
                           << *roles;
  }
  if (Attribute cluster = getClusterAttr()) { // kernel_c9
    auto name = dyn_cast<StringAttr>(cluster);
    ParameterAttr param = name ? lookupParam(name) : ParameterAttr();
    if (name && (!param || param.getKind() != ParamKind::Index))
      return emitOpError()
             << "expected cluster to be an integer or an index parameter, got "
             << name.getValue();
    if (!name && (*getClusterSize() < 1 || *getClusterSize() > 8))
      return emitOpError() << "expected a cluster of 1 to 8 blocks, got "
                           << *getClusterSize();
  }
  // kernel_c4
  if (!getResultTypes().empty())
    return emitOpError("expected no results; use tile.store");
  for (auto [i, type] : llvm::enumerate(getArgumentTypes()))
    if (!isArgument(type))
      return emitOpError() << "argument " << i
                           << ": expected a view, a pool or a scalar, got "
                           << type;
  // kernel_c5
  if (getArgNames().size() != getArgumentTypes().size())
    return emitOpError() << "expected one name an argument, "
                         << getArgumentTypes().size() << ", got "
                         << getArgNames().size();
  llvm::StringSet<> names;
  for (auto name : getArgNames().getAsRange<StringAttr>()) {
    if (!isValidDim(name))
      return emitOpError() << "expected an argument's name to be a letter or "
                              "_, then letters, digits or _, got '"
                           << name.getValue() << "'";
    if (!names.insert(name.getValue()).second)
      return emitOpError() << "two arguments are named '" << name.getValue()
                           << "'";
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (!isa<ReturnOp>(getBody().front().back())) // kernel_c7
    return emitOpError("expected the body to end in tile.return");
  NameChecker checker(*this); // kernel_c6, param_c1, param_c2, require_c2
  for (Type type : getArgumentTypes())
    if (failed(checker.check(*this, type)))
      return failure();
  WalkResult result = getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(checker.check(op)) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
