// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Prebuild.h"
#include "FloorKernels.h"
#include "Report.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/KernelFolder.h"
#include "mlatile/Runtime/Plan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <optional>
#include <set>

namespace mlatile {
namespace {

llvm::Error request(const llvm::Twine &message) {
  return llvm::make_error<CompilerError>(CompilerError::Kind::Request,
                                         message.str());
}

/// What is called for a list of problems besides the problems themselves.
std::vector<Problem> allWays(const std::vector<Problem> &problems) {
  std::vector<Problem> all;
  for (const Problem &problem : problems)
    for (Problem &way : bench::waysOf(problem))
      all.push_back(std::move(way));
  return all;
}

/// A kernel, and the first problem that needs it: what its entry predicts for.
struct KernelJob {
  KernelSpec spec;
  Problem problem;
};

llvm::Expected<std::vector<KernelJob>> readJobs(const PrebuildOptions &o) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(o.problems);
  if (!buffer)
    return request("cannot read '" + o.problems +
                   "': " + buffer.getError().message());
  std::vector<KernelJob> jobs;
  std::set<std::string> seen;
  // The run-time library throws.
  try {
    std::vector<Problem> problems = parseProblems((*buffer)->getBuffer().str());
    for (Problem &problem : problems)
      if (!o.target.empty())
        problem.target = o.target;
    if (o.allCandidates)
      problems = allWays(problems);
    if (o.floors && !problems.empty())
      for (KernelSpec &kernel : bench::floorKernels(
               problems,
               std::string(targetNamed(problems.front().target).name)))
        if (seen.insert(kernel.name()).second)
          jobs.push_back({std::move(kernel), problems.front()});
    for (Problem &problem : problems) {
      std::vector<KernelSpec> kernels = kernelsOf({problem});
      problem.numSplits = plan(problem)->numSplits;
      for (KernelSpec &kernel : kernels)
        if (seen.insert(kernel.name()).second)
          jobs.push_back({std::move(kernel), problem});
    }
  } catch (const Error &e) {
    return request(o.problems + ": " + e.what());
  }
  return jobs;
}

/// Compiles one kernel and writes it to the folder; gives its entry of
/// index.json.
llvm::Expected<llvm::json::Object> compileJob(const KernelJob &job,
                                              const PrebuildOptions &o) {
  const KernelSpec &spec = job.spec;
  KernelRequest request;
  if (spec.source) {
    request.source = spec.source->text;
    request.sourceName = spec.source->name;
    for (const auto &[path, text] : spec.source->steps)
      request.steps.push_back({path, text});
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
  unsigned registers = compiled->report.registers;
  unsigned spilled = compiled->report.spillStores + compiled->report.spillLoads;
  uint64_t sharedBytes = compiled->sharedBytes;
  auto kernel = toKernel(std::move(*compiled), spec);
  if (!kernel)
    return kernel.takeError();
  std::string report;
  try {
    writeKernel(o.outDir, *kernel);
    report = kernel->report(&job.problem);
  } catch (const std::exception &e) {
    return llvm::createStringError(e.what());
  }
  auto reported = llvm::json::parse(report);
  if (!reported)
    return reported.takeError();
  auto predicted = [&](llvm::StringRef key) -> llvm::json::Value {
    const llvm::json::Value *value = reported->getAsObject()->get(key);
    return value ? *value : llvm::json::Value(nullptr);
  };
  llvm::json::Object params;
  for (const auto &[name, value] : spec.params)
    params[name] = value;
  return llvm::json::Object{{"name", spec.name()},
                            {"file", spec.file},
                            {"symbol", spec.symbol},
                            {"target", spec.target},
                            {"params", std::move(params)},
                            {"registers", registers},
                            {"spill_bytes", spilled},
                            {"shared_bytes", sharedBytes},
                            {"predicted", predicted("predicted")},
                            {"predicted_for", predicted("predicted_for")}};
}

} // namespace

llvm::Error prebuild(const PrebuildOptions &o, llvm::raw_ostream &log) {
  auto jobs = readJobs(o);
  if (!jobs)
    return jobs.takeError();
  if (std::error_code ec = llvm::sys::fs::create_directories(o.outDir))
    return request("cannot make '" + o.outDir + "': " + ec.message());

  std::vector<std::optional<llvm::json::Object>> entries(jobs->size());
  llvm::Error failed = llvm::Error::success();
  std::mutex mutex;
  size_t done = 0;
  {
    llvm::DefaultThreadPool pool;
    for (size_t i = 0; i < jobs->size(); ++i)
      pool.async([&, i] {
        {
          std::lock_guard<std::mutex> lock(mutex);
          if (failed)
            return;
        }
        auto entry = compileJob((*jobs)[i], o);
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
                             ++done, jobs->size(), (*jobs)[i].spec.name(),
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
