// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles one kernel to any level of the pipeline, or all kernels that a list
// of problems needs into a folder of prebuilt kernels.
// Exit status: 0; 1 bad request; 2 the kernel does not compile; 3 ptxas.
#include "Prebuild.h"
#include "Report.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Compiler/KernelFiles.h"
#include "mlatile/Runtime/Problem.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlatile;
namespace cl = llvm::cl;

namespace {

enum class Emit { Tile, TileGPU, NVVM, LLVM, PTX, Cubin, Report };

cl::OptionCategory category("mlatile-compile");
cl::opt<std::string> input(cl::Positional,
                           cl::desc("FILE, '-', or a built-in kernel file"),
                           cl::cat(category));
cl::opt<std::string> kernelName("kernel",
                                cl::desc("kernel of the file, if several"),
                                cl::value_desc("name"), cl::cat(category));
cl::list<std::string> params("param", cl::desc("bind a parameter (repeatable)"),
                             cl::value_desc("name=value"), cl::cat(category));
cl::opt<std::string> targetName("target", cl::desc("GPU target"),
                                cl::init("sm_120a"), cl::cat(category));
cl::opt<Emit> emit(
    "emit", cl::desc("what to write"), cl::init(Emit::PTX), cl::cat(category),
    cl::values(clEnumValN(Emit::Tile, "tile", "parameters bound"),
               clEnumValN(Emit::TileGPU, "tilegpu",
                          "laid out, staged, planned, synchronised"),
               clEnumValN(Emit::NVVM, "nvvm", "LLVM and NVVM dialects"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM IR"),
               clEnumValN(Emit::PTX, "ptx", "PTX (default)"),
               clEnumValN(Emit::Cubin, "cubin", "machine code, by ptxas"),
               clEnumValN(Emit::Report, "report",
                          "registers, spills, shared memory, counts of the "
                          "loop, predicted time: JSON")));
// A report predicts for these sizes.
cl::opt<int64_t> tokens("tokens", cl::desc("report: query rows (default: 8)"),
                        cl::value_desc("n"), cl::cat(category));
cl::opt<int64_t> heads("heads", cl::desc("report: query heads (default: 64)"),
                       cl::value_desc("n"), cl::cat(category));
cl::opt<int64_t> width("width",
                       cl::desc("report: candidates a row (default: 2048)"),
                       cl::value_desc("n"), cl::cat(category));
cl::opt<int64_t>
    splits("splits",
           cl::desc("report: splits of the candidates (default: planned)"),
           cl::value_desc("n"), cl::cat(category));
cl::opt<std::string> output("o", cl::desc("output file (default: stdout)"),
                            cl::value_desc("file"), cl::init("-"),
                            cl::cat(category));
cl::opt<std::string> ptxas("ptxas", cl::desc("ptxas to use"),
                           cl::value_desc("path"), cl::cat(category));
cl::opt<int> level("O", cl::desc("optimisation level of ptxas, 0 to 3"),
                   cl::Prefix, cl::init(3), cl::cat(category));
cl::opt<std::string> dumpDir("dump-dir",
                             cl::desc("write the IR after every pass there"),
                             cl::value_desc("folder"), cl::cat(category));
cl::opt<std::string>
    problems("problems",
             cl::desc("compile what these problems (a JSON array) need"),
             cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> outDir("out-dir",
                            cl::desc("folder of prebuilt kernels to write"),
                            cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> floors("floors",
                     cl::desc("with --problems: the kernels of mlatile-bench's "
                              "floors too"),
                     cl::cat(category));
cl::opt<bool> allCandidates("all-candidates",
                            cl::desc("with --problems: every kernel that takes "
                                     "a problem, split and not"),
                            cl::cat(category));

enum Status { Ok = 0, BadRequest = 1, CompileFailed = 2, PtxasFailed = 3 };

int fail(const llvm::Twine &message, Status status = BadRequest) {
  llvm::errs() << "mlatile-compile: error: " << message << '\n';
  return status;
}

int fail(llvm::Error error) {
  int status = BadRequest;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompilerError &e) {
        if (e.getKind() == CompilerError::Kind::Compile ||
            e.getKind() == CompilerError::Kind::Params) {
          // Diagnostics carry their own place and severity.
          llvm::errs() << e.message() << '\n';
          status = CompileFailed;
          return;
        }
        status = fail(e.message(), e.getKind() == CompilerError::Kind::Ptxas
                                       ? PtxasFailed
                                       : BadRequest);
      },
      [&](const llvm::ErrorInfoBase &e) { status = fail(e.message()); });
  return status;
}

Stage stageOf(Emit emit) {
  switch (emit) {
  case Emit::Tile:
    return Stage::Tile;
  case Emit::TileGPU:
    return Stage::TileGPU;
  case Emit::NVVM:
    return Stage::NVVM;
  case Emit::LLVM:
    return Stage::LLVM;
  case Emit::PTX:
    return Stage::PTX;
  case Emit::Cubin:
  case Emit::Report:
    return Stage::Cubin;
  }
  return Stage::PTX;
}

std::string textOf(const CompiledKernel &kernel) {
  switch (emit) {
  case Emit::Tile:
    return kernel.mlir;
  case Emit::TileGPU:
    return kernel.tilegpu;
  case Emit::NVVM:
    return kernel.nvvm;
  case Emit::LLVM:
    return kernel.llvmIR;
  case Emit::PTX:
    return kernel.ptx;
  case Emit::Cubin:
    return kernel.cubin;
  case Emit::Report:
    break;
  }
  return "";
}

int write(const std::string &contents) {
  if (output == "-" && emit == Emit::Cubin &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return fail("a cubin is not text: expected -o FILE");
  std::error_code ec;
  llvm::ToolOutputFile file(output, ec, llvm::sys::fs::OF_None);
  if (ec)
    return fail("cannot write '" + output + "': " + ec.message());
  file.os() << contents;
  file.os().close();
  if (file.os().has_error()) {
    ec = file.os().error();
    file.os().clear_error();
    return fail("cannot write '" + output + "': " + ec.message());
  }
  file.keep();
  return Ok;
}

llvm::Error readSizes(ReportSizes &sizes) {
  std::pair<const cl::opt<int64_t> *, std::optional<int64_t> *> options[] = {
      {&tokens, &sizes.tokens},
      {&heads, &sizes.heads},
      {&width, &sizes.width},
      {&splits, &sizes.splits}};
  for (auto [option, size] : options) {
    if (!option->getNumOccurrences())
      continue;
    if (emit != Emit::Report)
      return llvm::createStringError("--" + option->ArgStr +
                                     " is for --emit=report");
    int64_t most = option == &heads ? 128 : kMaxCount;
    if (*option < 1 || *option > most)
      return llvm::createStringError(
          "--" + option->ArgStr + ": expected 1 to " + llvm::Twine(most) +
          ", got " + llvm::Twine(option->getValue()));
    *size = option->getValue();
  }
  return llvm::Error::success();
}

int compileOne() {
  KernelRequest request;
  if (input == "-" || llvm::sys::fs::exists(input)) {
    auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
    if (!buffer)
      return fail("cannot read '" + input +
                  "': " + buffer.getError().message());
    request.source = (*buffer)->getBuffer().str();
    request.sourceName = input == "-" ? "<stdin>" : input.getValue();
    if (input != "-") {
      auto steps = stepsBeside(input);
      if (!steps)
        return fail(steps.takeError());
      request.steps = std::move(*steps);
    }
  } else if (llvm::StringRef(input).contains('/') ||
             llvm::StringRef(input).ends_with(".mlir")) {
    return fail("cannot read '" + input + "': no such file");
  }
  if (!request.source)
    request.kernelFile = input;
  request.kernel = kernelName;
  for (llvm::StringRef param : params) {
    auto [name, value] = param.split('=');
    if (name.empty() || value.empty())
      return fail("--param: expected NAME=VALUE, got '" + param + "'");
    if (!request.params.try_emplace(name.str(), value.str()).second)
      return fail("--param: '" + name + "' is bound twice");
  }
  request.target = targetName;
  request.stage = stageOf(emit);
  request.ptxas = ptxas;
  request.ptxasLevel = level;
  request.dumpDir = dumpDir;
  ReportSizes sizes;
  if (llvm::Error error = readSizes(sizes))
    return fail(std::move(error));
  auto kernel = compile(request);
  if (!kernel)
    return fail(kernel.takeError());
  if (emit != Emit::Report)
    return write(textOf(*kernel));
  auto report = reportOf(*kernel, sizes);
  if (!report)
    return fail(report.takeError());
  return write(*report);
}

int prebuildAll() {
  if (outDir.empty())
    return fail("--problems needs --out-dir");
  if (!input.empty())
    return fail("--problems takes no FILE, got '" + input + "'");
  PrebuildOptions options;
  options.problems = problems;
  options.outDir = outDir;
  if (targetName.getNumOccurrences())
    options.target = targetName;
  options.floors = floors;
  options.allCandidates = allCandidates;
  options.ptxas = ptxas;
  options.ptxasLevel = level;
  options.dumpDir = dumpDir;
  if (llvm::Error error = prebuild(options, llvm::outs()))
    return fail(std::move(error));
  return Ok;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "compiles a kernel\n\n"
      "  mlatile-compile decode --kernel decode --param FMT=dsv4 --emit=ptx\n"
      "  mlatile-compile --problems problems.json --out-dir kernels\n");
  if (level < 0 || level > 3)
    return fail("-O: expected 0 to 3, got " + llvm::Twine(level));
  if (!problems.empty())
    return prebuildAll();
  if (!outDir.empty())
    return fail("--out-dir needs --problems");
  for (const cl::opt<bool> *option : {&floors, &allCandidates})
    if (*option)
      return fail("--" + option->ArgStr + " needs --problems");
  if (input.empty()) {
    std::string names;
    for (const std::string &name : kernelFileNames())
      names += " " + name;
    return fail("expected a FILE or a built-in kernel file; there are:" +
                names);
  }
  return compileOne();
}
