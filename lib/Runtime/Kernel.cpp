// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where kernels come from: memory, folders, the compiler.
#include "mlatile/Runtime/Kernel.h"

#include "CompilerLibrary.h"
#include "KernelSearch.h"
#include "Launchers.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Problem.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;

/// ptxas is missing, too old or refused the PTX.
class AssemblerError : public CompileError {
public:
  using CompileError::CompileError;
};

/// A parameter's value as the compiler takes it: boolean, number or string.
Json parameterValue(const std::string &text) {
  if (text == "true" || text == "false")
    return text == "true";
  bool number = !text.empty() && text.size() < 18 &&
                text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) ==
                    std::string::npos &&
                text != "-";
  return number ? Json(std::stoll(text)) : Json(text);
}

/// The folder for the IR of a kernel, empty for none: one of its own, since a
/// process compiles several.
std::string dumpFolder(const std::string &given, const KernelSpec &spec) {
  const char *variable = std::getenv("MLATILE_DUMP_DIR");
  std::string folder = !given.empty() ? given : variable ? variable : "";
  return folder.empty() ? "" : folder + "/" + spec.name();
}

std::string compileRequest(const KernelSpec &spec, bool cubin,
                           const std::string &dumpDir) {
  Json request;
  if (spec.source) {
    request["source"] = spec.source->text;
    request["source_name"] = spec.source->name;
    if (!spec.source->steps.empty())
      request["steps"] = spec.source->steps;
  } else {
    request["kernel_file"] = spec.file;
  }
  request["kernel"] = spec.symbol;
  request["params"] = Json::object();
  for (const auto &[name, value] : spec.params)
    request["params"][name] = parameterValue(value);
  request["target"] = spec.target;
  request["cubin"] = cubin;
  if (std::string folder = dumpFolder(dumpDir, spec); !folder.empty())
    request["dump_dir"] = folder;
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::shared_ptr<const Kernel> compileKernel(const KernelSpec &spec, bool cubin,
                                            const std::string &dumpDir = "") {
  const CompilerLibrary &library = compilerLibrary();
  mlatile_compiled *raw = nullptr;
  char *error = nullptr;
  int status = library.mlatile_compiler_compile(
      compileRequest(spec, cubin, dumpDir).c_str(), &raw, &error);
  if (status != MLATILE_COMPILER_OK) {
    std::string text = "kernel " + spec.name() + ": " + library.take(error);
    // Of a file of an author's; the built-in ones take what the plan binds.
    if (status == MLATILE_COMPILER_BAD_PARAMS && spec.source)
      throw ArgumentError("kernel", text);
    if (status == MLATILE_COMPILER_PTXAS_ERROR)
      throw AssemblerError(text);
    throw CompileError(text);
  }
  std::unique_ptr<mlatile_compiled,
                  decltype(library.mlatile_compiler_free_compiled)>
      compiled(raw, library.mlatile_compiler_free_compiled);

  auto kernel = std::make_shared<Kernel>();
  kernel->spec = spec;
  kernel->origin = "compiled";
  kernel->meta = parseMeta(compiled->meta_json);
  for (size_t i = 0; i < compiled->num_blobs; ++i) {
    const mlatile_blob &blob = compiled->blobs[i];
    std::string bytes(static_cast<const char *>(blob.data), blob.size);
    std::string_view name = blob.name;
    if (name == "ptx")
      kernel->ptx = std::move(bytes);
    else if (name == "llvm")
      kernel->llvm = std::move(bytes);
    else if (name == "mlir")
      kernel->mlir = std::move(bytes);
    else if (name == "cubin")
      kernel->cubin = std::move(bytes);
  }
  return kernel;
}

/// One kernel in memory; its mutex is held while it is compiled.
struct Slot {
  std::mutex mutex;
  std::shared_ptr<const Kernel> compiled;
  std::shared_ptr<const Kernel> prebuilt;
};

std::shared_ptr<Slot> slotOf(const KernelSpec &spec) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Slot>> slots;
  std::string key = spec.name();
  if (spec.source) {
    auto add = [&](const std::string &text) {
      key += '\0' + std::to_string(text.size()) + ':' + text;
    };
    add(spec.source->name);
    add(spec.source->text);
    for (const auto &[path, text] : spec.source->steps) {
      add(path);
      add(text);
    }
  }
  std::lock_guard lock(mutex);
  std::shared_ptr<Slot> &slot = slots[key];
  if (!slot)
    slot = std::make_shared<Slot>();
  return slot;
}

void requireCompiler(const KernelSpec &spec) {
  if (!mayCompile())
    throw UnsupportedError("kernel " + spec.name() +
                           " is not prebuilt and compiling is off; looked in " +
                           kernelFoldersText());
}

std::shared_ptr<const Kernel> loadable(const KernelSpec &spec, Slot &slot,
                                       bool ptxWillDo) {
  if (slot.compiled && !slot.compiled->cubin.empty())
    return slot.compiled;
  if (!slot.prebuilt && !spec.source)
    slot.prebuilt = findPrebuilt(spec);
  if (slot.prebuilt)
    return slot.prebuilt;
  requireCompiler(spec);
  try {
    return slot.compiled = compileKernel(spec, /*cubin=*/true);
  } catch (const AssemblerError &) {
    // The driver can assemble PTX too, if it is new enough for the target.
    if (!ptxWillDo)
      throw;
    return slot.compiled = compileKernel(spec, /*cubin=*/false);
  }
}
} // namespace

std::shared_ptr<const Kernel> getKernel(const KernelSpec &spec, Need need) {
  std::shared_ptr<Slot> slot = slotOf(spec);
  std::lock_guard lock(slot->mutex);
  if (need == Need::Cubin || need == Need::Device)
    return loadable(spec, *slot, need == Need::Device);
  if (!slot->compiled) {
    requireCompiler(spec);
    slot->compiled = compileKernel(spec, /*cubin=*/false);
  }
  return slot->compiled;
}

std::shared_ptr<const Kernel> kernelInMemory(const KernelSpec &spec) {
  std::shared_ptr<Slot> slot = slotOf(spec);
  std::lock_guard lock(slot->mutex);
  if (slot->compiled && !slot->compiled->cubin.empty())
    return slot->compiled;
  return slot->prebuilt ? slot->prebuilt : slot->compiled;
}

void dumpKernel(const KernelSpec &spec, const std::string &folder) {
  requireCompiler(spec);
  compileKernel(spec, /*cubin=*/false, folder);
}

std::string compilerInfo() {
  const CompilerLibrary &library = compilerLibrary();
  char *info = nullptr, *error = nullptr;
  if (library.mlatile_compiler_info(nullptr, &info, &error) !=
      MLATILE_COMPILER_OK)
    throw CompileError("compiler info: " + library.take(error));
  return library.take(info);
}

} // namespace mlatile
