// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/LayoutClasses.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// Constants serve tiles of several classes; one copy a use keeps the classes
/// apart. CSE joins those that end with the same layout.
void copyConstantsToUses(tile::KernelOp kernel) {
  SmallVector<Operation *> constants;
  kernel->walk([&](Operation *op) {
    if (isa<tile::FullOp, tile::IotaOp, arith::ConstantOp>(op) &&
        isa<RankedTensorType>(op->getResult(0).getType()))
      constants.push_back(op);
  });
  for (Operation *op : constants) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    // The first use keeps the original.
    for (size_t i = 1; i < uses.size(); ++i) {
      OpBuilder builder(op);
      uses[i]->set(builder.clone(*op)->getResult(0));
    }
  }
}

class Assigner {
public:
  Assigner(tile::KernelOp kernel, const LayoutClasses &classes)
      : kernel(kernel), classes(classes) {}

  LogicalResult run() {
    setTypes();
    WalkResult walk =
        kernel->walk([&](Operation *op) -> WalkResult { return fixEdges(op); });
    return failure(walk.wasInterrupted());
  }

private:
  /// What a value has by now: its class's layout, or that of a conversion that
  /// stands before it.
  static const DistributedLayout &layoutOf(Value value) {
    return tilegpu::LayoutAttr::of(value.getType()).getDistributed();
  }

  Type typeWith(Value value, const DistributedLayout &layout) {
    auto type = cast<RankedTensorType>(value.getType());
    return RankedTensorType::get(
        type.getShape(), type.getElementType(),
        tilegpu::LayoutAttr::get(kernel.getContext(), layout));
  }

  void setTypes() {
    // All layouts are looked up by value, so types may change under way.
    auto set = [&](Value value) {
      if (isa<RankedTensorType>(value.getType()))
        value.setType(typeWith(value, classes.layoutOf(value)));
    };
    kernel->walk([&](Operation *op) {
      for (Value result : op->getResults())
        set(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            set(argument);
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
          constant.setValueAttr(
              DenseElementsAttr::get(cast<ShapedType>(constant.getType()),
                                     splat.getSplatValue<Attribute>()));
    });
  }

  /// Makes `operand` arrive in `layout`.
  void convertOperand(OpOperand &operand, const DistributedLayout &layout) {
    Value value = operand.get();
    if (layoutOf(value) == layout)
      return;
    OpBuilder builder(operand.getOwner());
    operand.set(tilegpu::ConvertLayoutOp::create(
        builder, operand.getOwner()->getLoc(), typeWith(value, layout), value));
  }

  /// Makes the result, which the operation gives in `layout`, reach its users
  /// in the layout of its class.
  void convertResult(Operation *op, const DistributedLayout &layout) {
    Value result = op->getResult(0);
    Type wantedType = result.getType();
    if (layoutOf(result) == layout)
      return;
    result.setType(typeWith(result, layout));
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    auto convert = tilegpu::ConvertLayoutOp::create(builder, op->getLoc(),
                                                    wantedType, result);
    result.replaceAllUsesExcept(convert.getResult(), convert);
  }

  WalkResult fixEdges(Operation *op) {
    auto sliceOf = [&](Value value, int axis) -> FailureOr<DistributedLayout> {
      std::string error;
      auto slice = layoutOf(value).slice(axis, &error);
      if (!slice)
        return op->emitOpError(error);
      return *slice;
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, arg] :
           llvm::zip(loop.getInitArgsMutable(), loop.getRegionIterArgs()))
        if (isa<RankedTensorType>(arg.getType()))
          convertOperand(init, layoutOf(arg));
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      auto slice = sliceOf(reduce.getOperand(), reduce.getAxis());
      if (failed(slice))
        return WalkResult::interrupt();
      convertResult(op, *slice);
    } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
      auto slice = sliceOf(broadcast.getResult(), broadcast.getAxis());
      if (failed(slice))
        return WalkResult::interrupt();
      convertOperand(op->getOpOperand(0), *slice);
    } else if (auto scale = dyn_cast<tilegpu::ScaleOp>(op)) {
      auto slice =
          sliceOf(scale.getResult(), static_cast<int>(scale.getAxis()));
      if (failed(slice))
        return WalkResult::interrupt();
      convertOperand(scale.getFactorMutable(), *slice);
    } else if (auto trans = dyn_cast<tile::TransposeOp>(op)) {
      auto layout = tilegpu::transposedLayout(layoutOf(trans.getResult()));
      if (!layout)
        return op->emitOpError("expected a tile of two dimensions");
      convertOperand(op->getOpOperand(0), *layout);
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      std::string error;
      int warps = tilegpu::warpsAround(gather).value_or(1);
      auto layout = LayoutClasses::gatherLayout(gather.getIds(), warps, &error);
      if (!layout)
        return op->emitOpError(error);
      convertOperand(gather.getIdsMutable(), *layout);
    }
    return WalkResult::advance();
  }

  tile::KernelOp kernel;
  const LayoutClasses &classes;
};

struct AssignLayoutsPass : impl::AssignLayoutsBase<AssignLayoutsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      auto numWarps = kernel->getAttrOfType<IntegerAttr>("num_warps");
      bool hasRoles = !kernel.getBody().getOps<tilegpu::RolesOp>().empty();
      if (!numWarps || numWarps.getInt() < 1 || numWarps.getInt() > 32 ||
          !(hasRoles || llvm::isPowerOf2_64(numWarps.getInt()))) {
        kernel.emitOpError(
            "expected num_warps to be a power of two from 1 to 32; is the "
            "kernel specialised?");
        return signalPassFailure();
      }
      copyConstantsToUses(kernel);
      auto classes = LayoutClasses::compute(kernel);
      if (failed(classes) || failed(Assigner(kernel, *classes).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlatile
