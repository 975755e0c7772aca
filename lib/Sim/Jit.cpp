// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jit.h"
#include "Mma.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace llvm;
using namespace mlatile::sim;

namespace {

// Conversions that x86 calls by name where it has no instruction. A 16-bit
// float is returned in the low half of xmm0, as a float is in the low word.
float word(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits));
}
float truncateToBfloat(float x) { return word(floatToBfloat(x)); }
float truncateToBfloatFromDouble(double x) {
  return word(floatToBfloat(static_cast<float>(x)));
}
float truncateToHalf(float x) { return word(floatToHalf(x)); }
float truncateToHalfFromDouble(double x) {
  return word(floatToHalf(static_cast<float>(x)));
}
float extendHalf(float x) {
  return halfToFloat(__builtin_bit_cast(uint32_t, x));
}

Error defineConversions(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported |
                                              JITSymbolFlags::Callable};
  };
  add("__truncsfbf2", truncateToBfloat);
  add("__truncdfbf2", truncateToBfloatFromDouble);
  add("__truncsfhf2", truncateToHalf);
  add("__truncdfhf2", truncateToHalfFromDouble);
  add("__extendhfsf2", extendHalf);
  return jit.getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols)));
}

struct Diagnostics : DiagnosticHandler {
  explicit Diagnostics(uint64_t *frameBytes) : frameBytes(frameBytes) {}
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    if (auto *size = dyn_cast<DiagnosticInfoStackSize>(&info))
      *frameBytes = std::max(*frameBytes, size->getStackSize());
    return true;
  }
  uint64_t *frameBytes;
};

CodeGenOptLevel codegenLevel(unsigned level) {
  return level == 0   ? CodeGenOptLevel::None
         : level == 1 ? CodeGenOptLevel::Less
         : level == 2 ? CodeGenOptLevel::Default
                      : CodeGenOptLevel::Aggressive;
}

} // namespace

Expected<CompiledEntry>
mlatile::sim::compile(std::unique_ptr<LLVMContext> context,
                      std::unique_ptr<Module> module, StringRef name,
                      unsigned optLevel) {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(codegenLevel(optLevel));
  builder->getOptions().AllowFPOpFusion = FPOpFusion::Strict;
  // Their 16-bit conversions flush subnormals or round in other places.
  builder->addFeatures({"-avx512bf16", "-avxneconvert", "-avx512fp16"});
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*builder))
                 .create();
  if (!jit)
    return jit.takeError();
  if (Error error = defineConversions(**jit))
    return std::move(error);

  CompiledEntry compiled;
  context->setDiagnosticHandler(
      std::make_unique<Diagnostics>(&compiled.frameBytes));
  LLVMContext *raw = context.get();
  module->setTargetTriple((*jit)->getTargetTriple());
  module->setDataLayout((*jit)->getDataLayout());
  orc::ThreadSafeContext shared(std::move(context));
  if (Error error =
          (*jit)->addIRModule(orc::ThreadSafeModule(std::move(module), shared)))
    return std::move(error);
  auto address = (*jit)->lookup(name);
  if (!address)
    return address.takeError();
  raw->setDiagnosticHandler(nullptr);
  compiled.address = address->toPtr<void *>();
  compiled.jit = std::move(*jit);
  return std::move(compiled);
}
