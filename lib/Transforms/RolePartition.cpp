// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RolePartition.h"

#include "GatheredReads.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mlatile {

void forEachUsed(Operation *op, llvm::function_ref<void(Value)> callback) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner == op ||
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        callback(operand);
  });
}

namespace {

bool isProduct(Operation *op) {
  return isa<tile::DotOp, tile::DotScaledOp>(op);
}

/// Stores, and whatever says nothing of its effects.
bool hasEffect(Operation *op) {
  if (isa<scf::ForOp, scf::IfOp>(op)) {
    WalkResult walk = op->walk([&](Operation *inner) {
      return inner != op && hasEffect(inner) ? WalkResult::interrupt()
                                             : WalkResult::advance();
    });
    return walk.wasInterrupted();
  }
  return !isPure(op) && !isProduct(op) &&
         !isa<tile::LoadOp, tile::GatherOp, tile::DequantOp, scf::YieldOp>(op);
}

} // namespace

bool RolePartition::isExpansion(Operation *op) {
  return isa<tile::BroadcastOp, tile::TransposeOp>(op);
}

bool RolePartition::isBefore(Value value) const {
  Block *body = part.front()->getBlock();
  Operation *op = value.getDefiningOp();
  if (!op)
    return value.getParentBlock() == body;
  op = body->findAncestorOpInBlock(*op);
  return op->isBeforeInBlock(part.front());
}

bool RolePartition::isOfRows(Value value) {
  if (!isa<RankedTensorType, tile::RowsType>(value.getType()))
    return false;
  Operation *op = value.getDefiningOp();
  if (!op || isa<tile::GatherOp>(op))
    return op != nullptr;
  if (dependsOn(value) != Depends::OnNone || op->getNumRegions() || !isPure(op))
    return false;
  auto [known, isNew] = ofRows.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool found = llvm::any_of(op->getOperands(),
                            [&](Value operand) { return isOfRows(operand); });
  return ofRows[value] = found;
}

bool RolePartition::isOfItem(Value value) {
  auto outer = dyn_cast<scf::ForOp>(loops.front()->getParentOp());
  if (!outer || value.getParentBlock() != outer.getBody() ||
      !isa<RankedTensorType>(value.getType()) ||
      dependsOn(value) != Depends::OnNone || isOfRows(value))
    return false;
  Operation *op = value.getDefiningOp();
  if (!op) // what the loop carries
    return true;
  if (!op->isBeforeInBlock(loops.front()))
    return false;
  auto [known, isNew] = ofItem.try_emplace(value, false);
  if (!isNew)
    return known->second;
  bool found = isa<tile::LoadOp>(op);
  forEachUsed(op, [&](Value used) { found |= isOfItem(used); });
  return ofItem[value] = found;
}

bool RolePartition::canCopy(Value value) const {
  // Where rows are converted, the warps that do it have time to send for it,
  // and those that need it to make of it what they need.
  auto load = value.getDefiningOp<tile::LoadOp>();
  if (!converts || !load || load.getLimit() || load.getPad())
    return false;
  auto type = cast<RankedTensorType>(value.getType());
  return tilegpu::SendCopyOp::takes(type) &&
         tilegpu::CopyAsyncOp::pieces(type.getShape(), type.getElementType(),
                                      gatherWarps);
}

bool RolePartition::isMadeAgain(Operation *op) {
  if (isExpansion(op))
    return true;
  return isPure(op) && llvm::none_of(op->getOperandTypes(), [](Type type) {
           return isa<RankedTensorType>(type);
         });
}

FailureOr<RolePartition> RolePartition::compute(tile::KernelOp kernel,
                                                bool converts,
                                                int64_t gatherWarps) {
  RolePartition result(kernel, converts, gatherWarps);
  if (failed(result.findPart()) || failed(result.findProducts()) ||
      failed(result.findSinks(kernel.getBody().front())) ||
      failed(result.checkLoads()))
    return failure();
  return result;
}

LogicalResult RolePartition::findPart() {
  Block *body = &kernel.getBody().front();
  Operation *first = nullptr;
  WalkResult walk = kernel->walk([&](tile::GatherOp gather) -> WalkResult {
    auto loop = dyn_cast<scf::ForOp>(gather->getParentOp());
    // A loop over pieces of work may stand around it.
    Operation *outer = loop;
    if (loop && isa<scf::ForOp>(loop->getParentOp()))
      outer = loop->getParentOp();
    if (!loop || outer->getBlock() != body)
      return gather.emitOpError(
          "cannot be given to a role: expected it in a loop that stands in the "
          "kernel's body, or in one loop there");
    if (!llvm::is_contained(loops, loop))
      loops.push_back(loop);
    if (!first || outer->isBeforeInBlock(first))
      first = outer;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (!first)
    return kernel.emitOpError(
        "cannot be given roles: expected a loop with a gather");
  for (Operation *op = first; op != body->getTerminator();
       op = op->getNextNode())
    part.push_back(op);
  return success();
}

//===--- dependences ------------------------------------------------------===//

RolePartition::Depends RolePartition::dependsOn(Operation *op) const {
  Depends result = Depends::OnNone;
  forEachUsed(op,
              [&](Value used) { result = std::max(result, dependsOn(used)); });
  for (Value value : op->getResults())
    result = std::max(result, dependsOn(value));
  return result;
}

bool RolePartition::raise(Value value, Depends to) {
  Depends &known = depends[value];
  if (known >= to)
    return false;
  known = to;
  return true;
}

bool RolePartition::propagate(Operation *op) {
  bool changed = false;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                   loop.getYieldedValues(), loop.getResults())) {
      Depends all = std::max(dependsOn(init), dependsOn(yielded));
      changed |= raise(argument, all);
      changed |= raise(result, all);
    }
    for (Operation &inner : *loop.getBody())
      changed |= propagate(&inner);
    return changed;
  }
  Depends all = dependsOn(op);
  if (products.contains(op))
    all = std::max(all,
                   second.contains(op) ? Depends::OnSecond : Depends::OnFirst);
  for (Value result : op->getResults())
    changed |= raise(result, all);
  return changed;
}

void RolePartition::propagate() {
  depends.clear();
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : part)
      changed |= propagate(op);
  }
}

LogicalResult RolePartition::findProducts() {
  for (scf::ForOp loop : loops)
    for (Operation &inner : *loop.getBody())
      if (isProduct(&inner))
        products.insert(&inner);
  // A factor that depends on a product makes a second one; that may make more.
  bool changed = true;
  while (changed) {
    changed = false;
    propagate();
    for (Operation *product : products) {
      auto factors = product->getOperands();
      Value c = isa<tile::DotOp>(product)
                    ? cast<tile::DotOp>(product).getC()
                    : cast<tile::DotScaledOp>(product).getC();
      for (Value factor : factors)
        if (factor != c && dependsOn(factor) != Depends::OnNone)
          changed |= second.insert(product);
    }
  }
  for (scf::ForOp loop : loops) {
    bool hasFirst = false, hasSecond = false;
    for (Operation &inner : *loop.getBody())
      if (isProduct(&inner))
        (dependsOn(&inner) == Depends::OnSecond ? hasSecond : hasFirst) = true;
    if (!hasSecond)
      return loop.emitOpError(
          "cannot be given roles: expected a product one of whose factors "
          "depends on another product of the loop");
    if (!hasFirst)
      return loop.emitOpError(
          "cannot be given roles: expected a product that depends on no other "
          "product, not through the loop either");
  }
  return success();
}

//===--- needs ------------------------------------------------------------===//

LogicalResult RolePartition::findSinks(Block &block) {
  for (Operation &op : block) {
    if (block.getParentOp() == kernel && &op == block.getTerminator())
      break;
    bool inPart =
        block.getParentOp() != kernel || !op.isBeforeInBlock(part.front());
    if (!inPart)
      continue;
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      result = findSinks(*loop.getBody());
    } else if (isa<tile::GatherOp>(op)) {
      result = need(Role::Gather, &op);
    } else if (hasEffect(&op)) {
      result = need(
          dependsOn(&op) == Depends::OnFirst ? Role::First : Role::Second, &op);
    }
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult RolePartition::checkLoads() {
  static constexpr Role kRoles[] = {Role::Gather, Role::First, Role::Second};
  for (scf::ForOp loop : loops) {
    auto outer = dyn_cast<scf::ForOp>(loop->getParentOp());
    if (!outer)
      continue;
    // What stands in a branch is needed with it.
    auto isRunBy = [&](Role role, Operation *op) {
      while (!isa<scf::ForOp>(op->getParentOp()))
        op = op->getParentOp();
      return needs(role, op);
    };
    SmallVector<Operation *> writers;
    outer->walk([&](Operation *op) {
      if (writtenView(op))
        writers.push_back(op);
    });
    WalkResult walk = outer->walk([&](tile::LoadOp load) -> WalkResult {
      for (Operation *writer : writers)
        for (Role role : kRoles)
          if (isRunBy(role, load) && !isRunBy(role, writer) &&
              mayBeSameArray(load.getView(), writtenView(writer))) {
            InFlightDiagnostic diag = load.emitOpError(
                "cannot be given to a role ahead of others, because `");
            diag << writer->getName() << "` may write what it loads";
            diag.attachNote(writer->getLoc()) << "here";
            return diag;
          }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult RolePartition::cross(Role from, Role role, Value value,
                                   Operation *user) {
  if (!isa<RankedTensorType>(value.getType()))
    return user->emitOpError("cannot be given to a role: expected only tiles "
                             "of other roles, got ")
           << value.getType();
  crossing[static_cast<int>(from)][value.getParentBlock()].insert(value);
  of(role).received.insert(value);
  return need(from, value, user);
}

LogicalResult RolePartition::need(Role role, Value value, Operation *user) {
  if (isBefore(value)) {
    Operation *op = value.getDefiningOp();
    if (op && isa<RankedTensorType>(value.getType()) && isMadeAgain(op))
      for (Value operand : op->getOperands())
        if (failed(need(role, operand, user)))
          return failure();
    return success();
  }
  auto gather = value.getDefiningOp<tile::GatherOp>();
  if (converts && role != Role::Gather && isOfRows(value) &&
      !isExpansion(value.getDefiningOp()))
    return cross(Role::Gather, role, value, user);
  if (gather && role != Role::Gather) {
    of(role).gathers.insert(gather);
    return success();
  }
  Operation *made = value.getDefiningOp();
  if (role != Role::Gather && isOfItem(value)) {
    if (canCopy(value)) {
      copied.insert(value);
      return cross(Role::Gather, role, value, user);
    }
    if (!converts && role == Role::First && !(made && isExpansion(made)))
      return cross(Role::Second, role, value, user);
  }
  Depends on = dependsOn(value);
  Operation *op = value.getDefiningOp();
  if ((role == Role::Gather && on != Depends::OnNone) ||
      (role == Role::First && on == Depends::OnSecond))
    return user->emitOpError("cannot be given to a role: expected it not to "
                             "depend on ")
           << (on == Depends::OnSecond ? "second" : "first") << " products";
  bool crosses = role == Role::Second && on == Depends::OnFirst;
  if (crosses && !(op && isExpansion(op)))
    return cross(Role::First, role, value, user);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) // of an operation that is needed as a whole
      return success();
    if (argument.getArgNumber() == 0)
      return need(role, loop.getOperation());
    return needCarried(role, loop, argument.getArgNumber() - 1);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return needCarried(role, loop, cast<OpResult>(value).getResultNumber());
  return need(role, op);
}

LogicalResult RolePartition::need(Role role, Operation *op) {
  if (!of(role).ops.insert(op))
    return success();
  if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
    if (failed(need(role, loop.getOperation())))
      return failure();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (failed(need(role, bound, op)))
        return failure();
    return success();
  }
  LogicalResult result = success();
  forEachUsed(op, [&](Value used) {
    if (succeeded(result))
      result = need(role, used, op);
  });
  return result;
}

LogicalResult RolePartition::needCarried(Role role, scf::ForOp loop,
                                         unsigned i) {
  if (!of(role).carried.insert({loop, i}))
    return success();
  if (failed(need(role, loop.getOperation())) ||
      failed(need(role, loop.getInitArgs()[i], loop)))
    return failure();
  return need(role, loop.getYieldedValues()[i], loop);
}

} // namespace mlatile
