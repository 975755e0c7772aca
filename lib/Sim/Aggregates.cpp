// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structs and arrays in SSA values become one value an element. Register tiles
// travel through loops as structs of hundreds of floats; host code generation
// without optimisation would copy all of them at every insertvalue.
#include "Rewrite.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"

using namespace llvm;

namespace {

bool isAggregate(Type *type) { return type->isStructTy() || type->isArrayTy(); }

Type *elementType(Type *type, unsigned i) {
  return type->isStructTy() ? type->getStructElementType(i)
                            : type->getArrayElementType();
}
unsigned elementCount(Type *type) {
  return type->isStructTy() ? type->getStructNumElements()
                            : type->getArrayNumElements();
}

unsigned leafCount(Type *type) {
  if (!isAggregate(type))
    return 1;
  if (type->isArrayTy())
    return elementCount(type) * leafCount(type->getArrayElementType());
  unsigned count = 0;
  for (Type *element : cast<StructType>(type)->elements())
    count += leafCount(element);
  return count;
}

/// First leaf of the element at `indices`, and that element's type.
std::pair<unsigned, Type *> locate(Type *type, ArrayRef<unsigned> indices) {
  unsigned at = 0;
  for (unsigned index : indices) {
    for (unsigned i = 0; i < index; ++i)
      at += leafCount(elementType(type, i));
    type = elementType(type, index);
  }
  return {at, type};
}

void leafPaths(Type *type, SmallVectorImpl<unsigned> &path,
               function_ref<void(ArrayRef<unsigned>, Type *)> visit) {
  if (!isAggregate(type))
    return visit(path, type);
  for (unsigned i = 0; i < elementCount(type); ++i) {
    path.push_back(i);
    leafPaths(elementType(type, i), path, visit);
    path.pop_back();
  }
}

class Splitter {
public:
  explicit Splitter(Function &function) : function(function) {}

  void run() {
    SmallVector<ExtractValueInst *> extracts;
    for (BasicBlock &block : function)
      for (Instruction &inst : block) {
        if (auto *extract = dyn_cast<ExtractValueInst>(&inst))
          extracts.push_back(extract);
        if (isAggregate(inst.getType()) &&
            isa<PHINode, SelectInst, FreezeInst, InsertValueInst>(inst))
          split.push_back(&inst);
      }
    if (split.empty())
      return;
    SmallVector<std::pair<ExtractValueInst *, Value *>> replaced;
    for (ExtractValueInst *extract : extracts) {
      Value *from = extract->getAggregateOperand();
      if (isAggregate(extract->getType()) || !isSplit(from))
        continue;
      unsigned at = locate(from->getType(), extract->getIndices()).first;
      replaced.push_back({extract, leaves(from)[at]});
    }
    fillPhis();
    // A replacement may itself be an extract that is replaced.
    DenseMap<Value *, Value *> map;
    for (auto &[extract, by] : replaced)
      map[extract] = by;
    for (auto &[extract, by] : replaced) {
      Value *last = by;
      while (Value *more = map.lookup(last))
        last = more;
      extract->replaceAllUsesWith(last);
    }
    for (auto &[extract, by] : replaced)
      extract->eraseFromParent();
    erase();
  }

private:
  /// Values whose elements are known without an extract.
  bool isSplit(Value *value) {
    return isa<Constant, PHINode, SelectInst, FreezeInst, InsertValueInst,
               ExtractValueInst>(value);
  }

  SmallVector<Value *> &leaves(Value *value) {
    auto found = known.find(value);
    if (found != known.end())
      return *found->second;
    auto made = std::make_unique<SmallVector<Value *>>(compute(value));
    auto &slot = known[value];
    if (!slot)
      slot = std::move(made);
    return *slot;
  }

  SmallVector<Value *> compute(Value *value) {
    Type *type = value->getType();
    if (!isAggregate(type))
      return {value};
    if (auto *constant = dyn_cast<Constant>(value))
      return ofConstant(constant);
    if (auto *phi = dyn_cast<PHINode>(value))
      return ofPhi(phi);
    if (auto *insert = dyn_cast<InsertValueInst>(value)) {
      // Long chains: walk down to something known, without recursion.
      SmallVector<InsertValueInst *> chain;
      Value *base = insert;
      while (auto *next = dyn_cast<InsertValueInst>(base)) {
        if (next != value && known.count(next))
          break;
        chain.push_back(next);
        base = next->getAggregateOperand();
      }
      SmallVector<Value *> all = leaves(base);
      for (InsertValueInst *step : llvm::reverse(chain)) {
        unsigned at = locate(type, step->getIndices()).first;
        for (Value *leaf : leaves(step->getInsertedValueOperand()))
          all[at++] = leaf;
      }
      return all;
    }
    if (auto *extract = dyn_cast<ExtractValueInst>(value)) {
      Value *from = extract->getAggregateOperand();
      auto [at, inner] = locate(from->getType(), extract->getIndices());
      SmallVector<Value *> all = leaves(from);
      return SmallVector<Value *>(all.begin() + at,
                                  all.begin() + at + leafCount(inner));
    }
    if (auto *select = dyn_cast<SelectInst>(value)) {
      SmallVector<Value *> yes = leaves(select->getTrueValue()),
                           no = leaves(select->getFalseValue()), all;
      IRBuilder<> b(select);
      for (auto [x, y] : zip(yes, no))
        all.push_back(b.CreateSelect(select->getCondition(), x, y));
      return all;
    }
    if (auto *freeze = dyn_cast<FreezeInst>(value)) {
      SmallVector<Value *> all;
      SmallVector<Value *> inputs = leaves(freeze->getOperand(0));
      IRBuilder<> b(freeze);
      for (Value *leaf : inputs)
        all.push_back(b.CreateFreeze(leaf));
      return all;
    }
    return ofDefinition(value);
  }

  SmallVector<Value *> ofConstant(Constant *constant) {
    SmallVector<Value *> all;
    SmallVector<unsigned> path;
    leafPaths(constant->getType(), path,
              [&](ArrayRef<unsigned> indices, Type *type) {
                Constant *at = constant;
                for (unsigned i : indices)
                  at = at ? at->getAggregateElement(i) : nullptr;
                all.push_back(at ? at : PoisonValue::get(type));
              });
    return all;
  }

  SmallVector<Value *> ofPhi(PHINode *phi) {
    SmallVector<Value *> all;
    SmallVector<unsigned> path;
    IRBuilder<> b(phi);
    leafPaths(phi->getType(), path, [&](ArrayRef<unsigned>, Type *type) {
      all.push_back(b.CreatePHI(type, phi->getNumIncomingValues()));
    });
    phis.push_back(phi);
    return all;
  }

  /// Calls, loads, arguments: extracts right behind them.
  SmallVector<Value *> ofDefinition(Value *value) {
    IRBuilder<> b(function.getContext());
    if (auto *inst = dyn_cast<Instruction>(value))
      b.SetInsertPoint(inst->getNextNode());
    else
      b.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
    SmallVector<Value *> all;
    SmallVector<unsigned> path;
    leafPaths(value->getType(), path, [&](ArrayRef<unsigned> indices, Type *) {
      all.push_back(b.CreateExtractValue(value, indices));
    });
    return all;
  }

  /// Incoming values may need further phis, so this runs to a fixed point.
  void fillPhis() {
    for (size_t i = 0; i < phis.size(); ++i) {
      PHINode *phi = phis[i];
      for (unsigned j = 0; j < phi->getNumIncomingValues(); ++j) {
        SmallVector<Value *> incoming = leaves(phi->getIncomingValue(j));
        SmallVector<Value *> &own = leaves(phi);
        for (auto [leaf, value] : zip(own, incoming))
          cast<PHINode>(leaf)->addIncoming(value, phi->getIncomingBlock(j));
      }
    }
  }

  /// Erases what only served the aggregates; what is still used (stored as a
  /// whole, passed to a call) stays.
  void erase() {
    // Whatever else still needs a whole aggregate keeps its chain alive.
    SmallPtrSet<Instruction *, 32> dead(split.begin(), split.end());
    bool changed = true;
    while (changed) {
      changed = false;
      for (Instruction *inst : split) {
        if (!dead.count(inst))
          continue;
        for (User *user : inst->users()) {
          auto *other = dyn_cast<Instruction>(user);
          auto *extract = dyn_cast<ExtractValueInst>(user);
          bool unusedExtract = extract && extract->use_empty();
          if (!other || (!dead.count(other) && !unusedExtract)) {
            dead.erase(inst);
            changed = true;
            break;
          }
        }
      }
    }
    SmallVector<Instruction *> order(dead.begin(), dead.end());
    for (Instruction *inst : order)
      for (User *user : make_early_inc_range(inst->users()))
        if (auto *extract = dyn_cast<ExtractValueInst>(user))
          if (extract->use_empty())
            extract->eraseFromParent();
    for (Instruction *inst : order)
      inst->dropAllReferences();
    for (Instruction *inst : order)
      inst->eraseFromParent();
  }

  Function &function;
  SmallVector<Instruction *> split;
  SmallVector<PHINode *> phis;
  DenseMap<Value *, std::unique_ptr<SmallVector<Value *>>> known;
};

} // namespace

void mlatile::sim::splitAggregates(Function &function) {
  Splitter(function).run();
}
