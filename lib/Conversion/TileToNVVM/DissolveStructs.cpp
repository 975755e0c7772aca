// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DissolveStructs.h"
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace mlatile {
namespace {

/// The members of struct values, found once.
class Members {
public:
  /// Null members are not known.
  SmallVector<Value> of(Value value) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    auto type = cast<LLVM::LLVMStructType>(value.getType());
    SmallVector<Value> members(type.getBody().size());
    size_t missing = members.size();
    for (Value v = value; missing;) {
      if (auto it = known.find(v); it != known.end()) {
        for (auto [mine, theirs] : llvm::zip_equal(members, it->second))
          if (!mine)
            mine = theirs;
        missing = 0;
        break;
      }
      auto insert = v.getDefiningOp<LLVM::InsertValueOp>();
      if (!insert || insert.getPosition().size() != 1)
        break;
      Value &member = members[insert.getPosition()[0]];
      if (!member) {
        member = insert.getValue();
        --missing;
      }
      v = insert.getContainer();
    }
    // What is missing may become known when an argument is split.
    if (!missing)
      known[value] = members;
    return members;
  }
  void set(Value value, ValueRange members) {
    known[value].assign(members.begin(), members.end());
  }
  void forget(Value value) { known.erase(value); }

private:
  DenseMap<Value, SmallVector<Value>> known;
};

bool onlyStructPredecessors(Block &block) {
  return llvm::all_of(block.getPredecessors(), [](Block *pred) {
    return isa<BranchOpInterface>(pred->getTerminator());
  });
}

/// Appends one argument a member for every struct argument; the struct is built
/// again at the head of the block and its argument erased.
void splitArguments(Block &block, Members &members) {
  if (block.isEntryBlock() || !onlyStructPredecessors(block))
    return;
  OpBuilder builder(block.getParent()->getContext());
  for (unsigned index = 0; index < block.getNumArguments();) {
    BlockArgument argument = block.getArgument(index);
    auto type = dyn_cast<LLVM::LLVMStructType>(argument.getType());
    if (!type) {
      ++index;
      continue;
    }
    for (auto use = block.pred_begin(); use != block.pred_end(); ++use) {
      Operation *terminator = (*use)->getTerminator();
      auto operands = cast<BranchOpInterface>(terminator)
                          .getSuccessorOperands(use.getSuccessorIndex());
      Value value = operands[index];
      SmallVector<Value> forwarded(operands.getForwardedOperands());
      SmallVector<Value> parts = members.of(value);
      builder.setInsertionPoint(terminator);
      for (auto [i, part] : llvm::enumerate(parts))
        if (!part)
          part = LLVM::ExtractValueOp::create(builder, terminator->getLoc(),
                                              value, i);
      forwarded.erase(forwarded.begin() + index);
      forwarded.append(parts);
      operands.getMutableForwardedOperands().assign(forwarded);
    }
    SmallVector<Value> parts;
    for (Type member : type.getBody())
      parts.push_back(block.addArgument(member, argument.getLoc()));
    builder.setInsertionPointToStart(&block);
    Value rebuilt =
        TileTypeConverter::packStruct(builder, argument.getLoc(), type, parts);
    argument.replaceAllUsesWith(rebuilt);
    members.forget(argument);
    members.set(rebuilt, parts);
    block.eraseArgument(index);
  }
}

void mergeWithPredecessor(Region &body) {
  IRRewriter rewriter(body.getContext());
  for (Block &block :
       llvm::make_early_inc_range(llvm::drop_begin(body.getBlocks()))) {
    Block *pred = block.getSinglePredecessor();
    auto branch =
        pred ? dyn_cast<LLVM::BrOp>(pred->getTerminator()) : LLVM::BrOp();
    if (!branch || pred == &block)
      continue;
    SmallVector<Value> operands(branch.getDestOperands());
    rewriter.eraseOp(branch);
    rewriter.mergeBlocks(&block, pred, operands);
  }
}

/// These have no side effect that matters, but no interface says so.
bool isDead(Operation &op) {
  return isOpTriviallyDead(&op) ||
         (op.use_empty() &&
          isa<NVVM::LdMatrixOp, NVVM::MmaOp, NVVM::ShflOp>(op));
}

void eraseDead(Region &body) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Block &block : llvm::reverse(body))
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isDead(op)) {
          op.erase();
          changed = true;
        }
  }
}

} // namespace

void dissolveStructs(LLVM::LLVMFuncOp function) {
  Region &body = function.getBody();
  if (body.empty())
    return;
  Members members;
  for (Block &block : body)
    splitArguments(block, members);
  body.walk([&](LLVM::ExtractValueOp extract) {
    if (extract.getPosition().size() != 1 ||
        !isa<LLVM::LLVMStructType>(extract.getContainer().getType()))
      return;
    Value member = members.of(extract.getContainer())[extract.getPosition()[0]];
    if (member)
      extract.replaceAllUsesWith(member);
  });
  mergeWithPredecessor(body);
  eraseDead(body);
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

} // namespace mlatile
