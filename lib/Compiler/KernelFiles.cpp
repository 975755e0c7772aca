// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Compiler/KernelFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <set>

namespace mlatile {
namespace {

struct EmbeddedFile {
  llvm::StringLiteral name, text;
};
constexpr EmbeddedFile kEmbedded[] = {
#include "EmbeddedKernels.inc"
};

std::vector<std::string> searchFolders() {
  std::string path =
      llvm::sys::Process::GetEnv("MLATILE_KERNEL_PATH").value_or("");
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(path).split(parts, ':', -1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

} // namespace

std::vector<std::string> kernelFileNames() {
  std::set<std::string> names;
  for (const EmbeddedFile &file : kEmbedded)
    names.insert(file.name.str());
  for (const std::string &folder : searchFolders()) {
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(folder, ec), end;
         !ec && it != end; it.increment(ec))
      if (llvm::sys::path::extension(it->path()) == ".mlir")
        names.insert(llvm::sys::path::stem(it->path()).str());
  }
  return {names.begin(), names.end()};
}

llvm::Expected<KernelFile> findKernelFile(llvm::StringRef name) {
  for (const std::string &folder : searchFolders()) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, name + ".mlir");
    if (!llvm::sys::fs::exists(path))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!buffer)
      return llvm::createStringError(
          buffer.getError(), "'" + path + "': " + buffer.getError().message());
    return KernelFile{name.str(), path.str().str(),
                      (*buffer)->getBuffer().str()};
  }
  for (const EmbeddedFile &file : kEmbedded)
    if (file.name == name)
      return KernelFile{name.str(), ("kernels/" + name + ".mlir").str(),
                        file.text.str()};
  return llvm::createStringError("no kernel file '" + name + "'; there are: " +
                                 llvm::join(kernelFileNames(), ", "));
}

} // namespace mlatile
