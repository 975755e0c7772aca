// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotsToTileGPU.h"
#include "OperandStager.h"
#include "QuantisedOperands.h"
#include "Rematerialise.h"
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

class Lowering {
public:
  explicit Lowering(tile::KernelOp kernel) : kernel(kernel), stager(kernel) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    kernel->walk([&](Operation *op) {
      if (isa<tile::DotOp, tile::DotScaledOp, tile::ReduceOp,
              tilegpu::ConvertLayoutOp>(op))
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
              .Case([&](tile::DotOp dot) { return lowerDot(stager, dot); })
              .Case([&](tile::DotScaledOp dot) {
                return lowerDotScaled(stager, dot);
              })
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
  /// What is reduced across warps, where each warp can have all of it: a few
  /// loads more are there sooner than what warps tell each other.
  static Value inOneWarp(OpBuilder &b, tile::ReduceOp reduce) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    int axis = reduce.getAxis();
    auto lanes = columnsInLanes(layoutOf(reduce.getResult()), axis,
                                type.getDimSize(axis));
    if (!lanes ||
        tilegpu::reduceWarpLayout(*lanes, axis) != layoutOf(reduce.getResult()))
      return {};
    return rematerialise(b, reduce.getOperand(), *lanes, /*withLoads=*/true);
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
    bool exchanges = partial->rank() == sourceType.getRank();
    if (Value again = exchanges ? inOneWarp(b, reduce) : Value()) {
      reduce.getResult().replaceAllUsesWith(
          tilegpu::ReduceWarpOp::create(b, loc, resultType, kind, again, axis));
      reduce.erase();
      return success();
    }
    Value result = tilegpu::ReduceWarpOp::create(
        b, loc, withLayout(sourceType, *partial), kind, source, axis);
    if (exchanges) {
      // One column a warp: every thread fetches all columns of its rows.
      auto partialType = cast<RankedTensorType>(result.getType());
      Value scratch = stager.alloc(loc, "reduce", partialType.getShape(),
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

  LogicalResult lower(tilegpu::ConvertLayoutOp convert) {
    Value source = convert.getSource();
    auto type = cast<RankedTensorType>(convert.getResult().getType());
    if (staysInRegisters(type.getElementType(), layoutOf(source),
                         layoutOf(convert.getResult())))
      return success();
    if (auto load = source.getDefiningOp<tilegpu::LoadSharedOp>()) {
      convert.getResult().replaceAllUsesWith(readAgain(load, type));
      convert.erase();
      return success();
    }
    // Dots look through it.
    if (untransposed(source).value.getDefiningOp<tilegpu::LoadQuantisedOp>())
      return success();
    OpBuilder b(convert);
    Location loc = convert.getLoc();
    if (Value again = rematerialise(b, source, layoutOf(convert.getResult()))) {
      convert.getResult().replaceAllUsesWith(again);
      convert.erase();
      return success();
    }
    // Masks travel as bytes.
    Type element = type.getElementType();
    bool isMask = element.isInteger(1);
    if (isMask) {
      element = b.getI8Type();
      source = arith::ExtUIOp::create(
          b, loc, cast<RankedTensorType>(source.getType()).clone(element),
          source);
    }
    Value scratch = stager.alloc(loc, "convert", type.getShape(), element);
    tilegpu::StoreSharedOp::create(b, loc, source, scratch);
    Value result =
        tilegpu::LoadSharedOp::create(b, loc, type.clone(element), scratch);
    if (isMask)
      result = arith::TruncIOp::create(b, loc, type, result);
    convert.getResult().replaceAllUsesWith(result);
    convert.erase();
    return success();
  }

  /// Reads of buffers that only served dots, transpositions of them, and what
  /// is stored to be read by nobody.
  void eraseDead() {
    SmallVector<Operation *> dead;
    do {
      dead.clear();
      kernel->walk([&](Operation *op) {
        if (op->use_empty() &&
            isa<tilegpu::LoadSharedOp, tilegpu::LoadQuantisedOp,
                tile::TransposeOp, tilegpu::ConvertLayoutOp>(op))
          dead.push_back(op);
        auto alloc = dyn_cast<tilegpu::AllocOp>(op);
        if (alloc && !alloc.use_empty() &&
            llvm::all_of(alloc->getUsers(), [](Operation *user) {
              return isa<tilegpu::StoreSharedOp>(user);
            })) {
          llvm::append_range(dead, alloc->getUsers());
          dead.push_back(alloc);
        }
      });
      for (Operation *op : dead)
        op->erase();
    } while (!dead.empty());
  }

  tile::KernelOp kernel;
  OperandStager stager;
};

struct TileToTileGPUPass : impl::TileToTileGPUBase<TileToTileGPUPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(Lowering(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlatile
