// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a lane does without the others: special registers, mathematics,
// conversions, copies, mbarriers. Whatever is neither this nor a collective is
// an error, by name, before anything runs.
#include "Entry.h"
#include "Machine.h"
#include "Rewrite.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include <cstddef>

using namespace llvm;
using namespace mlatile::sim;

namespace {

class ThreadLowering {
public:
  explicit ThreadLowering(Rewrite &rewrite)
      : rewrite(rewrite), b(rewrite.module->getContext()) {}

  Error run() {
    SmallVector<CallBase *> calls;
    SmallVector<UnreachableInst *> ends;
    SmallVector<Instruction *> polls;
    for (Instruction &inst : instructions(*rewrite.entry)) {
      if (auto *call = dyn_cast<CallBase>(&inst))
        calls.push_back(call);
      if (auto *end = dyn_cast<UnreachableInst>(&inst))
        ends.push_back(end);
      auto *load = dyn_cast<LoadInst>(&inst);
      if (isa<AtomicCmpXchgInst>(inst) ||
          (load && (load->isAtomic() || load->isVolatile())))
        polls.push_back(&inst);
    }
    // A loop around such an access may wait for another thread.
    for (Instruction *access : polls) {
      b.SetInsertPoint(access);
      callRuntime(
          b, reinterpret_cast<const void *>(threadPoll), b.getVoidTy(),
          {rewrite.lane, b.getInt32(rewrite.siteOf(*access, "atomic access"))});
    }
    for (UnreachableInst *end : ends) {
      b.SetInsertPoint(end);
      trap(*end);
    }
    for (CallBase *call : calls)
      if (Error error = lower(*call))
        return error;
    return Error::success();
  }

private:
  Error lower(CallBase &call);
  bool lowerRegister(StringRef name);
  bool lowerMbarrier(StringRef name);
  bool lowerCopy(StringRef name);
  bool lowerOther(StringRef name);
  bool lowerScalar(StringRef name);

  uint32_t site() {
    return rewrite.siteOf(
        *call,
        call->getCalledFunction()->getName().drop_front(strlen("llvm.nvvm.")));
  }
  Value *siteValue() { return b.getInt32(site()); }
  void trap(Instruction &at) {
    callRuntime(b, reinterpret_cast<const void *>(threadTrap), b.getVoidTy(),
                {rewrite.lane, b.getInt32(rewrite.siteOf(at, "unreachable"))});
  }
  Value *arg(unsigned i) { return call->getArgOperand(i); }
  /// Argument i as a generic pointer.
  Value *pointer(unsigned i) {
    return b.CreateAddrSpaceCast(arg(i), b.getPtrTy());
  }
  Value *field(size_t offset, Type *type) {
    Value *at = b.CreateConstGEP1_32(b.getInt8Ty(), rewrite.lane, offset);
    LoadInst *load = b.CreateLoad(type, at);
    load->setMetadata(LLVMContext::MD_invariant_load,
                      MDNode::get(b.getContext(), {}));
    return load;
  }
  void replace(Value *value) {
    if (!call->getType()->isVoidTy())
      call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  /// Calls F(lane, args..., site) for its effect, or its result.
  template <typename F>
  bool enter(F *function, Type *result, ArrayRef<Value *> args,
             bool withSite = true) {
    SmallVector<Value *> all = {rewrite.lane};
    all.append(args.begin(), args.end());
    if (withSite)
      all.push_back(siteValue());
    Value *value =
        callRuntime(b, reinterpret_cast<const void *>(function), result, all);
    if (call->getType()->isIntegerTy(1))
      value = b.CreateICmpNE(value, ConstantInt::get(value->getType(), 0));
    replace(value);
    return true;
  }

  Rewrite &rewrite;
  IRBuilder<> b;
  CallBase *call = nullptr;
  std::string problem;
};

bool ThreadLowering::lowerRegister(StringRef name) {
  if (!name.consume_front("read.ptx.sreg."))
    return false;
  if (name == "clock64" || name == "globaltimer")
    return enter(threadClock, b.getInt64Ty(), {}, false);
  int offset =
      StringSwitch<int>(name)
          .Case("tid.x", offsetof(Lane, tid))
          .Case("laneid", offsetof(Lane, laneId))
          .Case("warpid", offsetof(Lane, warpId))
          .Case("nwarpid", offsetof(Lane, nwarps))
          .Case("ntid.x", offsetof(Lane, ntid))
          .Case("ctaid.x", offsetof(Lane, ctaid[0]))
          .Case("ctaid.y", offsetof(Lane, ctaid[1]))
          .Case("ctaid.z", offsetof(Lane, ctaid[2]))
          .Case("nctaid.x", offsetof(Lane, nctaid[0]))
          .Case("nctaid.y", offsetof(Lane, nctaid[1]))
          .Case("nctaid.z", offsetof(Lane, nctaid[2]))
          .Case("clusterid.x", offsetof(Lane, clusterId))
          .Case("clusterid.y", offsetof(Lane, ctaid[1]))
          .Case("clusterid.z", offsetof(Lane, ctaid[2]))
          .Case("nclusterid.x", offsetof(Lane, clusters))
          .Case("nclusterid.y", offsetof(Lane, nctaid[1]))
          .Case("nclusterid.z", offsetof(Lane, nctaid[2]))
          .Cases({"cluster.ctaid.x", "cluster.ctarank"},
                 offsetof(Lane, clusterRank))
          .Cases({"cluster.nctaid.x", "cluster.nctarank"},
                 offsetof(Lane, clusterSize))
          .Case("dynamic_smem_size", offsetof(Lane, dynamicSharedBytes))
          .Default(-1);
  if (offset >= 0) {
    replace(field(offset, b.getInt32Ty()));
    return true;
  }
  int constant =
      StringSwitch<int>(name)
          .Cases({"tid.y", "tid.z", "cluster.ctaid.y", "cluster.ctaid.z"}, 0)
          .Cases({"ntid.y", "ntid.z", "cluster.nctaid.y", "cluster.nctaid.z"},
                 1)
          .Case("warpsize", 32)
          .Default(-1);
  if (constant >= 0) {
    replace(b.getInt32(constant));
    return true;
  }
  if (!name.consume_front("lanemask."))
    return false;
  Value *one =
      b.CreateShl(b.getInt32(1), field(offsetof(Lane, laneId), b.getInt32Ty()));
  Value *below = b.CreateSub(one, b.getInt32(1));
  Value *mask = name == "eq"   ? one
                : name == "lt" ? below
                : name == "le" ? b.CreateOr(below, one)
                : name == "ge" ? b.CreateNot(below)
                : name == "gt" ? b.CreateNot(b.CreateOr(below, one))
                               : nullptr;
  if (!mask)
    return false;
  replace(mask);
  return true;
}

bool ThreadLowering::lowerMbarrier(StringRef name) {
  if (!name.consume_front("mbarrier."))
    return false;
  Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty(), *none = b.getVoidTy();
  if (name == "pending.count") {
    replace(callRuntime(b, reinterpret_cast<const void *>(mbarrierPendingCount),
                        i32, {arg(0)}));
    return true;
  }
  if (name == "init" || name == "init.shared")
    return enter(mbarrierInit, none, {pointer(0), arg(1)});
  if (name == "inval" || name == "inval.shared")
    return enter(mbarrierInvalidate, none, {pointer(0)});
  if (name.starts_with("expect.tx."))
    return enter(mbarrierExpectTx, none, {pointer(0), arg(1)});
  if (name.starts_with("complete.tx."))
    return enter(mbarrierCompleteTx, none, {pointer(0), arg(1)});

  if (name.consume_front("arrive")) {
    bool drop = name.consume_front(".drop");
    // arrive[.drop][.expect.tx][.relaxed][.scope.S.space.T](bar, count or tx)
    // arrive[.drop][.noComplete][.shared](bar[, count])
    bool expect = name.consume_front(".expect.tx");
    Value *one = b.getInt32(1), *zero = b.getInt32(0);
    Value *second = call->arg_size() > 1 ? arg(1) : one;
    return enter(mbarrierArrive, call->getType()->isVoidTy() ? none : i64,
                 {pointer(0), expect ? one : second, expect ? second : zero,
                  b.getInt32(drop)});
  }
  bool blocks = name.starts_with("try.wait");
  if (!blocks && !name.starts_with("test.wait"))
    return false;
  if (name.contains(".parity"))
    return enter(mbarrierWaitParity, i32,
                 {pointer(0), arg(1), b.getInt32(blocks)});
  return enter(mbarrierWaitToken, i32,
               {pointer(0), arg(1), b.getInt32(blocks)});
}

bool ThreadLowering::lowerCopy(StringRef name) {
  if (!name.consume_front("cp.async."))
    return false;
  Type *none = b.getVoidTy();
  if (name == "commit.group")
    return enter(copyAsyncCommit, none, {}, false);
  if (name == "wait.group")
    return enter(copyAsyncWait, none, {arg(0)}, false);
  if (name == "wait.all")
    return enter(copyAsyncWaitAll, none, {}, false);
  if (name.starts_with("mbarrier.arrive"))
    return enter(copyAsyncArrive, none,
                 {pointer(0), b.getInt32(name.contains("noinc"))});
  if (name.consume_front("ca.shared.global.") ||
      name.consume_front("cg.shared.global.")) {
    bool sized = name.consume_back(".s");
    unsigned size = 0;
    if (name.getAsInteger(10, size))
      return false;
    Value *bytes = b.getInt32(size);
    return enter(copyAsync, none,
                 {pointer(0), pointer(1), bytes, sized ? arg(2) : bytes});
  }
  if (name == "bulk.global.to.shared.cta")
    return enter(bulkLoad, none, {pointer(0), pointer(1), pointer(2), arg(3)});
  if (name == "bulk.global.to.shared.cluster") {
    auto *multicast = dyn_cast<ConstantInt>(arg(6));
    if (!multicast || !multicast->isZero())
      return false;
    return enter(bulkLoad, none, {pointer(0), pointer(1), pointer(2), arg(3)});
  }
  if (name == "bulk.shared.cta.to.global")
    return enter(bulkStore, none, {pointer(0), pointer(1), arg(2)});
  if (name == "bulk.commit.group")
    return enter(bulkCommit, none, {}, false);
  if (name == "bulk.wait.group" || name == "bulk.wait.group.read")
    return enter(bulkWait, none, {arg(0)}, false);
  if (name == "bulk.prefetch.L2") {
    replace(nullptr);
    return true;
  }
  return false;
}

bool ThreadLowering::lowerOther(StringRef name) {
  if (name == "griddepcontrol.wait")
    return enter(threadAwaitLaunches, b.getVoidTy(), {}, false);
  if (name == "fence.proxy.async" || name == "fence.proxy.async.shared_cta" ||
      name == "fence.proxy.async.shared_cluster")
    return enter(threadFenceProxy, b.getVoidTy(), {}, false);
  // Every access is in order and seen by all here.
  if (name.starts_with("fence.") || name.starts_with("membar.") ||
      name.starts_with("griddepcontrol.") || name.starts_with("prefetch") ||
      name.starts_with("applypriority.") || name.starts_with("discard.") ||
      name == "pm.event.mask") {
    replace(nullptr);
    return true;
  }
  if (name == "mapa" || name == "mapa.shared.cluster") {
    Value *address = callRuntime(
        b, reinterpret_cast<const void *>(clusterAddress), b.getPtrTy(),
        {rewrite.lane, pointer(0), arg(1), siteValue()});
    replace(b.CreateAddrSpaceCast(address, call->getType()));
    return true;
  }
  if (name == "nanosleep")
    return enter(threadPoll, b.getVoidTy(), {});
  if (name == "exit")
    return enter(threadExit, b.getVoidTy(), {}, false);
  if (name.starts_with("setmaxnreg.")) {
    uint64_t count = cast<ConstantInt>(arg(0))->getZExtValue();
    if (count % 8 || count < 24 || count > 256) {
      problem = "setmaxnreg: expected a multiple of 8 from 24 to 256, got " +
                std::to_string(count);
      return true;
    }
    replace(nullptr);
    return true;
  }
  if (name.consume_front("isspacep.")) {
    if (name == "const" || name == "local") {
      replace(b.getFalse());
      return true;
    }
    Value *shared =
        callRuntime(b, reinterpret_cast<const void *>(threadIsShared),
                    b.getInt32Ty(), {rewrite.lane, pointer(0)}, /*pure=*/true);
    Value *zero = b.getInt32(0);
    replace(name == "global" ? b.CreateICmpEQ(shared, zero)
                             : b.CreateICmpNE(shared, zero));
    return true;
  }
  return false;
}

/// A value as the runtime's functions take it, and back.
Value *toRuntime(IRBuilder<> &b, Value *value) {
  Type *type = value->getType();
  if (type->isIntegerTy(1))
    return b.CreateZExt(value, b.getInt32Ty());
  if (type->isHalfTy() || type->isBFloatTy() || type->isVectorTy())
    value = b.CreateBitCast(
        value, b.getIntNTy(type->getPrimitiveSizeInBits().getFixedValue()));
  // The host ABI wants small integers extended.
  if (value->getType()->isIntegerTy(16))
    value = b.CreateZExt(value, b.getInt32Ty());
  return value;
}
Type *runtimeType(IRBuilder<> &b, Type *type) {
  if (type->isIntegerTy(1))
    return b.getInt32Ty();
  if (type->isHalfTy() || type->isBFloatTy())
    return b.getInt16Ty();
  if (type->isVectorTy())
    return b.getIntNTy(type->getPrimitiveSizeInBits().getFixedValue());
  return type;
}

bool ThreadLowering::lowerScalar(StringRef name) {
  // ex2.approx and fabs are overloaded on their type.
  std::string full = name.str();
  if (name.starts_with("ex2.") || name == "fabs" || name == "fabs.ftz")
    full += call->getType()->isFloatTy() ? ".f" : ".other";
  const void *function = scalarFunction(full);
  if (!function)
    return false;
  SmallVector<Value *> args;
  for (Value *value : call->args())
    args.push_back(toRuntime(b, value));
  Type *type = call->getType();
  Value *result = callRuntime(b, function, runtimeType(b, type), args,
                              /*pure=*/true);
  if (type->isIntegerTy(1))
    result = b.CreateICmpNE(result, b.getInt32(0));
  else
    result = b.CreateBitCast(result, type);
  replace(result);
  return true;
}

Error ThreadLowering::lower(CallBase &current) {
  call = &current;
  b.SetInsertPoint(call);
  Collective collective;
  auto refuse = [&](const Twine &what) {
    rewrite.siteOf(*call, "");
    std::string at = rewrite.sites.back();
    rewrite.sites.pop_back();
    return createStringError("kernel '" + rewrite.kernelName +
                             "': the executor does not support " + what +
                             (call->getDebugLoc() ? at : std::string()));
  };
  if (isa<InlineAsm>(call->getCalledOperand())) {
    if (parseMovMatrix(*call, collective))
      return Error::success();
    return refuse("inline assembly '" +
                  cast<InlineAsm>(call->getCalledOperand())->getAsmString() +
                  "'");
  }
  Function *callee = call->getCalledFunction();
  if (!callee)
    return Error::success(); // a runtime function
  StringRef name = callee->getName();
  if (callee->getIntrinsicID() == Intrinsic::trap ||
      callee->getIntrinsicID() == Intrinsic::ubsantrap) {
    trap(*call);
    call->eraseFromParent();
    return Error::success();
  }
  // As NVPTX lowers them; the host's libm would differ between hosts.
  if (call->getType()->isFloatTy()) {
    StringRef approximate =
        callee->getIntrinsicID() == Intrinsic::exp2   ? "ex2.approx.f"
        : callee->getIntrinsicID() == Intrinsic::log2 ? "lg2.approx.f"
        : callee->getIntrinsicID() == Intrinsic::tanh ? "tanh.approx.f"
                                                      : "";
    if (!approximate.empty()) {
      replace(callRuntime(b, scalarFunction(approximate), b.getFloatTy(),
                          {arg(0)}, /*pure=*/true));
      return Error::success();
    }
  }
  if (!name.starts_with("llvm.nvvm."))
    return Error::success();
  if (callee->getIntrinsicID() == Intrinsic::not_intrinsic)
    return refuse("'" + name + "'");
  StringRef base = Intrinsic::getBaseName(callee->getIntrinsicID());
  base.consume_front("llvm.nvvm.");
  if (parseCollective(base, collective))
    return Error::success();
  if (lowerRegister(base) || lowerMbarrier(base) || lowerCopy(base) ||
      lowerOther(base) || lowerScalar(base)) {
    if (!problem.empty())
      return createStringError("kernel '" + rewrite.kernelName +
                               "': " + problem);
    return Error::success();
  }
  return refuse("'" + name + "'");
}

} // namespace

Error mlatile::sim::lowerThreadOperations(Rewrite &rewrite) {
  return ThreadLowering(rewrite).run();
}
