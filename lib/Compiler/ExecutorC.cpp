// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Boundary.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Compiler/compiler_c.h"
#include "mlatile/Sim/Executor.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>
#include <mutex>

using namespace mlatile;

struct mlatile_sim_program {
  std::unique_ptr<sim::Program> program;
  /// For the checked form, which is compiled when it is first asked for.
  std::string ir, kernel;
  std::mutex mutex;
  std::unique_ptr<sim::Program> checked;
};

namespace {

llvm::Error simError(llvm::Error error) {
  return llvm::make_error<SimError>(llvm::toString(std::move(error)));
}

llvm::Error badRequest(const llvm::Twine &message) {
  return llvm::make_error<CompilerError>(CompilerError::Kind::Request,
                                         message.str());
}

/// The only kernel of a module.
llvm::Expected<std::string> onlyKernel(llvm::StringRef ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module =
      llvm::parseIR(llvm::MemoryBufferRef(ir, "kernel"), diagnostic, context);
  if (!module)
    return badRequest("LLVM IR does not parse: " + diagnostic.getMessage());
  std::string name;
  for (const llvm::Function &function : *module) {
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      continue;
    if (!name.empty())
      return badRequest("expected the name of a kernel: the module has '" +
                        name + "' and '" + function.getName() + "'");
    name = function.getName().str();
  }
  if (name.empty())
    return badRequest("the LLVM module has no kernel");
  return name;
}

/// [[address, bytes, "name", writable, pending], ...]; the last two may be left
/// out.
llvm::Error readBuffers(const llvm::json::Value &value,
                        std::vector<sim::Region> &regions) {
  auto wrong = [] {
    return badRequest("options: \"buffers\": expected [[address, bytes, "
                      "\"name\", writable, pending], ...]");
  };
  const llvm::json::Array *all = value.getAsArray();
  if (!all)
    return wrong();
  for (const llvm::json::Value &entry : *all) {
    const llvm::json::Array *parts = entry.getAsArray();
    if (!parts || parts->size() < 3 || parts->size() > 5)
      return wrong();
    auto address = (*parts)[0].getAsUINT64(), bytes = (*parts)[1].getAsUINT64();
    auto name = (*parts)[2].getAsString();
    std::optional<bool> writable = true, pending = false;
    if (parts->size() > 3)
      writable = (*parts)[3].getAsBoolean();
    if (parts->size() > 4)
      pending = (*parts)[4].getAsBoolean();
    if (!address || !bytes || !name || !writable || !pending)
      return wrong();
    regions.push_back({reinterpret_cast<const void *>(*address), *bytes,
                       *writable, name->str(), *pending});
  }
  return llvm::Error::success();
}

llvm::Error readOptions(const char *json, sim::Options &options) {
  if (!json)
    return llvm::Error::success();
  auto object = parseObject(json, "options");
  if (!object)
    return badRequest(llvm::toString(object.takeError()));
  for (const auto &[key, value] : *object) {
    llvm::StringRef name = key;
    if (name == "seed" || name == "host_threads" || name == "resident_ctas") {
      auto number = value.getAsUINT64();
      if (!number || (name == "host_threads" && *number > 4096))
        return badRequest("options: \"" + name +
                          "\": expected an integer, 0 or more");
      if (name == "seed")
        options.seed = *number;
      else if (name == "resident_ctas")
        options.residentCtas = *number;
      else
        options.hostThreads = static_cast<unsigned>(*number);
    } else if (name == "checked") {
      auto checked = value.getAsBoolean();
      if (!checked)
        return badRequest("options: \"checked\": expected true or false");
      options.checked = *checked;
    } else if (name == "buffers") {
      if (llvm::Error error = readBuffers(value, options.regions))
        return error;
    } else {
      return badRequest("options: unknown key \"" + name + "\"");
    }
  }
  return llvm::Error::success();
}

llvm::Error compileChecked(mlatile_sim_program &program,
                           const sim::Options &options) {
  std::lock_guard<std::mutex> lock(program.mutex);
  if (program.checked)
    return llvm::Error::success();
  auto created =
      sim::Program::createFromIR(program.ir, program.kernel, options);
  if (!created)
    return created.takeError();
  program.checked = std::move(*created);
  return llvm::Error::success();
}

std::string statsJson(const sim::Stats &stats, double seconds) {
  llvm::json::Object mma;
  for (unsigned kind = 0; kind < sim::kMmaKinds; ++kind)
    if (stats.mma[kind])
      mma[sim::mmaKindName(static_cast<sim::MmaKind>(kind))] = stats.mma[kind];
  llvm::json::Object object{
      {"seconds", seconds},
      {"mma", std::move(mma)},
      {"mma_total", stats.mmaTotal()},
      {"ldmatrix", stats.ldmatrix},
      {"stmatrix", stats.stmatrix},
      {"movmatrix", stats.movmatrix},
      {"shuffles", stats.shuffles},
      {"rendezvous", stats.rendezvous},
      {"cta_barriers", stats.ctaBarriers},
      {"named_barriers", stats.namedBarriers},
      {"cluster_barriers", stats.clusterBarriers},
      {"async_copies", stats.asyncCopies},
      {"bulk_copies", stats.bulkCopies},
      {"async_bytes", stats.asyncBytes},
      {"mbarrier_phases", stats.mbarrierPhases},
      {"mma_with_copies_in_flight", stats.mmaWithCopiesInFlight},
      {"mma_without_copies_in_flight", stats.mmaWithoutCopiesInFlight},
      {"min_copies_in_flight", stats.minCopiesInFlight},
      {"max_copies_in_flight", stats.maxCopiesInFlight},
      {"copies_in_flight_at_exit", stats.copiesInFlightAtExit}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

} // namespace

int mlatile_sim_load(const void *llvmIR, size_t size, const char *kernel,
                     struct mlatile_sim_program **program, char **error) {
  return guarded(error, [&]() -> llvm::Error {
    llvm::StringRef ir(static_cast<const char *>(llvmIR), size);
    std::string name;
    if (kernel) {
      name = kernel;
    } else {
      auto only = onlyKernel(ir);
      if (!only)
        return only.takeError();
      name = *only;
    }
    auto created = sim::Program::createFromIR(ir, name);
    if (!created)
      return simError(created.takeError());
    auto made = std::make_unique<mlatile_sim_program>();
    made->program = std::move(*created);
    made->ir = ir.str();
    made->kernel = std::move(name);
    *program = made.release();
    return llvm::Error::success();
  });
}

int mlatile_sim_launch(struct mlatile_sim_program *program, unsigned gridX,
                       unsigned gridY, unsigned gridZ, unsigned blockX,
                       size_t sharedBytes, void *const *args, size_t numArgs,
                       const char *optionsJson, char **statsText,
                       char **error) {
  return guarded(error, [&]() -> llvm::Error {
    const sim::Program &plain = *program->program;
    if (numArgs != plain.numArguments())
      return badRequest("kernel '" + plain.kernelName() + "': expected " +
                        llvm::Twine(plain.numArguments()) + " arguments, got " +
                        llvm::Twine(numArgs));
    sim::Options options;
    if (llvm::Error wrong = readOptions(optionsJson, options))
      return wrong;
    if (options.checked)
      if (llvm::Error failed = compileChecked(*program, options))
        return simError(std::move(failed));
    const sim::Program &kernel = options.checked ? *program->checked : plain;
    sim::LaunchDims dims{gridX, gridY, gridZ, blockX, sharedBytes};
    sim::Stats stats;
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error failed = kernel.launch(
            dims, llvm::ArrayRef<const void *>(args, numArgs), options, &stats))
      return simError(std::move(failed));
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    if (statsText)
      *statsText = copyString(statsJson(stats, time.count()));
    return llvm::Error::success();
  });
}

void mlatile_sim_free(struct mlatile_sim_program *program) { delete program; }
