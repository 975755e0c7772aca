// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Compiler/Compiler.h"
#include "Metadata.h"
#include "PassDump.h"
#include "mlatile/Compiler/KernelFiles.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Pipelines/Pipelines.h"
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "mlatile/Pipelines/TranslateToPTX.h"
#include "mlatile/Registration/Registration.h"
#include "mlatile/Transforms/Specialise.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>

using namespace mlir;

namespace mlatile {

char CompilerError::ID;

namespace {
using Kind = CompilerError::Kind;

llvm::Error failure(Kind kind, const llvm::Twine &message) {
  return llvm::make_error<CompilerError>(kind, message.str());
}
llvm::Error failure(Kind kind, llvm::Error error) {
  return failure(kind, llvm::toString(std::move(error)));
}

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << '\n';
  return text;
}

/// Bytes of the module's variables in shared memory. ptxas gives also an
/// external one a static place, if its size is known.
uint64_t declaredSharedBytes(const llvm::Module &module) {
  uint64_t bytes = 0;
  for (const llvm::GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == 3)
      bytes += module.getDataLayout().getTypeAllocSize(variable.getValueType());
  return bytes;
}

/// The first level at which the kernel's operations stand.
enum class Level { Tile, TileGPU, NVVM };

/// One compilation: its context, module and what has been found out.
class Compilation {
public:
  explicit Compilation(const KernelRequest &request)
      : request(request), diagnosticStream(diagnosticText),
        context(registry(), MLIRContext::Threading::DISABLED) {}

  llvm::Expected<CompiledKernel> run();
  llvm::Expected<llvm::json::Array> describe();

private:
  static const DialectRegistry &registry() {
    static const DialectRegistry all = [] {
      DialectRegistry registry;
      registerAllDialects(registry);
      registerLLVMTranslations(registry);
      return registry;
    }();
    return all;
  }

  llvm::Error load();
  llvm::Error lower();
  llvm::Error generate();
  llvm::Error assemble();

  using Builder = void (*)(OpPassManager &, const PipelineOptions &);
  llvm::Error runPasses(llvm::StringRef stage,
                        std::initializer_list<Builder> builders);
  llvm::Error timed(llvm::StringRef stage,
                    llvm::function_ref<llvm::Error()> body);
  /// The diagnostics so far as an error.
  llvm::Error diagnosed(const llvm::Twine &otherwise,
                        Kind kind = Kind::Compile);
  /// The kernel of the module, after select-kernel its only one.
  Operation *kernel();
  Level level();

  const KernelRequest &request;
  const Target *target = nullptr;
  DumpFolder dump;
  std::string diagnosticText;
  llvm::raw_string_ostream diagnosticStream;
  llvm::SourceMgr sources;
  MLIRContext context;
  std::optional<SourceMgrDiagnosticHandler> diagnostics;
  OwningOpRef<ModuleOp> module;
  CompiledKernel result;
};

llvm::Error Compilation::diagnosed(const llvm::Twine &otherwise, Kind kind) {
  llvm::StringRef text = llvm::StringRef(diagnosticText).rtrim();
  return failure(kind, text.empty() ? otherwise : llvm::Twine(text));
}

llvm::Error Compilation::timed(llvm::StringRef stage,
                               llvm::function_ref<llvm::Error()> body) {
  auto start = std::chrono::steady_clock::now();
  llvm::Error error = body();
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  result.seconds.emplace_back(stage.str(), time.count());
  return error;
}

llvm::Error Compilation::load() {
  target = findTarget(request.target);
  if (!target) {
    std::string names;
    for (const Target &known : targets())
      names += (names.empty() ? "" : ", ") + std::string(known.name);
    return failure(Kind::Request, "unknown target '" + request.target +
                                      "'; expected one of " + names);
  }
  auto folder = DumpFolder::create(request.dumpDir);
  if (!folder)
    return failure(Kind::Request, folder.takeError());
  dump = *folder;

  std::string name = request.sourceName, text;
  if (request.source) {
    text = *request.source;
  } else {
    auto file = findKernelFile(request.kernelFile);
    if (!file)
      return failure(Kind::Request, file.takeError());
    name = file->path;
    text = std::move(file->text);
  }
  result.kernelFile = request.kernelFile;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name),
                             llvm::SMLoc());
  // A message and its places; the IR of the operation is what dumps are for.
  context.printOpOnDiagnostic(false);
  diagnostics.emplace(sources, &context, diagnosticStream);
  module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return diagnosed("'" + name + "' does not parse");
  return llvm::Error::success();
}

Operation *Compilation::kernel() {
  for (Operation &op : module->getOps())
    if (isa<tile::KernelOp>(op) ||
        op.hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      return &op;
  return nullptr;
}

Level Compilation::level() {
  Operation *op = kernel();
  if (!isa<tile::KernelOp>(op))
    return Level::NVVM;
  WalkResult found = op->walk([](Operation *inner) {
    return isa<tilegpu::TileGPUDialect>(inner->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return found.wasInterrupted() ? Level::TileGPU : Level::Tile;
}

llvm::Error Compilation::runPasses(llvm::StringRef stage,
                                   std::initializer_list<Builder> builders) {
  return timed(stage, [&]() -> llvm::Error {
    PipelineOptions options;
    options.target = request.target;
    options.kernel = request.kernel;
    options.params = joinParams(request.params);
    options.ownSteps = request.steps;
    PassManager passes(&context);
    for (Builder build : builders)
      build(passes, options);
    if (dump.enabled())
      passes.addInstrumentation(createPassDump(dump));
    if (failed(passes.run(*module)))
      return diagnosed("pass pipeline '" + stage + "' failed");
    return llvm::Error::success();
  });
}

llvm::Error Compilation::lower() {
  if (llvm::Error error = runPasses("select", {buildSelection}))
    return error;
  if (!kernel())
    return failure(Kind::Compile, "the module has no kernel");
  Level start = level();
  if (start == Level::Tile) {
    if (failed(tile::checkParams(kernel(), request.params, /*complete=*/true)))
      return diagnosed("parameters that the kernel does not take",
                       Kind::Params);
    if (llvm::Error error = runPasses("specialise", {buildSpecialise}))
      return error;
  }
  result.name = SymbolTable::getSymbolName(kernel()).getValue().str();
  readParams(kernel(), result);
  result.mlir = print(*module);
  if (request.stage == Stage::Tile)
    return llvm::Error::success();

  if (start == Level::Tile)
    if (llvm::Error error = runPasses("staging", {buildStaging}))
      return error;
  if (start != Level::NVVM) {
    if (llvm::Error error = runPasses("placement", {buildPlacement}))
      return error;
    readSecondLevel(kernel(), result);
    if (request.stage == Stage::TileGPU) {
      result.tilegpu = print(*module);
      return llvm::Error::success();
    }
    if (llvm::Error error = runPasses("conversion", {buildConversion}))
      return error;
    if (!kernel())
      return failure(Kind::Compile, "the conversion left no kernel");
  } else if (request.stage == Stage::TileGPU) {
    return failure(Kind::Request, "kernel '" + result.name +
                                      "' is written as LLVM: it has no second "
                                      "level");
  }
  readFunction(kernel(), result);
  if (request.stage == Stage::NVVM)
    result.nvvm = print(*module);
  return llvm::Error::success();
}

llvm::Error Compilation::generate() {
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule;
  llvm::Error error = timed("translate", [&]() -> llvm::Error {
    llvmModule = translateToLLVM(*module, *llvmContext);
    if (!llvmModule)
      return diagnosed("translation to LLVM IR failed");
    result.dynamicSharedBytes =
        result.sharedBytes -
        std::min(result.sharedBytes, declaredSharedBytes(*llvmModule));
    llvm::raw_string_ostream stream(result.bitcode);
    llvm::WriteBitcodeToFile(*llvmModule, stream);
    if (request.stage == Stage::LLVM || dump.enabled())
      llvm::raw_string_ostream(result.llvmIR) << *llvmModule;
    dump.write(result.name + ".ll", result.llvmIR);
    return llvm::Error::success();
  });
  if (error)
    return error;
  if (request.stage == Stage::LLVM) {
    if (llvm::Error refused = checkTargetSupport(*llvmModule, *target))
      return failure(Kind::Compile, std::move(refused));
    return llvm::Error::success();
  }
  error = timed("codegen", [&]() -> llvm::Error {
    auto ptx =
        translateToPTX(std::move(llvmContext), std::move(llvmModule), *target);
    if (!ptx)
      return failure(Kind::Compile, ptx.takeError());
    result.ptx = std::move(*ptx);
    dump.write(result.name + ".ptx", result.ptx);
    return llvm::Error::success();
  });
  if (error)
    return error;
  return timed("count", [&]() -> llvm::Error {
    // A report without counts is better than no kernel.
    if (auto counts = ptx::countInstructions(result.ptx, result.name))
      result.counts = std::move(*counts);
    else
      llvm::consumeError(counts.takeError());
    return llvm::Error::success();
  });
}

llvm::Error Compilation::assemble() {
  auto assembled =
      runPtxas(*result.ptxas, result.ptx, *target, request.ptxasLevel);
  if (!assembled)
    return failure(Kind::Ptxas, assembled.takeError());
  result.cubin = std::move(assembled->cubin);
  result.report = assembled->report;
  dump.write(result.name + ".ptxas.txt", assembled->log);
  return llvm::Error::success();
}

llvm::Expected<CompiledKernel> Compilation::run() {
  if (llvm::Error error = timed("parse", [&] { return load(); }))
    return std::move(error);
  result.target = request.target;
  if (request.stage == Stage::Cubin) {
    // Before any work: a compilation that cannot end is not begun.
    auto tool = findPtxas(request.ptxas, target);
    if (!tool)
      return failure(Kind::Ptxas, tool.takeError());
    result.ptxas = std::move(*tool);
  }
  if (llvm::Error error = lower())
    return std::move(error);
  if (request.stage >= Stage::LLVM)
    if (llvm::Error error = generate())
      return std::move(error);
  if (request.stage == Stage::Cubin)
    if (llvm::Error error = timed("ptxas", [&] { return assemble(); }))
      return std::move(error);
  if (!dump.error().empty())
    return failure(Kind::Request, dump.error());
  return std::move(result);
}

llvm::Expected<llvm::json::Array> Compilation::describe() {
  if (llvm::Error error = load())
    return std::move(error);
  if (!request.kernel.empty()) {
    Operation *chosen = module->lookupSymbol(request.kernel);
    if (!isa_and_nonnull<tile::KernelOp>(chosen))
      return failure(Kind::Request, "'" + request.sourceName +
                                        "' has no tile.kernel '" +
                                        request.kernel + "'");
    if (failed(tile::checkParams(chosen, request.params, /*complete=*/false)))
      return diagnosed("parameters that the kernel does not take",
                       Kind::Params);
  }
  return describeKernels(*module);
}

} // namespace

llvm::Expected<CompiledKernel> compile(const KernelRequest &request) {
  return Compilation(request).run();
}

llvm::Expected<llvm::json::Array> describe(const KernelRequest &request) {
  return Compilation(request).describe();
}

} // namespace mlatile
