// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_COMPILER_PASSDUMP_H
#define MLATILE_LIB_COMPILER_PASSDUMP_H

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace mlatile {

/// Numbered files of one compilation: "03-tile-assign-layouts.mlir".
class DumpFolder {
public:
  /// Makes the folder. An empty path gives an object that writes nothing.
  static llvm::Expected<DumpFolder> create(const std::string &path);

  bool enabled() const { return !path.empty(); }
  /// Writes the next file. Failing to is not worth losing the compilation: the
  /// first error is kept.
  void write(llvm::StringRef name, llvm::StringRef contents);
  const std::string &error() const { return firstError; }

private:
  std::string path, firstError;
  int next = 0;
};

/// Writes the module after every pass, also after the one that failed.
std::unique_ptr<mlir::PassInstrumentation> createPassDump(DumpFolder &folder);

} // namespace mlatile
#endif
