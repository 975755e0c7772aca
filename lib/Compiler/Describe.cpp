// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel file says of its kernels before anything is bound. The result
// outlives the context: a json::Value of a StringRef is no copy.
#include "Metadata.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
namespace json = llvm::json;

namespace mlatile {
namespace {

template <class T>
std::string printed(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

json::Value defaultOf(tile::ParameterAttr param) {
  Attribute value = param.getValue();
  if (auto flag = dyn_cast_if_present<BoolAttr>(value))
    return flag.getValue();
  if (auto number = dyn_cast_if_present<IntegerAttr>(value))
    return number.getInt();
  if (auto format = dyn_cast_if_present<StringAttr>(value))
    return format.getValue().str();
  return nullptr;
}

json::Object describe(tile::ParameterAttr param) {
  json::Object result{{"name", param.getName().getValue().str()},
                      {"kind", tile::stringifyParamKind(param.getKind())}};
  if (param.isDerived())
    result["derived"] =
        (param.getSource().getValue() + "." + param.getField().getValue())
            .str();
  else
    result["default"] = defaultOf(param);
  return result;
}

json::Object describe(StringRef name, Type type) {
  auto view = dyn_cast<tile::ViewType>(type);
  bool pool = isa<tile::PoolType>(type);
  return json::Object{{"name", name.str()},
                      {"kind", view   ? "view"
                               : pool ? "pool"
                                      : "scalar"},
                      {"rank", view ? view.getRank() : 0},
                      {"element", view   ? printed(view.getElementType())
                                  : pool ? std::string()
                                         : printed(type)}};
}

json::Object describe(tile::KernelOp kernel) {
  json::Array params, args;
  for (auto param : kernel.getParams().getAsRange<tile::ParameterAttr>())
    params.push_back(describe(param));
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    args.push_back(describe(kernel.getArgName(i), type));
  return json::Object{{"name", kernel.getSymName().str()},
                      {"params", std::move(params)},
                      {"args", std::move(args)}};
}

} // namespace

json::Array describeKernels(ModuleOp module) {
  json::Array kernels;
  for (Operation &op : *module.getBody()) {
    if (auto kernel = dyn_cast<tile::KernelOp>(op))
      kernels.push_back(describe(kernel));
    else if (op.hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      kernels.push_back(
          json::Object{{"name", SymbolTable::getSymbolName(&op).str()}});
  }
  return kernels;
}

} // namespace mlatile
