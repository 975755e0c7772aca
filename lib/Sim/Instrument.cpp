// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked mode: a call of the runtime before every access to shared or global
// memory that the kernel itself makes.
#include "Entry.h"
#include "Rewrite.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace mlatile::sim;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3, kClusterSpace = 7;

class Instrument {
public:
  explicit Instrument(Rewrite &rewrite)
      : rewrite(rewrite), b(rewrite.module->getContext()) {}

  void run() {
    SmallVector<Instruction *> accesses;
    for (Instruction &inst : instructions(*rewrite.entry))
      if (isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst,
              MemIntrinsic>(inst))
        accesses.push_back(&inst);
    for (Instruction *inst : accesses) {
      b.SetInsertPoint(inst);
      check(*inst);
    }
  }

private:
  /// Bits of a pointer's space; none: nothing to check.
  std::optional<uint32_t> spaceOf(const Value *pointer) {
    // Locals, the executor's own arguments, constants of the module.
    const Value *object = getUnderlyingObject(pointer);
    if (isa<AllocaInst, Argument, GlobalVariable>(object))
      return std::nullopt;
    switch (pointer->getType()->getPointerAddressSpace()) {
    case kGlobalSpace:
      return kCheckGlobal;
    case kSharedSpace:
      return kCheckShared;
    case kClusterSpace:
      return kCheckCluster;
    case 0:
      return 0;
    default:
      return std::nullopt;
    }
  }
  uint32_t bytesOf(Type *type) {
    return rewrite.module->getDataLayout().getTypeStoreSize(type);
  }
  Value *generic(Value *pointer) {
    return b.CreateAddrSpaceCast(pointer, b.getPtrTy());
  }
  Value *site(const Instruction &inst, StringRef what) {
    return b.getInt32(rewrite.siteOf(inst, what));
  }
  /// Where a lane keeps a value to be stored for a moment.
  Value *kept(Value *value) {
    if (!slot) {
      BasicBlock &entry = rewrite.entry->getEntryBlock();
      IRBuilder<> first(&entry, entry.begin());
      slot = first.CreateAlloca(ArrayType::get(b.getInt8Ty(), kSlotBytes));
      slot->setAlignment(Align(16));
    }
    b.CreateAlignedStore(value, slot, Align(16));
    return slot;
  }
  void call(const void *function, ArrayRef<Value *> args) {
    callRuntime(b, function, b.getVoidTy(), args);
  }
  void load(const Instruction &inst, Value *pointer, Value *bytes,
            uint32_t align, uint32_t space) {
    call(reinterpret_cast<const void *>(checkLoad),
         {rewrite.lane, generic(pointer), bytes, b.getInt32(space | align),
          site(inst, "load")});
  }
  void store(const Instruction &inst, Value *pointer, Value *bytes,
             Value *value, uint32_t align, uint32_t space) {
    if (!value)
      value = ConstantPointerNull::get(b.getPtrTy());
    call(reinterpret_cast<const void *>(checkStore),
         {rewrite.lane, generic(pointer), bytes, value,
          b.getInt32(space | align), site(inst, "store")});
  }
  void atomic(const Instruction &inst, Value *pointer, Type *type, Align align,
              uint32_t bits) {
    if (auto space = spaceOf(pointer))
      call(reinterpret_cast<const void *>(checkAtomic),
           {rewrite.lane, generic(pointer), b.getInt32(bytesOf(type)),
            b.getInt32(*space | bits | static_cast<uint32_t>(align.value())),
            site(inst, "atomic access")});
  }
  void check(Instruction &inst);
  void checkMemIntrinsic(MemIntrinsic &inst);

  static constexpr uint32_t kSlotBytes = 64;
  Rewrite &rewrite;
  IRBuilder<> b;
  AllocaInst *slot = nullptr;
};

void Instrument::checkMemIntrinsic(MemIntrinsic &inst) {
  Value *bytes = b.CreateZExtOrTrunc(inst.getLength(), b.getInt32Ty());
  if (auto *move = dyn_cast<MemTransferInst>(&inst))
    if (auto space = spaceOf(move->getSource()))
      load(inst, move->getSource(), bytes, 1, *space);
  if (auto space = spaceOf(inst.getDest()))
    store(inst, inst.getDest(), bytes, nullptr, 1, *space);
}

void Instrument::check(Instruction &inst) {
  if (auto *mem = dyn_cast<MemIntrinsic>(&inst))
    return checkMemIntrinsic(*mem);
  if (auto *rmw = dyn_cast<AtomicRMWInst>(&inst))
    return atomic(inst, rmw->getPointerOperand(), rmw->getType(),
                  rmw->getAlign(), kCheckReads | kCheckWrites);
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&inst))
    return atomic(inst, exchange->getPointerOperand(),
                  exchange->getCompareOperand()->getType(),
                  exchange->getAlign(), kCheckReads | kCheckWrites);
  // PTX: a volatile access is a relaxed one.
  if (auto *access = dyn_cast<LoadInst>(&inst)) {
    Value *pointer = access->getPointerOperand();
    if (access->isAtomic() || access->isVolatile())
      return atomic(inst, pointer, access->getType(), access->getAlign(),
                    kCheckReads);
    if (auto space = spaceOf(pointer))
      load(inst, pointer, b.getInt32(bytesOf(access->getType())),
           access->getAlign().value(), *space);
    return;
  }
  auto *access = cast<StoreInst>(&inst);
  Value *pointer = access->getPointerOperand();
  Value *value = access->getValueOperand();
  if (access->isAtomic() || access->isVolatile())
    return atomic(inst, pointer, value->getType(), access->getAlign(),
                  kCheckWrites);
  auto space = spaceOf(pointer);
  if (!space)
    return;
  uint32_t bytes = bytesOf(value->getType());
  Value *copy =
      *space == kCheckGlobal || bytes > kSlotBytes ? nullptr : kept(value);
  store(inst, pointer, b.getInt32(bytes), copy, access->getAlign().value(),
        *space);
}

} // namespace

void mlatile::sim::instrumentAccesses(Rewrite &rewrite) {
  Instrument(rewrite).run();
}
