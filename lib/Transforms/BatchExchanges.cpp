// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/Passes.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_BATCHEXCHANGES
#include "mlatile/Transforms/Passes.h.inc"

namespace {

using namespace tilegpu;

/// A tile keeps its bytes of shared memory until it is read: larger ones would
/// take them from others (PlanShared's kWorthSharing).
constexpr int64_t kMostBytes = 4096;

/// Whether `load` reads what one store of the same block has put into a small
/// buffer, which is only read otherwise.
bool isSecondHalf(LoadSharedOp load) {
  auto alloc = load.getBuffer().getDefiningOp<AllocOp>();
  if (!alloc || alloc.getNumBytes() > kMostBytes)
    return false;
  StoreSharedOp store;
  for (Operation *user : alloc->getUsers()) {
    if (isa<LoadSharedOp>(user))
      continue;
    if (store || !isa<StoreSharedOp>(user))
      return false;
    store = cast<StoreSharedOp>(user);
  }
  return store && store->getBlock() == load->getBlock() &&
         store->isBeforeInBlock(load);
}

/// The first operation of the block of `op` that uses it, itself or within.
Operation *firstUse(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    if (here && (!first || here->isBeforeInBlock(first)))
      first = here;
  }
  return first;
}

struct BatchExchangesPass : impl::BatchExchangesBase<BatchExchangesPass> {
  void runOnOperation() override {
    SmallVector<LoadSharedOp> loads;
    getOperation()->walk([&](LoadSharedOp load) { loads.push_back(load); });
    for (LoadSharedOp load : loads) {
      if (!isSecondHalf(load))
        continue;
      Operation *use = firstUse(load);
      auto reduce = dyn_cast_if_present<ReduceWarpOp>(use);
      if (reduce && load->hasOneUse() && (use = firstUse(reduce)))
        reduce->moveBefore(use);
      if (use)
        load->moveBefore(reduce ? reduce : use);
    }
  }
};

} // namespace
} // namespace mlatile
