// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_SIM_JIT_H
#define MLATILE_LIB_SIM_JIT_H

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlatile::sim {

struct CompiledEntry {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void *address = nullptr;
  uint64_t frameBytes = 0; ///< of the entry function
};

/// Compiles `module` for this host and finds function `name`.
llvm::Expected<CompiledEntry>
compile(std::unique_ptr<llvm::LLVMContext> context,
        std::unique_ptr<llvm::Module> module, llvm::StringRef name,
        unsigned optLevel);

} // namespace mlatile::sim
#endif
