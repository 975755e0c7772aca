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
constexpr EmbeddedFile kEmbeddedSteps[] = {
#include "EmbeddedSteps.inc"
};

std::vector<std::string> searchFolders() {
  std::string path =
      llvm::sys::Process::GetEnv("MLATILE_KERNEL_PATH").value_or("");
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(path).split(parts, ':', -1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

llvm::Error cannotRead(llvm::StringRef path, std::error_code ec) {
  return llvm::createStringError(ec, "'" + path + "': " + ec.message());
}

llvm::Expected<std::string> readText(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return cannotRead(path, buffer.getError());
  return (*buffer)->getBuffer().str();
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
    llvm::Expected<std::string> text = readText(path);
    if (!text)
      return text.takeError();
    return KernelFile{name.str(), path.str().str(), std::move(*text)};
  }
  for (const EmbeddedFile &file : kEmbedded)
    if (file.name == name)
      return KernelFile{name.str(), ("kernels/" + name + ".mlir").str(),
                        file.text.str()};
  return llvm::createStringError("no kernel file '" + name + "'; there are: " +
                                 llvm::join(kernelFileNames(), ", "));
}

llvm::Expected<StepFolder> readSteps(llvm::StringRef folder) {
  StepFolder steps{folder.str(), {}};
  std::set<std::string> paths;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(folder, ec), end; !ec && it != end;
       it.increment(ec))
    if (llvm::sys::path::extension(it->path()) == ".mlir")
      paths.insert(it->path());
  if (ec)
    return cannotRead(folder, ec);
  for (const std::string &path : paths) {
    llvm::Expected<std::string> text = readText(path);
    if (!text)
      return text.takeError();
    steps.files.push_back({path, std::move(*text)});
  }
  return steps;
}

llvm::Expected<std::vector<StepFile>> stepsBeside(llvm::StringRef kernelFile) {
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(kernelFile));
  llvm::sys::path::append(folder, "steps");
  if (!llvm::sys::fs::is_directory(folder))
    return std::vector<StepFile>();
  auto steps = readSteps(folder);
  if (!steps)
    return steps.takeError();
  return std::move(steps->files);
}

llvm::Expected<std::vector<StepFolder>> knownSteps() {
  std::vector<StepFolder> folders;
  for (const std::string &folder : searchFolders()) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, "steps");
    if (!llvm::sys::fs::is_directory(path))
      continue;
    auto steps = readSteps(path);
    if (!steps)
      return steps.takeError();
    folders.push_back(std::move(*steps));
  }
  StepFolder builtIn{"the built-in steps", {}};
  for (const EmbeddedFile &file : kEmbeddedSteps)
    builtIn.files.push_back(
        {("kernels/steps/" + file.name + ".mlir").str(), file.text.str()});
  folders.push_back(std::move(builtIn));
  return folders;
}

} // namespace mlatile
