// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/TranslateToPTX.h"
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <mutex>

namespace mlatile {
namespace {

/// Errors that the back end reports through the context, one a line.
class ErrorHandler final : public llvm::DiagnosticHandler {
public:
  explicit ErrorHandler(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      if (!errors.empty())
        stream << '\n';
      info.print(printer);
    }
    return true;
  }

private:
  std::string &errors;
};

/// Runs `body`; a fatal error of LLVM or a crash in it becomes its message. The
/// handlers are the process's, so one body runs at a time; they are put back
/// before this returns.
std::string runRecovering(llvm::function_ref<void()> body) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string fatal;
  bool ok;
  {
    auto onFatal = [](void *data, const char *reason, bool) {
      *static_cast<std::string *>(data) = reason;
      // Ends the body, not the process, where this thread runs one.
      if (llvm::CrashRecoveryContext *current =
              llvm::CrashRecoveryContext::GetCurrent())
        current->HandleExit(1);
    };
    llvm::remove_fatal_error_handler();
    llvm::ScopedFatalErrorHandler handler(onFatal, &fatal);
    llvm::CrashRecoveryContext::Enable();
    llvm::CrashRecoveryContext context;
    ok = context.RunSafely(body);
    llvm::CrashRecoveryContext::Disable();
  }
  if (ok)
    return "";
  return fatal.empty() ? "crash in the NVPTX back end" : fatal;
}

const llvm::Target *nvptx(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"),
                                            error);
}

} // namespace

llvm::Expected<std::string>
translateToPTX(std::unique_ptr<llvm::LLVMContext> context,
               std::unique_ptr<llvm::Module> module, const Target &target) {
  if (llvm::Error error = checkTargetSupport(*module, target))
    return std::move(error);

  std::string error;
  const llvm::Target *backend = nvptx(error);
  if (!backend)
    return llvm::createStringError("LLVM has no NVPTX back end: " + error);
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      module->getTargetTriple(), target.name,
      llvm::formatv("+ptx{0}", target.ptxVersion).str(), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError("NVPTX makes no target machine for " +
                                   llvm::StringRef(target.name));
  module->setDataLayout(machine->createDataLayout());

  // No LLVM passes: on the decode kernel every list from early-cse to O2 gave
  // the same registers and spills, no shorter PTX and no faster ptxas.
  std::string errors;
  context->setDiagnosticHandler(std::make_unique<ErrorHandler>(errors));
  llvm::SmallString<0> ptx;
  auto stream = std::make_unique<llvm::raw_svector_ostream>(ptx);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  if (machine->addPassesToEmitFile(*passes, *stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("NVPTX cannot emit PTX");

  std::string fatal = runRecovering([&] { passes->run(*module); });
  if (!fatal.empty()) {
    // What the back end left behind may not even be safe to free.
    (void)passes.release();
    (void)stream.release();
    (void)machine.release();
    (void)module.release();
    context->setDiagnosticHandler(nullptr);
    (void)context.release();
    if (!errors.empty())
      errors += '\n';
    return llvm::createStringError("code generation for " +
                                   llvm::StringRef(target.name) +
                                   " failed: " + errors + fatal);
  }
  passes.reset();
  module.reset();
  if (!errors.empty())
    return llvm::createStringError("code generation for " +
                                   llvm::StringRef(target.name) +
                                   " failed: " + errors);
  return ptx.str().str();
}

} // namespace mlatile
