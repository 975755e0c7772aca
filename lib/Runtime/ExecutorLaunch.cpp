// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompilerLibrary.h"
#include "Launchers.h"
#include "mlatile/Runtime/Error.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace mlatile {
namespace {

/// Programs of the executor, by kernel. Never unloaded: at the end of the
/// process LLVM may be gone before us.
mlatile_sim_program *programOf(const std::shared_ptr<const Kernel> &kernel) {
  static auto *mutex = new std::mutex;
  static auto *programs =
      new std::map<std::shared_ptr<const Kernel>, mlatile_sim_program *>;
  std::lock_guard lock(*mutex);
  mlatile_sim_program *&program = (*programs)[kernel];
  if (program)
    return program;
  const CompilerLibrary &library = compilerLibrary();
  char *error = nullptr;
  if (library.mlatile_sim_load(kernel->llvm.data(), kernel->llvm.size(),
                               kernel->meta.entry.c_str(), &program,
                               &error) != MLATILE_COMPILER_OK)
    throw CompileError("executor: kernel " + kernel->spec.name() + ": " +
                       library.take(error));
  return program;
}
} // namespace

std::string launchOnExecutor(const std::shared_ptr<const Kernel> &kernel,
                             const LaunchStep &step, PackedArguments &arguments,
                             const LaunchOptions &options) {
  mlatile_sim_program *program = programOf(kernel);
  const CompilerLibrary &library = compilerLibrary();
  nlohmann::json json = {{"seed", options.seed}, {"checked", options.checked}};
  if (step.resident)
    json["resident_ctas"] = step.resident;
  if (options.hostThreads)
    json["host_threads"] = options.hostThreads;
  if (options.checked)
    for (const PackedArguments::Buffer &buffer : arguments.buffers())
      json["buffers"].push_back({reinterpret_cast<uintptr_t>(buffer.data),
                                 buffer.bytes, buffer.name, buffer.writable,
                                 buffer.pending});
  std::string text = json.dump();
  char *stats = nullptr, *error = nullptr;
  int status = library.mlatile_sim_launch(
      program, step.grid, 1, 1, kernel->meta.threads,
      kernel->meta.dynamicSharedBytes, arguments.pointers(), arguments.size(),
      text.c_str(), options.stats ? &stats : nullptr, &error);
  if (status != MLATILE_COMPILER_OK)
    throw LaunchError("executor: kernel " + kernel->spec.name() + ": " +
                      library.take(error));
  return options.stats ? library.take(stats) : std::string();
}

} // namespace mlatile
