// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Metadata.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mlatile {
namespace {

std::string text(Attribute attr) {
  return llvm::TypeSwitch<Attribute, std::string>(attr)
      .Case([](BoolAttr a) { return a.getValue() ? "true" : "false"; })
      .Case([](IntegerAttr a) { return std::to_string(a.getInt()); })
      .Case([](StringAttr a) { return a.getValue().str(); })
      .Default([](Attribute a) {
        std::string printed;
        llvm::raw_string_ostream stream(printed);
        a.print(stream);
        return printed;
      });
}

/// A parameter's value with the type it has in JSON.
llvm::json::Value jsonValue(const std::string &value) {
  int64_t number;
  if (value == "true" || value == "false")
    return value == "true";
  if (!llvm::StringRef(value).getAsInteger(10, number))
    return number;
  return value;
}

} // namespace

void readParams(Operation *kernel, CompiledKernel &result) {
  if (auto bound =
          kernel->getAttrOfType<DictionaryAttr>(tile::TileDialect::kBoundAttr))
    for (NamedAttribute entry : bound)
      result.params[entry.getName().str()] = text(entry.getValue());
}

void readBuffers(Operation *kernel, CompiledKernel &result) {
  // Passes give several buffers one name; the second is "name.1".
  std::map<std::string, int> seen;
  kernel->walk([&](tilegpu::AllocOp alloc) {
    std::optional<uint64_t> offset = alloc.getOffset();
    if (!offset)
      return;
    std::string name = alloc.getName().str();
    if (int copies = seen[name]++)
      name += "." + std::to_string(copies);
    result.buffers.emplace_back(std::move(name), *offset, alloc.getNumBytes());
  });
}

void readFunction(Operation *op, CompiledKernel &result) {
  auto function = cast<LLVM::LLVMFuncOp>(op);
  result.name = function.getSymName().str();
  if (auto threads = function->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getReqntidAttrName())) {
    result.threads = 1;
    for (int32_t extent : threads.asArrayRef())
      result.threads *= extent;
  }
  if (auto bytes = function->getAttrOfType<IntegerAttr>("tilegpu.shared_bytes"))
    result.sharedBytes = bytes.getInt();
  if (auto args = function->getAttrOfType<ArrayAttr>("tilegpu.args")) {
    for (Attribute entry : args) {
      auto dict = dyn_cast<DictionaryAttr>(entry);
      if (!dict)
        continue;
      KernelArg arg;
      auto field = [&](StringRef name) {
        Attribute value = dict.get(name);
        return value ? text(value) : std::string();
      };
      arg.name = field("name");
      arg.kind = field("kind");
      arg.element = field("element");
      if (auto rank = dict.getAs<IntegerAttr>("rank"))
        arg.rank = rank.getInt();
      result.args.push_back(std::move(arg));
    }
    return;
  }
  // A function that was written as LLVM: its parameters as they are.
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    KernelArg arg;
    arg.name = "arg" + std::to_string(index);
    arg.kind = "scalar";
    llvm::raw_string_ostream(arg.element) << type;
    result.args.push_back(std::move(arg));
  }
}

llvm::json::Object CompiledKernel::meta() const {
  llvm::json::Object meta{{"name", name},
                          {"target", target},
                          {"kernel_file", kernelFile},
                          {"threads", threads},
                          {"shared_bytes", sharedBytes},
                          {"dynamic_shared_bytes", dynamicSharedBytes}};
  llvm::json::Object bound;
  for (const auto &[key, value] : params)
    bound[key] = jsonValue(value);
  meta["params"] = std::move(bound);
  llvm::json::Array arguments;
  for (const KernelArg &arg : args)
    arguments.push_back(llvm::json::Object{{"name", arg.name},
                                           {"kind", arg.kind},
                                           {"rank", arg.rank},
                                           {"element", arg.element}});
  meta["args"] = std::move(arguments);
  llvm::json::Object places;
  for (const auto &[buffer, offset, bytes] : buffers)
    places[buffer] = llvm::json::Array{offset, bytes};
  meta["buffers"] = std::move(places);
  llvm::json::Object times;
  for (const auto &[stage, time] : seconds)
    times[stage] = time;
  meta["seconds"] = std::move(times);
  meta["ptxas"] = nullptr;
  if (ptxas)
    meta["ptxas"] = llvm::json::Object{{"path", ptxas->path},
                                       {"version", ptxas->version},
                                       {"registers", report.registers},
                                       {"spill_stores", report.spillStores},
                                       {"spill_loads", report.spillLoads},
                                       {"stack", report.stack},
                                       {"static_shared", report.staticShared},
                                       {"barriers", report.barriers}};
  return meta;
}

} // namespace mlatile
