// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"
#include "mlatile/Runtime/Problem.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

namespace mlatile {

llvm::Expected<Kernel> toKernel(CompiledKernel compiled, KernelSpec spec) {
  std::string meta;
  llvm::raw_string_ostream(meta) << llvm::json::Value(compiled.meta());
  // The run-time library throws.
  try {
    Kernel kernel;
    kernel.spec = std::move(spec);
    kernel.origin = "compiled";
    kernel.meta = parseMeta(meta);
    kernel.mlir = std::move(compiled.mlir);
    kernel.ptx = std::move(compiled.ptx);
    kernel.llvm = std::move(compiled.bitcode);
    kernel.cubin = std::move(compiled.cubin);
    return kernel;
  } catch (const std::exception &e) {
    return llvm::createStringError(e.what());
  }
}

llvm::Expected<std::string> reportOf(const CompiledKernel &compiled,
                                     const ReportSizes &sizes) {
  KernelSpec spec;
  spec.file = compiled.kernelFile;
  spec.symbol = compiled.name;
  spec.params = compiled.params;
  spec.target = compiled.target;
  auto kernel = toKernel(compiled, std::move(spec));
  if (!kernel)
    return kernel.takeError();
  using Json = nlohmann::ordered_json;
  try {
    Problem problem = reportProblem();
    problem.numTokens = sizes.tokens.value_or(problem.numTokens);
    problem.numHeads = sizes.heads.value_or(problem.numHeads);
    problem.width = sizes.width.value_or(problem.width);
    problem.numSplits = sizes.splits;
    Json report = Json::parse(kernel->report(&problem));
    Json meta = Json::parse(kernel->meta.json);
    // In the report already.
    for (const char *key : {"buffers", "seconds"})
      meta.erase(key);
    report["meta"] = std::move(meta);
    return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  } catch (const std::exception &e) {
    return llvm::createStringError(e.what());
  }
}

} // namespace mlatile
