// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProbePtxas.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <dlfcn.h>
#include <mutex>

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace mlatile {
namespace {
using Candidates = std::vector<std::pair<std::string, std::string>>;

std::string join(llvm::StringRef base, llvm::StringRef tail) {
  llvm::SmallString<256> result(base);
  path::append(result, tail);
  return result.str().str();
}

/// Sub-folders of `folder`, in order of name.
std::vector<std::string> folders(llvm::StringRef folder) {
  std::vector<std::string> result;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end;
       it.increment(ec))
    if (fs::is_directory(it->path()))
      result.push_back(it->path());
  llvm::sort(result);
  return result;
}

/// The wheel nvidia-cuda-nvcc puts ptxas into site-packages/nvidia/*/bin.
void addWheels(llvm::StringRef sitePackages, const std::string &origin,
               Candidates &result) {
  for (const std::string &part : folders(join(sitePackages, "nvidia")))
    result.emplace_back(join(part, "bin/ptxas"), origin);
}

void addVirtualEnv(llvm::StringRef root, const std::string &origin,
                   Candidates &result) {
  result.emplace_back(join(root, "bin/ptxas"), origin);
  for (const std::string &python : folders(join(root, "lib")))
    addWheels(join(python, "site-packages"), origin, result);
}

/// The file that holds this code: a program or libmlatile_compiler.so.
std::string ownFile() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ownFile), &info) || !info.dli_fname)
    return "";
  llvm::SmallString<256> real;
  if (fs::real_path(info.dli_fname, real))
    return "";
  return real.str().str();
}

} // namespace

Candidates ptxasCandidates(llvm::StringRef explicitPath) {
  if (!explicitPath.empty())
    return {{explicitPath.str(), "the option"}};
  auto environment = [](const char *name) {
    return llvm::sys::Process::GetEnv(name).value_or("");
  };
  if (std::string forced = environment("MLATILE_PTXAS"); !forced.empty())
    return {{forced, "$MLATILE_PTXAS"}};

  Candidates result;
  std::string pathVariable = environment("PATH");
  llvm::SmallVector<llvm::StringRef> entries;
  llvm::StringRef(pathVariable).split(entries, ':', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries)
    result.emplace_back(join(entry, "ptxas"), "PATH");
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = environment(name); !root.empty())
      result.emplace_back(join(root, "bin/ptxas"), std::string("$") + name);
  result.emplace_back("/usr/local/cuda/bin/ptxas", "/usr/local/cuda");
  if (std::string root = environment("VIRTUAL_ENV"); !root.empty())
    addVirtualEnv(root, "$VIRTUAL_ENV", result);
  if (std::string own = ownFile(); !own.empty()) {
    // build/bin/x or build/lib/x: .venv stands beside build. Installed with the
    // Python package: site-packages/mlatile/lib/x, the wheel stands beside it.
    llvm::StringRef build = path::parent_path(path::parent_path(own));
    addVirtualEnv(join(path::parent_path(build), ".venv"),
                  ".venv beside the build folder", result);
    addWheels(path::parent_path(build), "the wheel beside mlatile", result);
  }
#ifdef MLATILE_CONFIGURED_PTXAS
  result.emplace_back(MLATILE_CONFIGURED_PTXAS, "the build's configuration");
#endif
  return result;
}

llvm::Expected<PtxasTool> probePtxas(llvm::StringRef path,
                                     llvm::StringRef origin) {
  fs::file_status status;
  if (std::error_code ec = fs::status(path, status))
    return llvm::createStringError(ec, "'" + path + "': " + ec.message());
  static std::mutex mutex;
  static llvm::StringMap<PtxasTool> known;
  std::string key = llvm::formatv(
      "{0}|{1}", path,
      status.getLastModificationTime().time_since_epoch().count());
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(key);
  if (found == known.end()) {
    auto tool = probePtxasUncached(path, origin);
    if (!tool)
      return tool.takeError();
    found = known.try_emplace(key, std::move(*tool)).first;
  }
  PtxasTool tool = found->second;
  tool.origin = origin.str();
  return tool;
}

llvm::Expected<PtxasTool> findPtxas(llvm::StringRef explicitPath,
                                    const Target *target) {
  Candidates candidates = ptxasCandidates(explicitPath);
  bool forced = candidates.size() == 1 && candidates[0].second != "PATH";
  std::string tried;
  for (const auto &[path, origin] : candidates) {
    if (!forced && !fs::can_execute(path))
      continue;
    auto tool = probePtxas(path, origin);
    if (!tool) {
      tried += llvm::formatv("\n  from {0}: {1}", origin,
                             llvm::toString(tool.takeError()));
      continue;
    }
    if (!target || std::pair(tool->major, tool->minor) >=
                       std::pair(target->minPtxasMajor, target->minPtxasMinor))
      return tool;
    std::string line = llvm::formatv("\n  from {0}: '{1}' is version {2}",
                                     origin, path, tool->version);
    if (tried.find(line) == std::string::npos)
      tried += line;
  }
  std::string wanted = "ptxas";
  if (target)
    wanted = llvm::formatv("ptxas {0}.{1} or later for target {2}",
                           target->minPtxasMajor, target->minPtxasMinor,
                           target->name);
  if (tried.empty())
    return llvm::createStringError(
        "no " + wanted +
        " found: looked in PATH, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and "
        "Python environments; set $MLATILE_PTXAS, or install a CUDA toolkit or "
        "the Python package nvidia-cuda-nvcc");
  return llvm::createStringError("expected " + wanted + ", got:" + tried);
}

} // namespace mlatile
