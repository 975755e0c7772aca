// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/TranslateToLLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <optional>

namespace mlatile {
namespace {

/// What an instruction needs. PTX versions: PTX ISA, "PTX ISA Notes" of each
/// instruction.
struct Requirement {
  llvm::StringLiteral prefix;     ///< of the name behind "llvm.nvvm."
  std::optional<Feature> feature; ///< none: the common base has it
  int ptxVersion;
  llvm::StringLiteral instruction; ///< for the message
};

// The first prefix that matches counts.
constexpr Requirement kRequirements[] = {
    {"setmaxnreg.", Feature::SetMaxNReg, 80, "setmaxnreg"},
    {"cp.async.bulk.global.to.shared.cta", Feature::BulkCopy, 86,
     "cp.async.bulk to .shared::cta"},
    {"cp.async.bulk.", Feature::BulkCopy, 80, "cp.async.bulk"},
    {"mma.block.scale.", Feature::MmaBlockScale, 87,
     "mma with block scaling (kind::mxf8f6f4, kind::mxf4nvf4)"},
    {"mma.m16n8k32.row.col.kind.f8f6f4.", Feature::MmaF8F6F4, 87,
     "mma of kind::f8f6f4"},
    {"mma.m16n8k32.row.col.f32.e4m3.", Feature::NativeMmaE4M3, 84, "e4m3 mma"},
    {"mma.m16n8k32.row.col.f32.e5m2.", Feature::NativeMmaE4M3, 84, "e5m2 mma"},
    {"mma.m16n8k32.row.col.f16.e4m3.", Feature::NativeMmaE4M3, 87, "e4m3 mma"},
    {"mma.m16n8k16.row.col.f32.e4m3.", Feature::NativeMmaE4M3, 87, "e4m3 mma"},
    {"ldmatrix.sync.aligned.m16n16.", Feature::LdmatrixB8, 86,
     "8-bit transposing ldmatrix"},
    {"ldmatrix.sync.aligned.m8n16.", Feature::LdmatrixB8, 86,
     "unpacking ldmatrix"},
    {"stmatrix.sync.aligned.m16n8.", Feature::LdmatrixB8, 86,
     "8-bit transposing stmatrix"},
    {"e2m1x2.", Feature::CvtE2M1, 86, "conversion from e2m1"},
    {"ff.to.e2m1x2.", Feature::CvtE2M1, 86, "conversion to e2m1"},
    {"e2m3x2.", Feature::CvtE2M1, 86, "conversion from e2m3"},
    {"ff.to.e2m3x2.", Feature::CvtE2M1, 86, "conversion to e2m3"},
    {"e3m2x2.", Feature::CvtE2M1, 86, "conversion from e3m2"},
    {"ff.to.e3m2x2.", Feature::CvtE2M1, 86, "conversion to e3m2"},
    {"ue8m0x2.", Feature::CvtE2M1, 86, "conversion from ue8m0"},
    {"ff.to.ue8m0x2.", Feature::CvtE2M1, 86, "conversion to ue8m0"},
    {"bf16x2.to.ue8m0x2.", Feature::CvtE2M1, 86, "conversion to ue8m0"},
};

/// Instructions that none of our targets has.
constexpr llvm::StringLiteral kNowhere[] = {"tcgen05.", "redux.sync.fm",
                                            "wgmma."};

/// Generic intrinsics that NVPTX ends the process on; `hint` is what to write.
struct Unselectable {
  llvm::StringLiteral name; ///< behind "llvm.", without the type
  bool fastOnly;            ///< selectable with `afn`
  llvm::StringLiteral hint;
};
constexpr Unselectable kUnselectable[] = {
    {"log2", false, "llvm.nvvm.lg2.approx.f"},
    {"log", false, "llvm.nvvm.lg2.approx.f and a factor"},
    {"log10", false, "llvm.nvvm.lg2.approx.f and a factor"},
    {"exp", false, "llvm.exp2 of the argument times log2(e)"},
    {"exp10", false, "llvm.exp2 of the argument times log2(10)"},
    {"pow", false, "llvm.exp2 and llvm.nvvm.lg2.approx.f"},
    {"powi", false, "multiplications"},
    {"sin", true, "the flag afn"},
    {"cos", true, "the flag afn"},
    {"tanh", true, "the flag afn"},
    {"tan", false, ""},
    {"sinh", false, ""},
    {"cosh", false, ""},
    {"asin", false, ""},
    {"acos", false, ""},
    {"atan", false, ""},
    {"atan2", false, ""},
};

/// "file:line:col: ", or the function where the call has no location.
std::string where(const llvm::CallBase &call) {
  const llvm::DILocation *loc = call.getDebugLoc();
  if (!loc || !loc->getLine())
    return ("function '" + call.getFunction()->getName() + "': ").str();
  llvm::SmallString<128> path(loc->getDirectory());
  llvm::sys::path::append(path, loc->getFilename());
  return llvm::formatv("{0}:{1}:{2}: ", path, loc->getLine(), loc->getColumn());
}

std::string ptxVersionName(int version) {
  return llvm::formatv("{0}.{1}", version / 10, version % 10);
}

/// What is wrong with an NVVM intrinsic of that name, or nothing.
std::string checkNVVM(llvm::StringRef name, const Target &target) {
  for (llvm::StringRef prefix : kNowhere)
    if (name.starts_with(prefix))
      return llvm::formatv("target {0} has no {1}", target.name,
                           name.take_until([](char c) { return c == '('; }));
  for (const Requirement &need : kRequirements) {
    if (!name.starts_with(need.prefix))
      continue;
    if (need.feature && !target.has(*need.feature))
      return llvm::formatv("target {0} has no {1} (llvm.nvvm.{2})", target.name,
                           need.instruction, name);
    if (need.ptxVersion > target.ptxVersion)
      return llvm::formatv(
          "{0} (llvm.nvvm.{1}) needs PTX {2}, target {3} is compiled as PTX "
          "{4}",
          need.instruction, name, ptxVersionName(need.ptxVersion), target.name,
          ptxVersionName(target.ptxVersion));
    break;
  }
  return "";
}

std::string checkGeneric(llvm::StringRef name, const llvm::CallBase &call) {
  for (const Unselectable &entry : kUnselectable) {
    if (name.take_until([](char c) { return c == '.'; }) != entry.name)
      continue;
    const auto *math = llvm::dyn_cast<llvm::FPMathOperator>(&call);
    if (entry.fastOnly && math && math->hasApproxFunc())
      return "";
    std::string message = llvm::formatv("NVPTX has no code for llvm.{0}", name);
    if (!entry.hint.empty())
      message += "; use " + entry.hint.str();
    return message;
  }
  return "";
}

std::string checkAsm(llvm::StringRef text, const Target &target) {
  llvm::SmallVector<llvm::StringRef> statements;
  text.split(statements, ';');
  for (llvm::StringRef statement : statements) {
    // A mnemonic may stand behind "{", a predicate ("@p ") or white space.
    statement = statement.ltrim(" \t\n{");
    if (statement.consume_front("@"))
      statement = statement.drop_until(llvm::isSpace).ltrim();
    for (llvm::StringRef prefix : kNowhere)
      if (statement.starts_with(prefix))
        return llvm::formatv("target {0} has no {1}", target.name,
                             statement.take_until(llvm::isSpace));
    if (statement.starts_with("setmaxnreg.") &&
        !target.has(Feature::SetMaxNReg))
      return llvm::formatv("target {0} has no setmaxnreg", target.name);
  }
  return "";
}

std::string checkCall(const llvm::CallBase &call, const Target &target) {
  if (const auto *text =
          llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return checkAsm(text->getAsmString(), target);
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee)
    return "indirect call: a kernel calls functions by name";
  llvm::StringRef name = callee->getName();
  if (!callee->isIntrinsic()) {
    if (callee->isDeclaration())
      return ("call of function '" + name + "', which has no body").str();
    return "";
  }
  name.consume_front("llvm.");
  if (name.consume_front("nvvm."))
    return checkNVVM(name, target);
  return checkGeneric(name, call);
}

} // namespace

llvm::Error checkTargetSupport(const llvm::Module &module,
                               const Target &target) {
  std::vector<std::string> errors;
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &inst : llvm::instructions(function))
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&inst))
        if (std::string message = checkCall(*call, target); !message.empty())
          errors.push_back(where(*call) + "error: " + message);
  if (errors.empty())
    return llvm::Error::success();
  // The same line unrolled many times is one mistake.
  errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
  return llvm::createStringError(llvm::join(errors, "\n"));
}

} // namespace mlatile
