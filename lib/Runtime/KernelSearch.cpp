// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelSearch.h"

#include "mlatile/Runtime/Error.h"

#include <cstdlib>
#include <mutex>
#include <sstream>

namespace mlatile {
namespace {
namespace fs = std::filesystem;

struct Search {
  std::mutex mutex;
  std::vector<fs::path> folders; // in the order in which they are looked at
  bool compile = true;

  Search() {
    if (const char *paths = std::getenv("MLATILE_KERNELS")) {
      std::istringstream list(paths);
      for (std::string path; std::getline(list, path, ':');)
        if (!path.empty())
          folders.emplace_back(path);
    }
    const char *jit = std::getenv("MLATILE_JIT");
    compile = !jit || std::string(jit) != "off";
  }
};

Search &search() {
  static Search instance;
  return instance;
}
} // namespace

void addKernelFolder(const fs::path &folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw ArgumentError("kernels", "expected a folder of prebuilt kernels, got "
                                   "'" +
                                       folder.string() + "'");
  Search &all = search();
  std::lock_guard lock(all.mutex);
  all.folders.insert(all.folders.begin(), folder);
}

void allowCompiling(bool allow) {
  Search &all = search();
  std::lock_guard lock(all.mutex);
  all.compile = allow;
}

bool mayCompile() {
  Search &all = search();
  std::lock_guard lock(all.mutex);
  return all.compile;
}

std::shared_ptr<const Kernel> findPrebuilt(const KernelSpec &spec) {
  std::vector<fs::path> folders;
  {
    Search &all = search();
    std::lock_guard lock(all.mutex);
    folders = all.folders;
  }
  for (const fs::path &folder : folders)
    if (std::shared_ptr<const Kernel> kernel = readKernel(folder, spec))
      return kernel;
  return nullptr;
}

std::string kernelFoldersText() {
  Search &all = search();
  std::lock_guard lock(all.mutex);
  std::string text;
  for (const fs::path &folder : all.folders)
    text += (text.empty() ? "" : ", ") + folder.string();
  return text.empty() ? "no folder" : text;
}

} // namespace mlatile
