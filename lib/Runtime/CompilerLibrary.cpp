// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompilerLibrary.h"

#include "mlatile/Runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <vector>

namespace mlatile {
namespace {
namespace fs = std::filesystem;
constexpr const char *kFile = "libmlatile_compiler.so";

std::vector<std::string> candidates() {
  // The variable is an order, not a hint: nothing else is tried.
  if (const char *path = std::getenv("MLATILE_COMPILER_LIBRARY"); path && *path)
    return {path};
  std::vector<std::string> paths;
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&compilerLibrary), &self) &&
      self.dli_fname) {
    std::error_code ignored;
    fs::path folder =
        fs::weakly_canonical(self.dli_fname, ignored).parent_path();
    for (const char *place : {"", "../lib", "Compiler"}) {
      fs::path file = folder / place / kFile;
      if (fs::exists(file, ignored))
        paths.push_back(file.lexically_normal().string());
    }
  }
  paths.emplace_back(kFile);
  return paths;
}

const CompilerLibrary *open() {
  std::string tried;
  for (const std::string &path : candidates()) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *why = dlerror();
      tried += std::string("\n  ") + (why ? why : path.c_str());
      continue;
    }
    auto library = std::make_unique<CompilerLibrary>();
    std::string missing;
#define X(function)                                                            \
  library->function =                                                          \
      reinterpret_cast<decltype(library->function)>(dlsym(handle, #function)); \
  if (!library->function)                                                      \
    missing += " " #function;
    MLATILE_COMPILER_FUNCTIONS(X)
#undef X
    if (!missing.empty()) {
      tried += "\n  " + path + ": lacks" + missing;
      continue;
    }
    int version = library->mlatile_compiler_abi_version();
    if (version != MLATILE_COMPILER_ABI_VERSION) {
      tried += "\n  " + path + ": expected interface version " +
               std::to_string(MLATILE_COMPILER_ABI_VERSION) + ", got " +
               std::to_string(version);
      continue;
    }
    return library.release(); // stays open for the life of the process
  }
  throw UnsupportedError("the compiler library cannot be opened:" + tried);
}
} // namespace

std::string CompilerLibrary::take(char *message) const {
  if (!message)
    return "no message";
  std::string text = message;
  mlatile_compiler_free_string(message);
  return text;
}

const CompilerLibrary &compilerLibrary() {
  static std::mutex mutex;
  static const CompilerLibrary *library = nullptr;
  std::lock_guard lock(mutex);
  if (!library)
    library = open();
  return *library;
}

} // namespace mlatile
