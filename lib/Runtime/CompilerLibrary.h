// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libmlatile_compiler.so, opened when it is first needed.
#ifndef MLATILE_LIB_RUNTIME_COMPILERLIBRARY_H
#define MLATILE_LIB_RUNTIME_COMPILERLIBRARY_H

#include "mlatile/Compiler/compiler_c.h"

#include <string>

namespace mlatile {

/// Functions of compiler_c.h, resolved from the library.
struct CompilerLibrary {
#define MLATILE_COMPILER_FUNCTIONS(X)                                          \
  X(mlatile_compiler_abi_version)                                              \
  X(mlatile_compiler_free_string)                                              \
  X(mlatile_compiler_compile)                                                  \
  X(mlatile_compiler_free_compiled)                                            \
  X(mlatile_compiler_describe)                                                 \
  X(mlatile_compiler_info)                                                     \
  X(mlatile_sim_load)                                                          \
  X(mlatile_sim_launch)                                                        \
  X(mlatile_sim_free)
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a name.
#define X(function) decltype(&::function) function = nullptr;
  MLATILE_COMPILER_FUNCTIONS(X)
#undef X

  /// Takes a message of the library and frees it.
  std::string take(char *message) const;
};

/// The library: `$MLATILE_COMPILER_LIBRARY`, else beside the run-time library,
/// else where the dynamic linker looks. Throws UnsupportedError that lists what
/// was tried. Opened once; a failure is not remembered.
const CompilerLibrary &compilerLibrary();

} // namespace mlatile
#endif
