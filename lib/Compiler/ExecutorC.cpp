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

using namespace mlatile;

struct mlatile_sim_program {
  std::unique_ptr<sim::Program> program;
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

llvm::Error readOptions(const char *json, sim::Options &options) {
  if (!json)
    return llvm::Error::success();
  auto object = parseObject(json, "options");
  if (!object)
    return badRequest(llvm::toString(object.takeError()));
  for (const auto &[key, value] : *object) {
    llvm::StringRef name = key;
    if (name == "seed" || name == "host_threads") {
      auto number = value.getAsUINT64();
      if (!number || (name == "host_threads" && *number > 4096))
        return badRequest("options: \"" + name +
                          "\": expected an integer, 0 or more");
      if (name == "seed")
        options.seed = *number;
      else
        options.hostThreads = static_cast<unsigned>(*number);
    } else if (name == "checked") {
      auto checked = value.getAsBoolean();
      if (!checked || *checked)
        return badRequest(
            "options: \"checked\": expected false; there is no checked mode");
    } else if (name != "buffers") {
      return badRequest("options: unknown key \"" + name + "\"");
    }
  }
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

int mlatile_sim_load(const void *llvm_ir, size_t size, const char *kernel,
                     struct mlatile_sim_program **program, char **error) {
  return guarded(error, [&]() -> llvm::Error {
    llvm::StringRef ir(static_cast<const char *>(llvm_ir), size);
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
    *program = new mlatile_sim_program{std::move(*created)};
    return llvm::Error::success();
  });
}

int mlatile_sim_launch(struct mlatile_sim_program *program, unsigned grid_x,
                       unsigned grid_y, unsigned grid_z, unsigned block_x,
                       size_t shared_bytes, void *const *args, size_t num_args,
                       const char *options_json, char **stats_json,
                       char **error) {
  return guarded(error, [&]() -> llvm::Error {
    const sim::Program &kernel = *program->program;
    if (num_args != kernel.numArguments())
      return badRequest("kernel '" + kernel.kernelName() + "': expected " +
                        llvm::Twine(kernel.numArguments()) +
                        " arguments, got " + llvm::Twine(num_args));
    sim::Options options;
    if (llvm::Error wrong = readOptions(options_json, options))
      return wrong;
    sim::LaunchDims dims{grid_x, grid_y, grid_z, block_x, shared_bytes};
    sim::Stats stats;
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error failed =
            kernel.launch(dims, llvm::ArrayRef<const void *>(args, num_args),
                          options, &stats))
      return simError(std::move(failed));
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    if (stats_json)
      *stats_json = copyString(statsJson(stats, time.count()));
    return llvm::Error::success();
  });
}

void mlatile_sim_free(struct mlatile_sim_program *program) { delete program; }
