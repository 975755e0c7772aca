// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives of a basic block that can run at once become one rendezvous.
// Members are collected until something forces them out: a memory access they
// may not cross, a call with effects, the end of the block, or a collective
// whose operand is computed from a member's result. Pure instructions that use
// results are moved behind the group; the others stay before it.
#include "Entry.h"
#include "Machine.h"
#include "Rewrite.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include <cstddef>
#include <queue>

using namespace llvm;
using namespace mlatile::sim;

namespace {

/// Bound on the rows of one group, counted without reuse.
constexpr unsigned kMaxRows = 4096;

struct Result {
  unsigned member, index;
};

struct Member {
  CallBase *call;
  Collective what;
};

class Grouper {
public:
  explicit Grouper(Rewrite &rewrite)
      : rewrite(rewrite), b(rewrite.module->getContext()) {}

  Error run() {
    BasicBlock &entry = rewrite.entry->getEntryBlock();
    b.SetInsertPoint(&entry, entry.begin());
    Value *at = b.CreateConstGEP1_32(b.getInt8Ty(), rewrite.lane,
                                     offsetof(Lane, column));
    column = b.CreateLoad(b.getPtrTy(), at, "column");
    for (BasicBlock &block : *rewrite.entry) {
      for (auto it = block.begin(); it != block.end();) {
        Instruction &inst = *it++;
        visit(inst);
      }
    }
    for (Instruction *inst : dead)
      inst->replaceAllUsesWith(PoisonValue::get(inst->getType()));
    for (Instruction *inst : dead)
      inst->eraseFromParent();
    return Error::success();
  }

private:
  void visit(Instruction &inst);
  void visitCollective(CallBase &call, Collective what);
  bool needsPending(Instruction &inst);
  bool mayPass(Instruction &inst);
  void flush(Instruction *before);
  void finishOp(CallBase &call, Collective &what);
  void addResult(Value *value, Result result);

  // flush() in steps
  void assignRows(Group &group);
  void replaceResults(Instruction *before, const Group &group);
  uint16_t takeRow() {
    if (!freeRows.empty()) {
      uint16_t row = freeRows.top();
      freeRows.pop();
      return row;
    }
    return usedRows++;
  }
  void store(Value *value, unsigned row);
  Value *rowAddress(unsigned row) {
    return b.CreateConstGEP1_32(b.getInt8Ty(), column, row * 128);
  }

  Rewrite &rewrite;
  IRBuilder<> b;
  Value *column = nullptr;

  SmallVector<Member> members;
  DenseMap<Value *, Result> direct; ///< results, also through bitcasts
  SmallVector<Instruction *> projections;
  SmallPtrSet<Value *, 32> dependents; ///< computed from results
  SmallVector<Instruction *> deferred;
  std::vector<Instruction *> dead;
  bool reads = false, writes = false;
  unsigned wantedRows = 0;

  std::priority_queue<uint16_t, std::vector<uint16_t>, std::greater<>> freeRows;
  uint16_t usedRows = 0;
  DenseMap<Value *, uint16_t> inputRows;
  DenseMap<Value *, uint16_t> wideRows; ///< upper half of 64-bit inputs
};

/// What a lane stores for `value`: itself before a bitcast of the same size.
Value *withoutBitcast(Value *value) {
  while (auto *cast = dyn_cast<BitCastInst>(value))
    value = cast->getOperand(0);
  return value;
}

bool is32Bit(Type *type) {
  return type->isIntegerTy(32) || type->isFloatTy() ||
         (type->isVectorTy() && type->getPrimitiveSizeInBits() == 32);
}

bool Grouper::needsPending(Instruction &inst) {
  return any_of(inst.operands(), [&](Value *operand) {
    return direct.count(operand) || dependents.count(operand);
  });
}

/// May `inst`, which needs no pending result, run before the pending members?
bool Grouper::mayPass(Instruction &inst) {
  if (!inst.mayHaveSideEffects() && !inst.mayReadFromMemory())
    return true;
  if (auto *load = dyn_cast<LoadInst>(&inst))
    return load->isUnordered() && !load->isVolatile() && !writes;
  if (auto *store = dyn_cast<StoreInst>(&inst)) {
    if (!store->isUnordered() || store->isVolatile())
      return false;
    bool apart = store->getPointerAddressSpace() == 1 ||
                 isa<AllocaInst>(store->getPointerOperand());
    return apart || (!reads && !writes);
  }
  return false;
}

void Grouper::visit(Instruction &inst) {
  if (auto *call = dyn_cast<CallBase>(&inst)) {
    Collective what;
    bool collective = false;
    if (call->isInlineAsm())
      collective = parseMovMatrix(*call, what);
    else if (Function *callee = call->getCalledFunction()) {
      StringRef name = callee->isIntrinsic()
                           ? Intrinsic::getBaseName(callee->getIntrinsicID())
                           : StringRef();
      if (name.consume_front("llvm.nvvm."))
        collective = parseCollective(name, what);
    }
    if (collective)
      return visitCollective(*call, std::move(what));
  }
  if (members.empty())
    return;
  if (direct.count(&inst))
    return; // another name of a result
  bool needs = needsPending(inst);
  if (needs && !inst.isTerminator() && !isa<PHINode>(inst) &&
      !inst.mayHaveSideEffects() && !inst.mayReadFromMemory()) {
    dependents.insert(&inst);
    deferred.push_back(&inst);
    return;
  }
  if (needs || inst.isTerminator() || !mayPass(inst))
    flush(&inst);
}

/// Registers a result and its other names, wherever they stand.
void Grouper::addResult(Value *value, Result result) {
  direct[value] = result;
  for (User *user : value->users()) {
    if (auto *extract = dyn_cast<ExtractValueInst>(user)) {
      projections.push_back(extract);
      addResult(extract, {result.member, extract->getIndices()[0]});
    } else if (auto *cast = dyn_cast<BitCastInst>(user)) {
      if (!is32Bit(cast->getType()) || !is32Bit(cast->getSrcTy()))
        continue;
      projections.push_back(cast);
      addResult(cast, result);
    }
  }
}

/// Constant operands that need no row, and the name of the place.
void Grouper::finishOp(CallBase &call, Collective &what) {
  StringRef name = "movmatrix";
  if (Function *callee = call.getCalledFunction())
    name = callee->getName().drop_front(strlen("llvm.nvvm."));
  what.op.site = rewrite.siteOf(call, name);
  if (what.op.code == OpCode::Mma && !what.op.mma.scaleBlocks)
    return; // all its operands are registers of a tile
  for (auto [i, index] : enumerate(what.arguments)) {
    if (index == ~0u) { // the count of a barrier of all threads
      what.op.in[i] = kImmediate;
      what.op.value[i] = 0;
      continue;
    }
    auto *constant = dyn_cast<ConstantInt>(call.getArgOperand(index));
    if (constant && constant->getBitWidth() <= 32) {
      what.op.in[i] = kImmediate;
      what.op.value[i] = constant->getZExtValue();
    }
  }
}

void Grouper::visitCollective(CallBase &call, Collective what) {
  finishOp(call, what);
  bool wholeMask = true;
  if (what.maskArgument >= 0) {
    auto *mask = dyn_cast<ConstantInt>(call.getArgOperand(what.maskArgument));
    wholeMask = mask && mask->isMinusOne();
  }
  bool dependsOnDeferred = any_of(call.args(), [&](Value *operand) {
    return dependents.count(operand) ||
           dependents.count(withoutBitcast(operand));
  });
  if (dependsOnDeferred || !wholeMask || what.alone || wantedRows > kMaxRows)
    flush(&call);
  reads |= what.reads;
  writes |= what.writes;
  wantedRows += what.op.outputs;
  for (Value *operand : call.args())
    wantedRows += !isa<Constant>(operand) && !direct.count(operand);
  addResult(&call, {static_cast<unsigned>(members.size()), 0});
  bool alone = what.alone || !wholeMask;
  members.push_back({&call, std::move(what)});
  if (alone)
    flush(call.getNextNode());
}

void Grouper::store(Value *value, unsigned row) {
  Type *type = value->getType();
  if (type->isPointerTy())
    value = b.CreatePtrToInt(value, b.getInt32Ty());
  else if (type->isIntegerTy() && type->getIntegerBitWidth() < 32)
    value = b.CreateZExt(value, b.getInt32Ty());
  b.CreateAlignedStore(value, rowAddress(row), Align(4));
}

/// Rows for inputs and results; a row is free again after its last use.
void Grouper::assignRows(Group &group) {
  freeRows = {};
  usedRows = 0;
  inputRows.clear();

  // Last member that uses an input or a result; ~0: lanes read it afterwards.
  DenseMap<Value *, unsigned> lastOfInput;
  SmallVector<std::array<unsigned, kMaxOutputs>> lastOfResult(members.size());
  SmallVector<std::array<uint16_t, kMaxOutputs>> rowOfResult(members.size());
  DenseMap<CallBase *, unsigned> memberOf;
  for (auto [i, member] : enumerate(members)) {
    memberOf[member.call] = i;
    lastOfResult[i].fill(i);
  }
  for (auto &[value, result] : direct)
    for (User *user : value->users()) {
      auto *inst = cast<Instruction>(user);
      auto found = direct.find(inst);
      bool projection =
          found != direct.end() && !memberOf.count(dyn_cast<CallBase>(inst));
      if (projection)
        continue;
      auto *call = dyn_cast<CallBase>(inst);
      auto member = call ? memberOf.find(call) : memberOf.end();
      unsigned &last = lastOfResult[result.member][result.index];
      if (member == memberOf.end())
        last = ~0u;
      else if (last != ~0u)
        last = std::max(last, member->second);
    }
  // A struct result somebody wants whole.
  for (auto [i, member] : enumerate(members))
    if (member.call->getType()->isStructTy())
      for (User *user : member.call->users())
        if (!direct.count(user))
          lastOfResult[i].fill(~0u);

  auto operand = [&](Member &member, unsigned i) -> Value * {
    Value *value = member.call->getArgOperand(member.what.arguments[i]);
    if (direct.count(value))
      return value;
    Value *source = withoutBitcast(value);
    return is32Bit(source->getType()) ? source : value;
  };
  SmallVector<Value *> inputs;
  for (auto [k, member] : enumerate(members))
    for (unsigned i = 0; i < member.what.arguments.size(); ++i) {
      if (member.what.op.in[i] == kImmediate)
        continue;
      Value *value = operand(member, i);
      if (direct.count(value))
        continue;
      if (!lastOfInput.count(value))
        inputs.push_back(value);
      lastOfInput[value] = k;
    }
  for (Value *value : inputs) {
    unsigned row = takeRow();
    inputRows[value] = row;
    if (value->getType()->isIntegerTy(64)) { // two rows, never freed
      unsigned high = usedRows++;
      store(b.CreateTrunc(value, b.getInt32Ty()), row);
      store(b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty()), high);
      wideRows[value] = high;
    } else {
      store(value, row);
    }
  }

  std::vector<SmallVector<uint16_t>> endingAt(members.size());
  for (auto [k, member] : enumerate(members)) {
    Op &op = member.what.op;
    SmallVector<Value *, 16> ended;
    for (unsigned i = 0; i < member.what.arguments.size(); ++i) {
      if (op.in[i] == kImmediate)
        continue;
      Value *value = operand(member, i);
      auto result = direct.find(value);
      if (result != direct.end()) {
        op.in[i] = rowOfResult[result->second.member][result->second.index];
        continue;
      }
      op.in[i] = inputRows.lookup(value);
      if (auto wide = wideRows.find(value); wide != wideRows.end())
        op.in[i + 1] = wide->second;
      else if (lastOfInput.lookup(value) == k && !is_contained(ended, value))
        ended.push_back(value);
    }
    for (Value *value : ended)
      freeRows.push(inputRows.lookup(value));
    for (uint16_t row : endingAt[k])
      freeRows.push(row);
    for (unsigned j = 0; j < op.outputs; ++j)
      op.out[j] = rowOfResult[k][j] = takeRow();
    for (unsigned j = 0; j < op.outputs; ++j) {
      unsigned last = lastOfResult[k][j];
      if (last == k)
        freeRows.push(op.out[j]);
      else if (last != ~0u)
        endingAt[last].push_back(op.out[j]);
    }
    group.wholeWarp |= member.what.wholeWarp;
    group.ops.push_back(op);
  }
  wideRows.clear();
  group.rows = usedRows;
  group.site = group.ops.front().site;
  rewrite.rows = std::max<uint32_t>(rewrite.rows, usedRows);
}

/// Loads what lanes read of the results, in place of the projections.
void Grouper::replaceResults(Instruction *before, const Group &group) {
  auto load = [&](Result result, Type *type) -> Value * {
    Value *at = rowAddress(group.ops[result.member].out[result.index]);
    if (type->isIntegerTy(1))
      return b.CreateICmpNE(b.CreateAlignedLoad(b.getInt32Ty(), at, Align(4)),
                            b.getInt32(0));
    return b.CreateAlignedLoad(type, at, Align(4));
  };
  auto readOutside = [&](Value *value) {
    return any_of(value->users(), [&](User *user) {
      auto *inst = cast<Instruction>(user);
      return !direct.count(inst);
    });
  };
  // Users of each other first: a projection's operand stays until it is gone.
  for (Instruction *projection : projections)
    if (readOutside(projection)) {
      Value *value = load(direct.lookup(projection), projection->getType());
      projection->replaceUsesWithIf(
          value, [&](Use &use) { return !direct.count(use.getUser()); });
    }
  for (auto [i, member] : enumerate(members)) {
    Type *type = member.call->getType();
    if (type->isVoidTy() || !readOutside(member.call))
      continue;
    Value *value = nullptr;
    if (auto *structure = dyn_cast<StructType>(type)) {
      value = PoisonValue::get(type);
      for (unsigned j = 0; j < structure->getNumElements(); ++j)
        value = b.CreateInsertValue(
            value,
            load({static_cast<unsigned>(i), j}, structure->getElementType(j)),
            j);
    } else {
      value = load({static_cast<unsigned>(i), 0}, type);
    }
    member.call->replaceUsesWithIf(
        value, [&](Use &use) { return !direct.count(use.getUser()); });
  }
  for (Instruction *inst : deferred)
    inst->moveBefore(before->getIterator());
  for (Member &member : members) {
    if (!member.call->getType()->isVoidTy())
      member.call->replaceAllUsesWith(PoisonValue::get(member.call->getType()));
    member.call->eraseFromParent();
  }
  // Others stand behind this place: they are erased when the walk is over.
  dead.insert(dead.end(), projections.begin(), projections.end());
}

void Grouper::flush(Instruction *before) {
  if (members.empty())
    return;
  b.SetInsertPoint(before);
  auto group = std::make_unique<Group>();
  assignRows(*group);
  Value *descriptor = ConstantExpr::getIntToPtr(
      b.getInt64(reinterpret_cast<uintptr_t>(group.get())), b.getPtrTy());
  Value *mask = nullptr;
  int maskArgument = members.front().what.maskArgument;
  if (maskArgument >= 0) {
    mask = members.front().call->getArgOperand(maskArgument);
    auto *constant = dyn_cast<ConstantInt>(mask);
    if (constant && constant->isMinusOne())
      mask = nullptr;
  }
  if (mask)
    callRuntime(b, reinterpret_cast<const void *>(enterMaskedCollective),
                b.getVoidTy(), {rewrite.lane, descriptor, mask});
  else
    callRuntime(b, reinterpret_cast<const void *>(enterCollective),
                b.getVoidTy(), {rewrite.lane, descriptor});
  replaceResults(before, *group);
  rewrite.groups.push_back(std::move(group));

  members.clear();
  direct.clear();
  projections.clear();
  dependents.clear();
  deferred.clear();
  reads = writes = false;
  wantedRows = 0;
}

} // namespace

Error mlatile::sim::groupCollectives(Rewrite &rewrite) {
  return Grouper(rewrite).run();
}
