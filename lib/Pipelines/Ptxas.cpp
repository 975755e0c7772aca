// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/Ptxas.h"
#include "ProbePtxas.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace mlatile {
namespace {

/// A file in memory. The child gets it as a standard stream, so that nothing is
/// left on disk whatever ends this process.
class MemoryFile {
public:
  static llvm::Expected<MemoryFile> create(llvm::StringRef contents = "") {
    MemoryFile file(memfd_create("mlatile-ptxas", MFD_CLOEXEC));
    if (file.fd < 0)
      return llvm::createStringError(llvm::errnoAsErrorCode(),
                                     "memfd_create failed");
    while (!contents.empty()) {
      ssize_t n = ::write(file.fd, contents.data(), contents.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return llvm::createStringError(llvm::errnoAsErrorCode(),
                                       "cannot pass the PTX to ptxas");
      contents = contents.drop_front(n);
    }
    return file;
  }
  MemoryFile(MemoryFile &&other) : fd(std::exchange(other.fd, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile() {
    if (fd >= 0)
      ::close(fd);
  }

  /// Opened by the child, which has inherited the descriptor by then.
  std::string path() const {
    return llvm::formatv("/proc/self/fd/{0}", fd).str();
  }

  std::string read() const {
    std::string contents;
    char block[1 << 16];
    off_t at = 0;
    for (;;) {
      ssize_t n = ::pread(fd, block, sizeof block, at);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return contents;
      contents.append(block, n);
      at += n;
    }
  }

private:
  explicit MemoryFile(int fd) : fd(fd) {}
  int fd;
};

struct Output {
  int rc;
  std::string out, err;
};

llvm::Expected<Output> execute(llvm::StringRef program,
                               llvm::ArrayRef<llvm::StringRef> args,
                               llvm::StringRef input) {
  auto in = MemoryFile::create(input);
  if (!in)
    return in.takeError();
  auto out = MemoryFile::create();
  if (!out)
    return out.takeError();
  auto err = MemoryFile::create();
  if (!err)
    return err.takeError();
  std::string inPath = in->path(), outPath = out->path(), errPath = err->path();
  std::optional<llvm::StringRef> redirects[] = {inPath, outPath, errPath};
  llvm::SmallVector<llvm::StringRef> argv{program};
  argv.append(args.begin(), args.end());
  std::string message;
  bool failed = false;
  int rc = llvm::sys::ExecuteAndWait(program, argv, std::nullopt, redirects,
                                     /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                     &message, &failed);
  if (failed || rc < 0)
    return llvm::createStringError("'" + program + "' did not run: " +
                                   (message.empty() ? "killed" : message));
  return Output{rc, out->read(), err->read()};
}

/// The number in front of `what`, summed or maximised by the caller.
unsigned numberBefore(llvm::StringRef line, llvm::StringRef what) {
  size_t at = line.find(what);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef front = line.take_front(at).rtrim();
  size_t start = front.find_last_not_of("0123456789");
  unsigned value = 0;
  if (front.drop_front(start == llvm::StringRef::npos ? 0 : start + 1)
          .getAsInteger(10, value))
    return 0;
  return value;
}

} // namespace

llvm::Expected<PtxasTool> probePtxasUncached(llvm::StringRef path,
                                             llvm::StringRef origin) {
  auto output = execute(path, {"--version"}, "");
  if (!output)
    return output.takeError();
  llvm::SmallVector<llvm::StringRef> match;
  if (output->rc != 0 ||
      !llvm::Regex("release ([0-9]+)\\.([0-9]+)(, V([0-9.]+))?")
           .match(output->out, &match))
    return llvm::createStringError(
        "'" + path + "' is no ptxas: expected a version from --version, got '" +
        llvm::StringRef(output->out + output->err).trim().take_front(80) + "'");
  PtxasTool tool;
  tool.path = path.str();
  tool.origin = origin.str();
  if (match[1].getAsInteger(10, tool.major) ||
      match[2].getAsInteger(10, tool.minor))
    return llvm::createStringError("'" + path +
                                   "' is no ptxas: version out of range");
  tool.version =
      (match[4].empty() ? match[1] + "." + match[2] : match[4]).str();
  return tool;
}

PtxasReport parsePtxasLog(llvm::StringRef log) {
  PtxasReport report;
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto keep = [&](unsigned &field, llvm::StringRef what) {
      field = std::max(field, numberBefore(line, what));
    };
    keep(report.stack, " bytes stack frame");
    keep(report.spillStores, " bytes spill stores");
    keep(report.spillLoads, " bytes spill loads");
    keep(report.registers, " registers");
    keep(report.barriers, " barriers");
    keep(report.staticShared, " bytes smem");
  }
  return report;
}

llvm::Expected<PtxasResult> runPtxas(const PtxasTool &tool, llvm::StringRef ptx,
                                     const Target &target, int optLevel) {
  if (optLevel < 0 || optLevel > 3)
    return llvm::createStringError(llvm::formatv(
        "expected a ptxas optimisation level of 0 to 3, got {0}", optLevel));
  std::string arch = ("-arch=" + llvm::StringRef(target.name)).str();
  std::string level = llvm::formatv("-O{0}", optLevel);
  // Else the lines of the PTX bring the whole text of it into the cubin.
  auto output = execute(tool.path,
                        {arch, level, "-v", "-suppress-debug-info",
                         "/dev/stdin", "-o", "/dev/stdout"},
                        ptx);
  if (!output)
    return output.takeError();
  if (output->rc != 0)
    return llvm::createStringError(
        llvm::formatv("ptxas {0} ('{1}') refused the PTX for {2}:\n{3}",
                      tool.version, tool.path, target.name,
                      llvm::StringRef(output->err + output->out).trim()));
  if (output->out.empty())
    return llvm::createStringError(
        llvm::formatv("ptxas {0} ('{1}') gave an empty cubin:\n{2}",
                      tool.version, tool.path, output->err));
  PtxasReport report = parsePtxasLog(output->err);
  return PtxasResult{std::move(output->out), report, std::move(output->err)};
}

} // namespace mlatile
