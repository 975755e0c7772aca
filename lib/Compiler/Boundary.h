// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C functions share: errors and exceptions to statuses and messages.
#ifndef MLATILE_LIB_COMPILER_BOUNDARY_H
#define MLATILE_LIB_COMPILER_BOUNDARY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mlatile {

/// An error of the executor; MLATILE_COMPILER_SIM_ERROR.
class SimError : public llvm::ErrorInfo<SimError> {
public:
  static char ID;
  explicit SimError(std::string message) : text(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Runs `body` and gives its status; on failure the message goes to `error`.
int guarded(char **error, llvm::function_ref<llvm::Error()> body);

/// A copy for mlatile_compiler_free_string.
char *copyString(llvm::StringRef text);

/// Parses a JSON object; errors name it `what`.
llvm::Expected<llvm::json::Object> parseObject(const char *json,
                                               llvm::StringRef what);

/// Identifies the build of the file that holds this code, by its contents.
std::string compilerBuildId();

} // namespace mlatile
#endif
