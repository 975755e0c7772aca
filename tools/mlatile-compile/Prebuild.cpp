// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Prebuild.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelFolder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <optional>

namespace mlatile {
namespace {

llvm::Error request(const llvm::Twine &message) {
  return llvm::make_error<CompilerError>(CompilerError::Kind::Request,
                                         message.str());
}

llvm::Expected<std::vector<KernelSpec>> readSpecs(const PrebuildOptions &o) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(o.problems);
  if (!buffer)
    return request("cannot read '" + o.problems +
                   "': " + buffer.getError().message());
  // The run-time library throws.
  try {
    std::vector<Problem> problems = parseProblems((*buffer)->getBuffer().str());
    if (!o.target.empty())
      for (Problem &problem : problems)
        problem.target = o.target;
    return kernelsOf(problems);
  } catch (const Error &e) {
    return request(o.problems + ": " + e.what());
  }
}

/// Compiles one kernel and writes it to the folder; gives its entry of
/// index.json.
llvm::Expected<llvm::json::Object> compileSpec(const KernelSpec &spec,
                                               const PrebuildOptions &o) {
  KernelRequest request;
  if (spec.source) {
    request.source = spec.source->text;
    request.sourceName = spec.source->name;
  } else {
    request.kernelFile = spec.file;
  }
  request.kernel = spec.symbol;
  request.params = spec.params;
  request.target = spec.target;
  request.stage = Stage::Cubin;
  request.ptxas = o.ptxas;
  request.ptxasLevel = o.ptxasLevel;
  if (!o.dumpDir.empty()) {
    llvm::SmallString<256> folder(o.dumpDir);
    llvm::sys::path::append(folder, spec.name());
    request.dumpDir = folder.str().str();
  }
  auto compiled = compile(request);
  if (!compiled)
    return llvm::handleErrors(
        compiled.takeError(), [&](const CompilerError &e) -> llvm::Error {
          return llvm::make_error<CompilerError>(
              e.getKind(), e.message() + "\nin kernel " + spec.name());
        });
  std::string meta;
  llvm::raw_string_ostream(meta) << llvm::json::Value(compiled->meta());
  try {
    Kernel kernel;
    kernel.spec = spec;
    kernel.meta = parseMeta(meta);
    kernel.mlir = std::move(compiled->mlir);
    kernel.ptx = std::move(compiled->ptx);
    kernel.llvm = std::move(compiled->bitcode);
    kernel.cubin = std::move(compiled->cubin);
    writeKernel(o.outDir, kernel);
  } catch (const std::exception &e) {
    return llvm::createStringError(e.what());
  }
  llvm::json::Object params;
  for (const auto &[name, value] : spec.params)
    params[name] = value;
  return llvm::json::Object{{"name", spec.name()},
                            {"file", spec.file},
                            {"symbol", spec.symbol},
                            {"target", spec.target},
                            {"params", std::move(params)},
                            {"registers", compiled->report.registers},
                            {"spill_bytes", compiled->report.spillStores +
                                                compiled->report.spillLoads},
                            {"shared_bytes", compiled->sharedBytes}};
}

} // namespace

llvm::Error prebuild(const PrebuildOptions &o, llvm::raw_ostream &log) {
  auto specs = readSpecs(o);
  if (!specs)
    return specs.takeError();
  if (std::error_code ec = llvm::sys::fs::create_directories(o.outDir))
    return request("cannot make '" + o.outDir + "': " + ec.message());

  std::vector<std::optional<llvm::json::Object>> entries(specs->size());
  llvm::Error failed = llvm::Error::success();
  std::mutex mutex;
  size_t done = 0;
  {
    llvm::DefaultThreadPool pool;
    for (size_t i = 0; i < specs->size(); ++i)
      pool.async([&, i] {
        {
          std::lock_guard<std::mutex> lock(mutex);
          if (failed)
            return;
        }
        auto entry = compileSpec((*specs)[i], o);
        std::lock_guard<std::mutex> lock(mutex);
        if (!entry) {
          if (failed)
            llvm::consumeError(entry.takeError());
          else
            failed = entry.takeError();
          return;
        }
        log << llvm::formatv("[{0}/{1}] {2}: {3} registers, {4} bytes spilled, "
                             "{5} bytes of shared memory\n",
                             ++done, specs->size(), (*specs)[i].name(),
                             *entry->getInteger("registers"),
                             *entry->getInteger("spill_bytes"),
                             *entry->getInteger("shared_bytes"));
        log.flush();
        entries[i] = std::move(*entry);
      });
    pool.wait();
  }
  if (failed)
    return failed;

  llvm::json::Array index;
  for (std::optional<llvm::json::Object> &entry : entries)
    index.push_back(std::move(*entry));
  llvm::SmallString<256> path(o.outDir);
  llvm::sys::path::append(path, "index.json");
  std::error_code ec;
  llvm::raw_fd_ostream stream(path, ec);
  if (ec)
    return request("cannot write '" + path + "': " + ec.message());
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(index))) << '\n';
  return llvm::Error::success();
}

} // namespace mlatile
