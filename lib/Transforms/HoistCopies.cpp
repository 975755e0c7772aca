// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HoistCopies.h"

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mlatile {
namespace {

/// Whether a load may be done before `op`: another load, copies of rows, or
/// the loop over another list, none of which writes to global memory.
bool mayFollowLoads(Operation *op) {
  if (isa<tile::LoadOp>(op))
    return true;
  if (!isa<scf::ForOp, scf::IfOp>(op))
    return false;
  WalkResult walk = op->walk([&](Operation *inner) {
    bool known = isPure(inner) || inner->getNumRegions() ||
                 inner->hasTrait<OpTrait::IsTerminator>() ||
                 isa<tilegpu::TileGPUDialect>(inner->getDialect()) ||
                 isa<tile::LoadOp, tile::GatherOp, tile::DequantOp, tile::DotOp,
                     tile::DotScaledOp>(inner);
    return known ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

/// The wait for the place of `copy`, a copy of something else: whoever needs
/// that has more time than those who need rows. Null if it stands elsewhere.
Operation *waitOf(Operation *copy) {
  if (!isa<tilegpu::CopyAsyncOp>(copy))
    return nullptr;
  Operation *wait = copy->getPrevNode();
  while (wait && isPure(wait))
    wait = wait->getPrevNode();
  return isa_and_present<tilegpu::MBarrierWaitOp>(wait) ? wait : nullptr;
}
} // namespace

/// Loads of ids pass other loads, and copies and the loop of a list before
/// theirs; copies, which wait for their ids, come behind them.
void CopyHoister::moveUp(Operation *op, Operation *instead) {
  llvm::SmallDenseSet<Operation *> needed;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        needed.insert(producer);
  });
  bool loads = isa<tile::LoadOp>(op);
  if (loads)
    hoisted.insert(op);
  while (Operation *previous = op->getPrevNode()) {
    if (previous == floor || (loads && hoisted.contains(previous)))
      return; // in their order
    Operation *wait = waitOf(previous);
    bool passes = isMemoryEffectFree(previous) || isPure(op) || wait ||
                  previous == instead || (loads && mayFollowLoads(previous));
    for (Operation *each = previous; wait && each != wait;
         each = each->getPrevNode())
      passes &= !needed.contains(each);
    if (needed.contains(previous) || !passes)
      return;
    op->moveBefore(wait ? wait : previous);
  }
}

void CopyHoister::hoist(Operation *first, Operation *loop,
                        const Alternatives &instead) {
  llvm::SmallDenseSet<Operation *> copies;
  for (Operation *op = loop->getPrevNode(); op && op != first;
       op = op->getPrevNode())
    copies.insert(op);
  // With what they follow from, in the order of the block; a loop that they
  // follow from stays.
  llvm::SetVector<Operation *> behind;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == loop->getBlock() &&
           (op->getNumRegions() == 0 || copies.contains(op));
  };
  for (Operation *op : copies)
    (void)getBackwardSlice(op, &behind, options);
  SmallVector<Operation *> ordered = behind.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    if (isPure(op) || isa<tile::LoadOp>(op) || copies.contains(op))
      moveUp(op, instead.lookup(op));
}

} // namespace mlatile
