// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_TILETOTILEGPU
#include "mlatile/Transforms/Passes.h.inc"

namespace {

const DistributedLayout &layoutOf(Value value) {
  return tilegpu::LayoutAttr::of(value.getType()).getDistributed();
}

RankedTensorType withLayout(RankedTensorType type,
                            const DistributedLayout &layout) {
  return RankedTensorType::get(
      layout.shape(), type.getElementType(),
      tilegpu::LayoutAttr::get(type.getContext(), layout));
}

class Stager {
public:
  explicit Stager(tile::KernelOp kernel)
      : kernel(kernel),
        entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    kernel->walk([&](Operation *op) {
      if (isa<tile::DotOp, tile::ReduceOp, tilegpu::ConvertLayoutOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      SmallVector<Value> tiles(op->getOperands());
      tiles.push_back(op->getResult(0));
      if (!llvm::all_of(tiles, [](Value tile) {
            return tilegpu::LayoutAttr::of(tile.getType());
          }))
        return op->emitOpError(
            "expected tiles with layouts; run tile-assign-layouts first");
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case([&](tile::DotOp dot) { return lower(dot); })
              .Case([&](tile::ReduceOp reduce) { return lower(reduce); })
              .Case([&](tilegpu::ConvertLayoutOp convert) {
                return lower(convert);
              });
      if (failed(result))
        return failure();
    }
    eraseDead();
    return success();
  }

private:
  Value alloc(Location loc, StringRef name, ArrayRef<int64_t> shape,
              Type element) {
    auto type = tilegpu::BufferType::get(entry.getContext(), shape, element);
    if (shape.size() == 2)
      type = tilegpu::BufferType::get(entry.getContext(), shape, element,
                                      conflictFreeStride(type.getRowBytes()));
    return tilegpu::AllocOp::create(entry, loc, type, name, IntegerAttr());
  }

  struct Operand {
    Value value;
    bool transposed;
  };

  /// A dot operand: the buffer that holds it, or registers where they are in
  /// place already.
  Operand operandOf(OpBuilder &b, Value value,
                    const DistributedLayout::Result &wanted, StringRef name) {
    if (wanted && registersOnly(layoutOf(value), *wanted)) {
      auto type = cast<RankedTensorType>(value.getType());
      return {tilegpu::ConvertLayoutOp::create(
                  b, value.getLoc(), withLayout(type, *wanted), value),
              false};
    }
    bool transposed = false;
    while (auto trans = value.getDefiningOp<tile::TransposeOp>()) {
      value = trans.getOperand();
      transposed = !transposed;
    }
    // What was read from a buffer, whole, is read there.
    if (auto load = value.getDefiningOp<tilegpu::LoadSharedOp>())
      return {load.getBuffer(), transposed};
    Value &buffer = staged[value];
    if (!buffer) {
      auto type = cast<RankedTensorType>(value.getType());
      buffer =
          alloc(value.getLoc(), name, type.getShape(), type.getElementType());
      OpBuilder after(b);
      after.setInsertionPointAfterValue(value);
      tilegpu::StoreSharedOp::create(after, value.getLoc(), value, buffer);
    }
    return {buffer, transposed};
  }

  LogicalResult lower(tile::DotOp dot) {
    OpBuilder b(dot);
    auto shape = cast<RankedTensorType>(dot.getResult().getType()).getShape();
    auto aType = cast<RankedTensorType>(dot.getA().getType());
    int64_t k = aType.getDimSize(1);
    if (aType.getElementTypeBitWidth() != 16)
      return dot.emitOpError("expected 16-bit operands, got ")
             << aType.getElementType();
    DistributedLayout::Result wantA, wantB;
    if (auto grid = tilegpu::matchAccumulator(layoutOf(dot.getC()))) {
      wantA = DistributedLayout::mmaOperandA(shape[0], k, 16, grid->warpsM,
                                             grid->warpsN);
      wantB = DistributedLayout::mmaOperandB(k, shape[1], 16, grid->warpsM,
                                             grid->warpsN);
    }
    Operand a = operandOf(b, dot.getA(), wantA, "a");
    Operand c = operandOf(b, dot.getB(), wantB, "b");
    auto lowered = tilegpu::DotOp::create(
        b, dot.getLoc(), dot.getResult().getType(), a.value, c.value,
        dot.getC(), a.transposed, c.transposed);
    dot.getResult().replaceAllUsesWith(lowered.getResult());
    dot.erase();
    return success();
  }

  LogicalResult lower(tile::ReduceOp reduce) {
    OpBuilder b(reduce);
    Location loc = reduce.getLoc();
    tile::ReduceKind kind = reduce.getKind();
    if (!cast<RankedTensorType>(reduce.getOperand().getType())
             .getElementType()
             .isFloat())
      return reduce.emitOpError("reduction of integers is not built yet");
    auto resultType = cast<RankedTensorType>(reduce.getResult().getType());
    Value source = reduce.getOperand();
    int axis = reduce.getAxis();
    auto partial = tilegpu::reduceWarpLayout(layoutOf(source), axis);
    if (!partial)
      return reduce.emitOpError("cannot exchange along dimension ") << axis;
    auto sourceType = cast<RankedTensorType>(source.getType());
    Value result = tilegpu::ReduceWarpOp::create(
        b, loc, withLayout(sourceType, *partial), kind, source, axis);
    if (partial->rank() == sourceType.getRank()) {
      // One column a warp: every thread fetches all columns of its rows.
      auto partialType = cast<RankedTensorType>(result.getType());
      Value scratch = alloc(loc, "reduce", partialType.getShape(),
                            partialType.getElementType());
      tilegpu::StoreSharedOp::create(b, loc, result, scratch);
      auto whole = columnsInRegisters(layoutOf(reduce.getResult()), axis,
                                      partialType.getDimSize(axis));
      if (!whole)
        return reduce.emitOpError("no layout for the partial results");
      Value all = tilegpu::LoadSharedOp::create(
          b, loc, withLayout(partialType, *whole), scratch);
      result =
          tilegpu::ReduceWarpOp::create(b, loc, resultType, kind, all, axis);
    }
    reduce.getResult().replaceAllUsesWith(result);
    reduce.erase();
    return success();
  }

  /// `slice` with a dimension of `size` put back at `axis`, all of it in the
  /// registers of every thread. `size` is a power of two.
  DistributedLayout::Result columnsInRegisters(const DistributedLayout &slice,
                                               int axis, int64_t size) {
    auto widen = [&](DistributedLayout::Bases bases) {
      for (auto &basis : bases)
        basis.insert(basis.begin() + axis, 0);
      return bases;
    };
    DistributedLayout::Bases reg;
    for (int64_t bit = 1; bit < size; bit *= 2) {
      reg.emplace_back(slice.rank() + 1, 0);
      reg.back()[axis] = bit;
    }
    llvm::append_range(reg, widen(slice.regBases()));
    DistributedLayout::Coords reps = slice.reps();
    reps.insert(reps.begin() + axis, 1);
    return DistributedLayout::create(std::move(reg), widen(slice.laneBases()),
                                     widen(slice.warpBases()), std::move(reps));
  }

  LogicalResult lower(tilegpu::ConvertLayoutOp convert) {
    Value source = convert.getSource();
    auto type = cast<RankedTensorType>(convert.getResult().getType());
    if (registersOnly(layoutOf(source), layoutOf(convert.getResult())))
      return success();
    OpBuilder b(convert);
    Location loc = convert.getLoc();
    // Masks travel as bytes.
    Type element = type.getElementType();
    bool isMask = element.isInteger(1);
    if (isMask) {
      element = b.getI8Type();
      source = arith::ExtUIOp::create(
          b, loc, cast<RankedTensorType>(source.getType()).clone(element),
          source);
    }
    Value scratch = alloc(loc, "convert", type.getShape(), element);
    tilegpu::StoreSharedOp::create(b, loc, source, scratch);
    Value result =
        tilegpu::LoadSharedOp::create(b, loc, type.clone(element), scratch);
    if (isMask)
      result = arith::TruncIOp::create(b, loc, type, result);
    convert.getResult().replaceAllUsesWith(result);
    convert.erase();
    return success();
  }

  /// Reads of buffers that only served dots, and transpositions of them.
  void eraseDead() {
    SmallVector<Operation *> dead;
    do {
      dead.clear();
      kernel->walk([&](Operation *op) {
        if (op->use_empty() &&
            isa<tilegpu::LoadSharedOp, tile::TransposeOp>(op))
          dead.push_back(op);
      });
      for (Operation *op : dead)
        op->erase();
    } while (!dead.empty());
  }

  tile::KernelOp kernel;
  OpBuilder entry;
  llvm::DenseMap<Value, Value> staged;
};

struct TileToTileGPUPass : impl::TileToTileGPUBase<TileToTileGPUPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(Stager(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlatile
