// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rematerialise.h"

#include "GatheredReads.h"
#include "OperandStager.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"

using namespace mlir;

namespace mlatile {
namespace {

/// Of a tile, registers a thread: more would be cheaper to move.
constexpr int kMostRegisters = 64;
/// Operations that one value may take.
constexpr int kMostOperations = 48;
/// Of a tile that is loaded from global memory again, registers a thread: what
/// 64 splits have of a number each. More loads than that take longer than an
/// exchange.
constexpr int kMostLoaded = 2;

/// Walks the operations behind a value twice: to see whether it can be computed
/// again, and to do so.
class Rematerialiser {
public:
  Rematerialiser(OpBuilder *b, bool withLoads) : b(b), withLoads(withLoads) {}

  /// Without a builder: `value` if it can be computed, null if not.
  Value at(Value value, const DistributedLayout &layout) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value;
    if (layoutOf(value) == layout)
      return value;
    for (const auto &[done, where, result] : results)
      if (done == value && where == layout)
        return result;
    Operation *op = value.getDefiningOp();
    if (!op || layout.numRegs() > kMostRegisters ||
        ++operations > kMostOperations)
      return {};
    Value result = compute(op, value, withLayout(type, layout), layout);
    if (result)
      results.push_back({value, layout, result});
    return result;
  }

private:
  Value compute(Operation *op, Value value, RankedTensorType type,
                const DistributedLayout &layout) {
    if (isa<tile::FullOp>(op))
      return cloned(op, op->getOperands(), type);
    if (isa<tilegpu::LoadSharedOp>(op))
      return readBeside(op, value, type);
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return withLoads && layout.numRegs() <= kMostLoaded && isNeverStored(load)
                 ? readBeside(op, value, type)
                 : Value();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (!splat || !b)
        return splat ? value : Value();
      return arith::ConstantOp::create(
          *b, op->getLoc(), type,
          DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
    }
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      auto slice = layout.slice(broadcast.getAxis());
      return slice ? withOperands(op, {*slice}, type) : Value();
    }
    if (isa<tile::TransposeOp>(op)) {
      auto turned = tilegpu::transposedLayout(layout);
      return turned ? withOperands(op, {*turned}, type) : Value();
    }
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return reduced(op, reduce.getOperand(), reduce.getKind(),
                     reduce.getAxis(), type, layout);
    if (auto reduce = dyn_cast<tilegpu::ReduceWarpOp>(op))
      return reduced(op, reduce.getOperand(), reduce.getKind(),
                     reduce.getAxis(), type, layout);
    if (auto convert = dyn_cast<tilegpu::ConvertLayoutOp>(op))
      return at(convert.getSource(), layout);
    if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
      return withOperands(
          op, SmallVector<DistributedLayout>(op->getNumOperands(), layout),
          type);
    return {};
  }

  /// All elements of a row in the registers of whoever needs their result.
  Value reduced(Operation *op, Value source, tile::ReduceKind kind,
                int64_t axis, RankedTensorType type,
                const DistributedLayout &layout) {
    auto sourceType = cast<RankedTensorType>(source.getType());
    if (sourceType.getRank() != type.getRank() + 1)
      return {}; // one column a warp is left
    auto whole = columnsInRegisters(layout, static_cast<int>(axis),
                                    sourceType.getDimSize(axis));
    if (!whole)
      return {};
    Value operand = at(source, *whole);
    if (!operand || !b)
      return operand;
    return tilegpu::ReduceWarpOp::create(*b, op->getLoc(), type, kind, operand,
                                         axis);
  }

  Value withOperands(Operation *op, ArrayRef<DistributedLayout> layouts,
                     RankedTensorType type) {
    SmallVector<Value> operands;
    for (auto [operand, layout] : llvm::zip(op->getOperands(), layouts)) {
      Value computed = at(operand, layout);
      if (!computed)
        return {};
      operands.push_back(computed);
    }
    return cloned(op, operands, type);
  }

  /// Read again beside the first time: what is read may be overwritten later.
  Value readBeside(Operation *op, Value value, RankedTensorType type) {
    if (!b)
      return value;
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPointAfter(op);
    return cloned(op, op->getOperands(), type);
  }

  /// Threads that load what others load need no barrier only where nobody
  /// stores it.
  static bool isNeverStored(tile::LoadOp load) {
    auto kernel = load->getParentOfType<tile::KernelOp>();
    WalkResult walk = kernel->walk([&](Operation *op) {
      Value written = writtenView(op);
      return written && mayBeSameArray(written, load.getView())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return !walk.wasInterrupted();
  }

  Value cloned(Operation *op, ValueRange operands, RankedTensorType type) {
    if (!b)
      return op->getResult(0);
    Operation *copy = op->clone();
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return b->insert(copy)->getResult(0);
  }

  struct Result {
    Value value;
    DistributedLayout layout;
    Value result;
  };
  OpBuilder *b;
  bool withLoads;
  int operations = 0;
  SmallVector<Result> results;
};

} // namespace

Value rematerialise(OpBuilder &b, Value value, const DistributedLayout &layout,
                    bool withLoads) {
  if (!Rematerialiser(nullptr, withLoads).at(value, layout))
    return {};
  return Rematerialiser(&b, withLoads).at(value, layout);
}

} // namespace mlatile
