// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TOOLS_MLATILE_COMPILE_REPORT_H
#define MLATILE_TOOLS_MLATILE_COMPILE_REPORT_H

#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Runtime/Kernel.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlatile {

/// The compiled kernel as the run-time library has it; `spec` names it.
llvm::Expected<Kernel> toKernel(CompiledKernel compiled, KernelSpec spec);

/// Sizes that a report predicts for; those left out are the library's.
struct ReportSizes {
  std::optional<int64_t> tokens, heads, width, splits;
};

/// The kernel's report (Kernel::report), and as "meta" what the compiler says
/// of it; indented JSON.
llvm::Expected<std::string> reportOf(const CompiledKernel &compiled,
                                     const ReportSizes &sizes);

} // namespace mlatile
#endif
