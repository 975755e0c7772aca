// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PassDump.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace mlatile {

llvm::Expected<DumpFolder> DumpFolder::create(const std::string &path) {
  DumpFolder folder;
  folder.path = path;
  if (!path.empty())
    if (std::error_code ec = llvm::sys::fs::create_directories(path))
      return llvm::createStringError(ec, "cannot make the dump folder '" +
                                             path + "': " + ec.message());
  return folder;
}

void DumpFolder::write(StringRef name, StringRef contents) {
  if (!enabled())
    return;
  llvm::SmallString<256> file(path);
  llvm::sys::path::append(file, llvm::formatv("{0,0+2}-{1}", next++, name));
  std::error_code ec;
  llvm::raw_fd_ostream stream(file, ec);
  if (!ec) {
    stream << contents;
    stream.close();
    ec = stream.error();
    stream.clear_error();
  }
  if (ec && firstError.empty())
    firstError = ("cannot write '" + file + "': " + ec.message()).str();
}

namespace {
class PassDump final : public PassInstrumentation {
public:
  explicit PassDump(DumpFolder &folder) : folder(folder) {}

  void runAfterPass(Pass *pass, Operation *op) override { dump(pass, op, ""); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    dump(pass, op, "-failed");
  }

private:
  void dump(Pass *pass, Operation *op, StringRef suffix) {
    // Adaptors that run nested pipelines have no name.
    if (pass->getArgument().empty() || !isa<ModuleOp>(op))
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    op->print(stream);
    stream << '\n';
    folder.write((pass->getArgument() + suffix + ".mlir").str(), text);
  }

  DumpFolder &folder;
};
} // namespace

std::unique_ptr<PassInstrumentation> createPassDump(DumpFolder &folder) {
  return std::make_unique<PassDump>(folder);
}

} // namespace mlatile
