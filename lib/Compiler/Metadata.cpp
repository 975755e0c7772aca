// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Metadata.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
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

/// The loops that gather, each with all its gathers.
static void readLoops(Operation *kernel, CompiledKernel &result) {
  llvm::MapVector<Operation *, CandidateLoop> loops;
  kernel->walk([&](tilegpu::GatherAsyncOp gather) {
    auto loop = gather->getParentOfType<scf::ForOp>();
    auto pool = dyn_cast<tile::PoolType>(gather.getPool().getType());
    if (!loop || !pool)
      return;
    CandidateLoop &found = loops[loop];
    found.depth = 0;
    for (Operation *outer = loop->getParentOp(); outer;
         outer = outer->getParentOp())
      found.depth += isa<scf::ForOp, scf::WhileOp>(outer);
    found.candidates += gather.getIds().getType().getDimSize(0);
    found.formats.push_back(pool.getFormat().getValue().str());
    found.stages = 1;
    if (auto stage = gather.getRows().getDefiningOp<tilegpu::StageOp>())
      found.stages = stage.getRing().getType().getStages();
  });
  // What is issued ahead of a loop stands in the one around it.
  auto isAround = [&](Operation *loop) {
    return llvm::any_of(loops, [&](const auto &other) {
      return loop->isProperAncestor(other.first);
    });
  };
  for (auto &[loop, found] : loops)
    if (!isAround(loop))
      result.candidateLoops.push_back(std::move(found));
}

static void readBuffers(Operation *kernel, CompiledKernel &result) {
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

void readSecondLevel(Operation *kernel, CompiledKernel &result) {
  readBuffers(kernel, result);
  readLoops(kernel, result);
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
  result.coresident = function->hasAttr("tilegpu.coresident");
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

/// One loop of a meta; `candidates` is null where it gathers none.
static llvm::json::Object loopJson(const CandidateLoop *candidates,
                                   const ptx::LoopCounts &counts,
                                   llvm::ArrayRef<ptx::LoopCounts> roles) {
  llvm::json::Object mma;
  for (const auto &[kind, count] : counts.mma)
    mma[kind] = count;
  llvm::json::Object loop{{"candidates", nullptr},
                          {"mma", std::move(mma)},
                          {"conversions", counts.conversions},
                          {"ldmatrix", counts.ldmatrix},
                          {"async_copies", counts.asyncCopies},
                          {"bulk_copies", counts.bulkCopies},
                          {"cta_barriers", counts.ctaBarriers},
                          {"named_barriers", counts.namedBarriers},
                          {"instructions", counts.instructions},
                          {"shared_traffic", counts.sharedBytes},
                          {"unknown_loops", counts.unknownLoops}};
  if (candidates) {
    loop["candidates"] = candidates->candidates;
    loop["stages"] = candidates->stages;
    loop["formats"] = llvm::json::Array(candidates->formats);
  }
  if (!roles.empty()) {
    llvm::json::Array parts;
    for (const ptx::LoopCounts &role : roles) {
      llvm::json::Object part = loopJson(nullptr, role, {});
      part.erase("candidates");
      part["warps"] = role.warps;
      parts.push_back(std::move(part));
    }
    loop["roles"] = std::move(parts);
  }
  return loop;
}

/// The loops over candidates with their counts; where the kernel has none, its
/// outermost loops.
static llvm::json::Array loopsJson(const CompiledKernel &kernel) {
  llvm::json::Array result;
  int64_t depth =
      kernel.candidateLoops.empty() ? 0 : kernel.candidateLoops.front().depth;
  std::vector<ptx::LoopCounts> found;
  for (const ptx::LoopCounts &loop : kernel.counts->loops)
    if (loop.depth == depth &&
        (kernel.candidateLoops.empty() || loop.copiesOrMultiplies()))
      found.push_back(loop);
  // Several loops of one are its roles, each run by its own warps; a role has
  // its copies of all loops in a row.
  size_t each = kernel.candidateLoops.size();
  std::vector<std::vector<ptx::LoopCounts>> roles(std::max(each, found.size()));
  if (each && found.size() > each && found.size() % each == 0) {
    for (size_t i = 0; i < found.size(); ++i) {
      roles[i % each].push_back(found[i]);
      if (i >= each)
        found[i % each].add(found[i]);
    }
    found.resize(each);
  }
  bool paired = kernel.candidateLoops.size() == found.size();
  for (auto [i, loop] : llvm::enumerate(found))
    result.push_back(
        loopJson(paired ? &kernel.candidateLoops[i] : nullptr, loop, roles[i]));
  return result;
}

llvm::json::Object CompiledKernel::meta() const {
  llvm::json::Object meta{{"name", name},
                          {"target", target},
                          {"kernel_file", kernelFile},
                          {"threads", threads},
                          {"shared_bytes", sharedBytes},
                          {"dynamic_shared_bytes", dynamicSharedBytes},
                          {"coresident", coresident}};
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
  if (counts) {
    meta["instructions"] = counts->instructions;
    meta["loops"] = loopsJson(*this);
  }
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
