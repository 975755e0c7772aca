// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a kernel once, runs grids of it on host threads.
#include "Grid.h"
#include "Jit.h"
#include "Rewrite.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <thread>

using namespace llvm;
using namespace mlatile::sim;

struct Program::Impl {
  std::string name;
  std::vector<std::string> sites;
  std::vector<std::unique_ptr<Group>> groups;
  CompiledEntry compiled;
  unsigned arguments = 0, requiredThreads = 0, maxThreads = 1024;
  unsigned clusterSize = 1;
  uint64_t staticSharedBytes = 0;
  uint32_t rows = 0;
  bool checked = false;
};

namespace {

constexpr uint64_t kMaxThreads = 1024;
/// What the runtime itself needs on a lane's stack, generously.
constexpr uint64_t kRuntimeStack = 48 << 10;

Expected<std::unique_ptr<Program::Impl>>
build(std::unique_ptr<LLVMContext> context, std::unique_ptr<Module> module,
      StringRef kernelName, const Options &options) {
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(*module, &stream))
    return createStringError("invalid LLVM IR: " + problem);
  Rewrite rewrite;
  rewrite.module = module.get();
  rewrite.kernelName = kernelName.str();
  if (Error error = isolateKernel(rewrite))
    return std::move(error);
  splitAggregates(*rewrite.entry);
  if (Error error = placeSharedGlobals(rewrite))
    return std::move(error);
  if (options.checked)
    instrumentAccesses(rewrite);
  if (Error error = lowerThreadOperations(rewrite))
    return std::move(error);
  if (Error error = groupCollectives(rewrite))
    return std::move(error);
  StripDebugInfo(*module);
  if (verifyFunction(*rewrite.entry, &stream))
    return createStringError("the executor made invalid IR of kernel '" +
                             kernelName + "': " + problem);

  auto impl = std::make_unique<Program::Impl>();
  impl->name = kernelName.str();
  impl->sites = std::move(rewrite.sites);
  impl->groups = std::move(rewrite.groups);
  impl->arguments = rewrite.arguments;
  impl->requiredThreads = rewrite.requiredThreads;
  impl->maxThreads = rewrite.maxThreads;
  impl->clusterSize = rewrite.clusterSize;
  impl->staticSharedBytes = rewrite.staticSharedBytes;
  impl->rows = rewrite.rows;
  impl->checked = options.checked;
  std::string entry = rewrite.entry->getName().str();
  auto compiled =
      compile(std::move(context), std::move(module), entry, options.optLevel);
  if (!compiled)
    return compiled.takeError();
  impl->compiled = std::move(*compiled);
  return std::move(impl);
}

Error checkLaunch(const Program::Impl &impl, const LaunchDims &dims,
                  size_t args, uint64_t resident) {
  auto fail = [&](const Twine &what) {
    return createStringError("kernel '" + impl.name + "': " + what);
  };
  if (args != impl.arguments)
    return fail("expected " + Twine(impl.arguments) + " arguments, got " +
                Twine(args));
  if (!dims.gridX || !dims.gridY || !dims.gridZ)
    return fail("the grid is empty");
  if (dims.gridX > 0x7fffffffu || dims.gridY > 0xffff || dims.gridZ > 0xffff)
    return fail("the grid is too large");
  if (dims.gridX % impl.clusterSize)
    return fail("expected a grid of whole clusters, a multiple of " +
                Twine(impl.clusterSize) + ", got " + Twine(dims.gridX));
  if (resident && resident < impl.clusterSize)
    return fail("a cluster of " + Twine(impl.clusterSize) +
                " CTAs does not run at once: " + Twine(resident) +
                " at most do");
  if (!dims.blockX || dims.blockX > kMaxThreads)
    return fail("expected 1 to 1024 threads a block, got " +
                Twine(dims.blockX));
  if (impl.requiredThreads && dims.blockX != impl.requiredThreads)
    return fail("expected " + Twine(impl.requiredThreads) +
                " threads a block (reqntid), got " + Twine(dims.blockX));
  if (dims.blockX > impl.maxThreads)
    return fail("expected at most " + Twine(impl.maxThreads) +
                " threads a block, got " + Twine(dims.blockX));
  if (dims.dynamicSharedBytes > (1u << 30))
    return fail("too much shared memory: " + Twine(dims.dynamicSharedBytes) +
                " bytes");
  return Error::success();
}

} // namespace

Program::Program(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Program::~Program() = default;

StringRef Program::kernelName() const { return impl->name; }
unsigned Program::numArguments() const { return impl->arguments; }
uint64_t Program::staticSharedBytes() const { return impl->staticSharedBytes; }

Expected<std::unique_ptr<Program>> Program::create(const Module &module,
                                                   StringRef kernelName,
                                                   const Options &options) {
  SmallVector<char, 0> bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  auto context = std::make_unique<LLVMContext>();
  auto copy = parseBitcodeFile(
      MemoryBufferRef(StringRef(bitcode.data(), bitcode.size()), "kernel"),
      *context);
  if (!copy)
    return copy.takeError();
  auto impl = build(std::move(context), std::move(*copy), kernelName, options);
  if (!impl)
    return impl.takeError();
  return std::unique_ptr<Program>(new Program(std::move(*impl)));
}

Expected<std::unique_ptr<Program>>
Program::createFromIR(StringRef text, StringRef kernelName,
                      const Options &options) {
  auto context = std::make_unique<LLVMContext>();
  SMDiagnostic diagnostic;
  auto buffer = MemoryBuffer::getMemBufferCopy(text, "kernel.ll");
  std::unique_ptr<Module> module =
      parseIR(buffer->getMemBufferRef(), diagnostic, *context);
  if (!module) {
    std::string problem;
    raw_string_ostream stream(problem);
    diagnostic.print("", stream, /*ShowColors=*/false);
    return createStringError(problem);
  }
  auto impl = build(std::move(context), std::move(module), kernelName, options);
  if (!impl)
    return impl.takeError();
  return std::unique_ptr<Program>(new Program(std::move(*impl)));
}

Error Program::launch(const LaunchDims &dims, ArrayRef<const void *> args,
                      const Options &options, Stats *stats) const {
  if (stats)
    *stats = Stats();
  if (Error error = checkLaunch(*impl, dims, args.size(), options.residentCtas))
    return error;
  LaunchContext context;
  context.entry =
      reinterpret_cast<decltype(context.entry)>(impl->compiled.address);
  context.args = args.data();
  context.sites = impl->sites;
  context.seed = options.seed;
  context.dims = dims;
  context.staticSharedBytes = impl->staticSharedBytes;
  context.clusterSize = impl->clusterSize;
  context.rows = impl->rows;
  context.checked = impl->checked;
  context.regions = options.regions;
  context.stackBytes = alignTo(impl->compiled.frameBytes + kRuntimeStack, 4096);

  uint64_t count = uint64_t(dims.gridX) * dims.gridY * dims.gridZ;
  unsigned threads = options.hostThreads ? options.hostThreads
                                         : std::thread::hardware_concurrency();
  Grid run(context, count, options.residentCtas);
  run.run(threads);
  if (stats)
    *stats = run.stats;
  if (run.error.empty())
    return Error::success();
  if (run.failedCta == ~0ull)
    return createStringError("kernel '" + impl->name + "': " + run.error);
  uint64_t i = run.failedCta;
  return createStringError(formatv("kernel '{0}', CTA ({1}, {2}, {3}): {4}",
                                   impl->name, i % dims.gridX,
                                   i / dims.gridX % dims.gridY,
                                   i / dims.gridX / dims.gridY, run.error)
                               .str());
}
