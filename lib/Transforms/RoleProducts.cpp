// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RoleProducts.h"

#include "QuantisedOperands.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;

namespace mlatile {

/// The dimension along which the sums of a product are reduced, through
/// elementwise operations and further products.
static std::optional<int> reducedAlong(Value sums) {
  SmallVector<Value> work{sums};
  llvm::SmallDenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto reduce = dyn_cast<tile::ReduceOp>(user))
        return static_cast<int>(reduce.getAxis());
      bool adds = isa<tile::DotOp, tile::DotScaledOp>(user) &&
                  use.get().getType() == user->getResult(0).getType();
      if (adds || OpTrait::hasElementwiseMappableTraits(user))
        llvm::append_range(work, user->getResults());
    }
  }
  return std::nullopt;
}

void arrangeProducts(Role role, int64_t warps, Block &block) {
  block.walk([&](Operation *op) {
    auto dot = dyn_cast<tile::DotOp>(op);
    auto scaled = dyn_cast<tile::DotScaledOp>(op);
    if ((!dot && !scaled) || op->hasAttr("warps"))
      return;
    Value a = op->getOperand(0), b = op->getOperand(1);
    int64_t tiles = 1;
    if (role == Role::Second) {
      if (!untransposed(a).value.getDefiningOp<tilegpu::ReceiveOp>())
        return;
      tiles = 2;
    } else if (reducedAlong(op->getResult(0)) != 1) {
      return;
    }
    auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    auto [packM, packN] = accumulatorPacking(a, b);
    auto most = [](int64_t size, int64_t unit, int64_t count) {
      return std::max<int64_t>(std::min(count, (size & -size) / unit), 1);
    };
    // Fewer row tiles where that would leave warps without work.
    SmallVector<int64_t> arranged{0, 0};
    for (; tiles >= 1; --tiles) {
      int64_t warpsM = most(shape[0], tiles * (packM ? 8 << packM : 16), warps);
      int64_t warpsN = most(shape[1], 8 << packN, warps / warpsM);
      if (warpsM * warpsN > arranged[0] * arranged[1])
        arranged = {warpsM, warpsN};
    }
    op->setAttr("warps", DenseI64ArrayAttr::get(op->getContext(), arranged));
  });
}

void scaleCarriedSums(Block &block) {
  block.walk([&](arith::MulFOp mul) {
    for (unsigned i : {0, 1}) {
      auto sums = dyn_cast<BlockArgument>(mul->getOperand(i));
      auto factors = mul->getOperand(1 - i).getDefiningOp<tile::BroadcastOp>();
      auto type = dyn_cast<RankedTensorType>(mul.getType());
      if (!sums || !factors || !type || type.getRank() != 2 ||
          !type.getElementType().isF32() ||
          !isa<scf::ForOp>(sums.getOwner()->getParentOp()))
        continue;
      OpBuilder b(mul);
      mul.replaceAllUsesWith(
          tilegpu::ScaleOp::create(b, mul.getLoc(), type, sums,
                                   factors.getOperand(), factors.getAxis())
              .getResult());
      mul.erase();
      if (factors->use_empty())
        factors.erase();
      return;
    }
  });
}

} // namespace mlatile
