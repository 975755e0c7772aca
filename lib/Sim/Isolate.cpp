// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel, everything inlined, with the signature the executor calls.
#include "Machine.h"
#include "Rewrite.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace mlatile::sim;

namespace {

constexpr unsigned kSharedSpace = 3;
constexpr unsigned kMaxInlined = 100000;

Error unsupported(const Twine &what) {
  return createStringError("the executor does not support " + what);
}

/// nvvm.reqntid = "256" or "256,1,1"; 0 if absent, ~0 if it is not 1-D.
unsigned threadAttribute(const Function &function, StringRef name) {
  StringRef text = function.getFnAttribute(name).getValueAsString();
  if (text.empty())
    return 0;
  SmallVector<StringRef, 3> parts;
  text.split(parts, ',');
  unsigned first = 0, other = 1;
  if (parts[0].trim().getAsInteger(10, first))
    return ~0u;
  for (StringRef part : drop_begin(parts))
    if (part.trim().getAsInteger(10, other) || other != 1)
      return ~0u;
  return first;
}

Error inlineEverything(Function &kernel) {
  for (unsigned count = 0;; ++count) {
    CallBase *call = nullptr;
    for (Instruction &inst : instructions(kernel)) {
      auto *candidate = dyn_cast<CallBase>(&inst);
      if (!candidate || candidate->isInlineAsm())
        continue;
      Function *callee = candidate->getCalledFunction();
      if (!callee)
        return unsupported("indirect calls");
      if (callee->isDeclaration()) {
        if (!callee->isIntrinsic())
          return unsupported("a call of the external function '" +
                             callee->getName() + "'");
        continue;
      }
      call = candidate;
      break;
    }
    if (!call)
      return Error::success();
    StringRef name = call->getCalledFunction()->getName();
    if (call->getCalledFunction() == &kernel || count > kMaxInlined)
      return unsupported("recursion, in '" + name + "'");
    InlineFunctionInfo info;
    InlineResult result = InlineFunction(*call, info);
    if (!result.isSuccess())
      return unsupported("the call of '" + name +
                         "': " + result.getFailureReason());
  }
}

/// Instructions that mean nothing here.
void dropHints(Function &function) {
  for (Instruction &inst : make_early_inc_range(instructions(function))) {
    // Fused or reassociated arithmetic would differ between hosts.
    if (isa<FPMathOperator>(inst))
      inst.setFastMathFlags(FastMathFlags());
    auto *call = dyn_cast<IntrinsicInst>(&inst);
    if (!call)
      continue;
    switch (call->getIntrinsicID()) {
    case Intrinsic::assume:
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::sideeffect:
    case Intrinsic::donothing:
    case Intrinsic::prefetch:
      inst.eraseFromParent();
      break;
    default:
      break;
    }
  }
}

/// void entry(Lane *, const void *const *args) with the kernel's body.
void giveSignature(Rewrite &rewrite, Function &kernel) {
  LLVMContext &context = kernel.getContext();
  Type *pointer = PointerType::get(context, 0);
  auto *type =
      FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
  auto *entry = Function::Create(type, GlobalValue::ExternalLinkage,
                                 "mlatile.entry", rewrite.module);
  entry->splice(entry->begin(), &kernel);
  entry->addFnAttr(Attribute::NoUnwind);
  // Reports the frame, whatever its size, so that stacks can be made to fit.
  entry->addFnAttr("warn-stack-size", "0");
  rewrite.entry = entry;
  rewrite.lane = entry->getArg(0);
  rewrite.lane->setName("lane");
  IRBuilder<> b(&entry->getEntryBlock(), entry->getEntryBlock().begin());
  for (Argument &arg : kernel.args()) {
    Value *slot =
        b.CreateConstGEP1_32(pointer, entry->getArg(1), arg.getArgNo());
    Value *value = b.CreateLoad(pointer, slot);
    if (arg.hasByValAttr())
      value = b.CreateAddrSpaceCast(value, arg.getType());
    else
      value = b.CreateAlignedLoad(arg.getType(), value, Align(1));
    value->takeName(&arg);
    arg.replaceAllUsesWith(value);
  }
  rewrite.arguments = kernel.arg_size();
}

} // namespace

uint32_t Rewrite::siteOf(const Instruction &inst, StringRef what) {
  std::string text = what.str();
  if (const DebugLoc &at = inst.getDebugLoc()) {
    StringRef file = at->getFilename();
    text += formatv(" at {0}:{1}:{2}",
                    file.rsplit('/').second.empty() ? file
                                                    : file.rsplit('/').second,
                    at.getLine(), at.getCol())
                .str();
  } else {
    text += formatv(" #{0}", sites.size()).str();
  }
  sites.push_back(std::move(text));
  return sites.size() - 1;
}

Error mlatile::sim::isolateKernel(Rewrite &rewrite) {
  Module &module = *rewrite.module;
  Triple triple = module.getTargetTriple();
  if (triple.getArch() != Triple::nvptx64)
    return createStringError("expected a module for nvptx64, got '" +
                             triple.str() + "'");
  Function *kernel = module.getFunction(rewrite.kernelName);
  if (!kernel || kernel->isDeclaration())
    return createStringError("the module has no kernel '" + rewrite.kernelName +
                             "'");
  if (kernel->getCallingConv() != CallingConv::PTX_Kernel)
    return createStringError("'" + rewrite.kernelName +
                             "' is not a kernel: expected calling convention "
                             "ptx_kernel");
  if (!kernel->getReturnType()->isVoidTy())
    return createStringError("kernel '" + rewrite.kernelName +
                             "' returns a value");
  rewrite.requiredThreads = threadAttribute(*kernel, "nvvm.reqntid");
  if (unsigned most = threadAttribute(*kernel, "nvvm.maxntid"))
    rewrite.maxThreads = std::min(rewrite.maxThreads, most);
  if (rewrite.requiredThreads == ~0u)
    return unsupported("blocks of more than one dimension");
  if (unsigned cluster = threadAttribute(*kernel, "nvvm.cluster_dim"))
    rewrite.clusterSize = cluster;
  if (rewrite.clusterSize == ~0u)
    return unsupported("clusters of more than one dimension");

  if (Error error = inlineEverything(*kernel))
    return error;
  removeUnreachableBlocks(*kernel);
  dropHints(*kernel);
  giveSignature(rewrite, *kernel);

  // Nothing but the kernel and what it refers to is compiled.
  for (Function &function : make_early_inc_range(module)) {
    if (&function == rewrite.entry || function.isDeclaration())
      continue;
    function.deleteBody();
  }
  for (StringRef list : {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
                         "llvm.global_dtors"})
    if (GlobalVariable *global = module.getGlobalVariable(list, true))
      global->eraseFromParent();
  for (Function &function : make_early_inc_range(module)) {
    function.removeDeadConstantUsers();
    if (&function != rewrite.entry && function.use_empty())
      function.eraseFromParent();
  }
  return Error::success();
}

Error mlatile::sim::placeSharedGlobals(Rewrite &rewrite) {
  Module &module = *rewrite.module;
  const DataLayout &layout = module.getDataLayout();
  SmallVector<GlobalVariable *> globals;
  SmallVector<Constant *> constants;
  for (GlobalVariable &global : module.globals()) {
    global.removeDeadConstantUsers();
    if (global.getAddressSpace() != kSharedSpace)
      continue;
    globals.push_back(&global);
    constants.push_back(&global);
  }
  convertUsersOfConstantsToInstructions(constants);

  uint64_t end = 0, dynamicAlign = 16;
  SmallVector<std::pair<GlobalVariable *, uint64_t>> placed;
  SmallVector<GlobalVariable *> dynamic;
  for (GlobalVariable *global : globals) {
    if (global->use_empty())
      continue;
    uint64_t align = global->getAlign()
                         ? global->getAlign()->value()
                         : layout.getPreferredAlign(global).value();
    uint64_t size = layout.getTypeAllocSize(global->getValueType());
    if (align > 4096)
      return unsupported("shared memory aligned to more than 4096 bytes");
    if (size == 0 && global->isDeclaration()) {
      dynamic.push_back(global);
      dynamicAlign = std::max(dynamicAlign, align);
      continue;
    }
    end = alignTo(end, align);
    placed.push_back({global, end});
    end += size;
  }
  if (!dynamic.empty())
    end = alignTo(end, dynamicAlign);
  for (GlobalVariable *global : dynamic)
    placed.push_back({global, end});
  rewrite.staticSharedBytes = end;

  BasicBlock &block = rewrite.entry->getEntryBlock();
  IRBuilder<> b(&block, block.begin());
  Type *shared = PointerType::get(module.getContext(), kSharedSpace);
  Value *base = nullptr;
  for (auto [global, offset] : placed) {
    if (!base) {
      Value *field = b.CreateConstGEP1_32(b.getInt8Ty(), rewrite.lane,
                                          offsetof(Lane, shared));
      base = b.CreateLoad(b.getPtrTy(), field, "shared");
    }
    Value *address =
        b.CreateAddrSpaceCast(b.CreateConstGEP1_64(b.getInt8Ty(), base, offset),
                              shared, global->getName());
    global->replaceAllUsesWith(address);
  }
  for (GlobalVariable *global : globals)
    global->eraseFromParent();
  return Error::success();
}

CallInst *mlatile::sim::callRuntime(IRBuilder<> &b, const void *function,
                                    Type *result, ArrayRef<Value *> args,
                                    bool pure) {
  SmallVector<Type *> types;
  for (Value *arg : args)
    types.push_back(arg->getType());
  auto *type = FunctionType::get(result, types, false);
  auto *address = ConstantExpr::getIntToPtr(
      b.getInt64(reinterpret_cast<uintptr_t>(function)), b.getPtrTy());
  CallInst *call = b.CreateCall(type, address, args);
  call->setDoesNotThrow();
  if (pure) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(Attribute::WillReturn);
  }
  return call;
}
