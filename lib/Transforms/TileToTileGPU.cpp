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
              .Case([&](tile::DotOp dot) { return lower(dot); })
              .Case([&](tile::DotScaledOp dot) { return lower(dot); })
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
    return {stage(value, name), transposed};
  }

  /// The buffer to which `value` is stored where it is made.
  Value stage(Value value, StringRef name) {
    Value &buffer = staged[value];
    if (!buffer) {
      auto type = cast<RankedTensorType>(value.getType());
      buffer =
          alloc(value.getLoc(), name, type.getShape(), type.getElementType());
      OpBuilder after(kernel.getContext());
      after.setInsertionPointAfterValue(value);
      tilegpu::StoreSharedOp::create(after, value.getLoc(), value, buffer);
    }
    return buffer;
  }

  /// The buffer that holds `value` with dimension `dim` along the columns, so
  /// that a part of it is a view; transposed if `dim` is 0.
  Operand columnsAlong(int dim, Value value, StringRef name) {
    bool transposed = false;
    while (auto trans = value.getDefiningOp<tile::TransposeOp>()) {
      value = trans.getOperand();
      transposed = !transposed;
    }
    if (transposed != (dim == 0)) {
      auto type = cast<RankedTensorType>(value.getType());
      OpBuilder after(kernel.getContext());
      after.setInsertionPointAfterValue(value);
      value = tile::TransposeOp::create(
          after, value.getLoc(),
          withLayout(type, *tilegpu::transposedLayout(layoutOf(value))), value);
    } else if (auto load = value.getDefiningOp<tilegpu::LoadSharedOp>()) {
      return {load.getBuffer(), transposed};
    }
    return {stage(value, name), dim == 0};
  }

  /// Part `number` of `parts` of the columns of a buffer.
  static Value columns(OpBuilder &b, Location loc, Value buffer, int64_t number,
                       int64_t parts) {
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    int64_t count = type.getCols() / parts;
    auto part =
        tilegpu::BufferType::get(b.getContext(), {type.getShape()[0], count},
                                 type.getElementType(), type.getStrideBytes());
    return tilegpu::ViewOp::create(
        b, loc, part, buffer,
        b.getI64IntegerAttr(number * count * type.getElementBytes()));
  }

  /// The layouts of the operands of a dot with that accumulator.
  static std::pair<DistributedLayout::Result, DistributedLayout::Result>
  operandLayouts(const DistributedLayout &c, int64_t k) {
    auto grid = tilegpu::matchAccumulator(c);
    if (!grid)
      return {};
    auto shape = c.shape();
    return {DistributedLayout::mmaOperandA(shape[0], k, 16, grid->warpsM,
                                           grid->warpsN),
            DistributedLayout::mmaOperandB(k, shape[1], 16, grid->warpsM,
                                           grid->warpsN)};
  }

  LogicalResult lower(tile::DotOp dot) {
    OpBuilder b(dot);
    auto aType = cast<RankedTensorType>(dot.getA().getType());
    int64_t k = aType.getDimSize(1);
    if (aType.getElementTypeBitWidth() != 16)
      return dot.emitOpError("expected 16-bit operands, got ")
             << aType.getElementType();
    auto [wantA, wantB] = operandLayouts(layoutOf(dot.getC()), k);
    Operand a = operandOf(b, dot.getA(), wantA, "a");
    Operand c = operandOf(b, dot.getB(), wantB, "b");
    auto lowered = tilegpu::DotOp::create(
        b, dot.getLoc(), dot.getResult().getType(), a.value, c.value,
        dot.getC(), a.transposed, c.transposed);
    dot.getResult().replaceAllUsesWith(lowered.getResult());
    dot.erase();
    return success();
  }

  /// Scales by which a tile is multiplied, row by row the same.
  struct Scales {
    Value tile;              ///< [columns, blocks]
    DistributedLayout along; ///< of the columns
  };

  /// The scales of the dot for the columns of `tile` (the accumulator or a),
  /// those of all blocks in the registers of every thread that needs them.
  FailureOr<Scales> loadScales(OpBuilder &b, tile::DotScaledOp dot,
                               RankedTensorType tile, int blockDim) {
    std::string error;
    const auto &layout = tilegpu::LayoutAttr::of(tile).getDistributed();
    auto along = layout.slice(0, &error);
    if (!along)
      return dot.emitOpError(error);
    Value buffer = columnsAlong(blockDim, dot.getScale(), "scale").value;
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    auto whole = columnsInRegisters(*along, 1, type.getCols());
    if (!whole)
      return dot.emitOpError("no layout for the scales");
    return Scales{tilegpu::LoadSharedOp::create(
                      b, dot.getLoc(), withLayout(tile, *whole), buffer),
                  *along};
  }

  /// The scales of one block as a tile of type `type`.
  FailureOr<Value> scalesOf(OpBuilder &b, tile::DotScaledOp dot,
                            const Scales &scales, int64_t block,
                            RankedTensorType type) {
    Location loc = dot.getLoc();
    auto one = columnsInRegisters(scales.along, 1, 1);
    if (!one)
      return dot.emitOpError("no layout for the scales of a block");
    Value column = tilegpu::ExtractSliceOp::create(
        b, loc, withLayout(type, *one), scales.tile,
        b.getDenseI64ArrayAttr({0, block}));
    column =
        tilegpu::ReduceWarpOp::create(b, loc, withLayout(type, scales.along),
                                      tile::ReduceKind::AddF, column, 1);
    return Value(tile::BroadcastOp::create(b, loc, type, column, 0));
  }

  LogicalResult lower(tile::DotScaledOp dot) {
    int blockDim = dot.blocksAlongK() ? 0 : 1;
    auto bType = cast<RankedTensorType>(dot.getB().getType());
    int64_t blocks =
        cast<RankedTensorType>(dot.getScale().getType()).getDimSize(blockDim);
    int64_t size = bType.getDimSize(blockDim) / blocks;
    if (size % 16 != 0)
      return dot.emitOpError("expected blocks of a multiple of 16 elements, "
                             "got ")
             << size;
    OpBuilder b(dot);
    FailureOr<Value> result = blockDim == 0 ? lowerAlongK(b, dot, blocks)
                                            : lowerAlongN(b, dot, blocks);
    if (failed(result))
      return failure();
    dot.getResult().replaceAllUsesWith(*result);
    dot.erase();
    return success();
  }

  /// One dot a block, whose sums are scaled and added.
  FailureOr<Value> lowerAlongK(OpBuilder &b, tile::DotScaledOp dot,
                               int64_t blocks) {
    Location loc = dot.getLoc();
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    auto scales = loadScales(b, dot, type, /*blockDim=*/0);
    if (failed(scales))
      return failure();
    Operand rowsA = columnsAlong(1, dot.getA(), "a");
    Operand rowsB = columnsAlong(0, dot.getB(), "b");
    Value zero = tile::FullOp::create(
        b, loc, type,
        arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f)));
    Value sum = dot.getC();
    for (int64_t block = 0; block < blocks; ++block) {
      Value part = tilegpu::DotOp::create(
          b, loc, type, columns(b, loc, rowsA.value, block, blocks),
          columns(b, loc, rowsB.value, block, blocks), zero, rowsA.transposed,
          rowsB.transposed);
      auto scale = scalesOf(b, dot, *scales, block, type);
      if (failed(scale))
        return failure();
      sum = arith::AddFOp::create(b, loc, sum,
                                  arith::MulFOp::create(b, loc, part, *scale));
    }
    return sum;
  }

  /// One scaled a for each block of columns. All of them are stored before the
  /// first is read, so that one barrier serves all.
  FailureOr<Value> lowerAlongN(OpBuilder &b, tile::DotScaledOp dot,
                               int64_t blocks) {
    Location loc = dot.getLoc();
    auto aType = cast<RankedTensorType>(dot.getA().getType());
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    const DistributedLayout &whole = layoutOf(dot.getC());
    DistributedLayout::Coords reps = whole.reps();
    if (reps[1] % blocks != 0)
      return dot.emitOpError("expected blocks of a multiple of ")
             << whole.blockShape()[1] << " columns, got "
             << type.getDimSize(1) / blocks;
    reps[1] /= blocks;
    auto layout = DistributedLayout::create(whole.regBases(), whole.laneBases(),
                                            whole.warpBases(), reps);
    if (!layout)
      return dot.emitOpError("no layout for a block of columns");
    auto wanted = operandLayouts(*layout, aType.getDimSize(1)).first;
    auto scales = loadScales(b, dot, aType, /*blockDim=*/1);
    if (failed(scales))
      return failure();
    auto rounded = aType.clone(
        cast<RankedTensorType>(dot.getB().getType()).getElementType());
    SmallVector<Value> scaled;
    for (int64_t block = 0; block < blocks; ++block) {
      auto scale = scalesOf(b, dot, *scales, block, aType);
      if (failed(scale))
        return failure();
      Value a = arith::TruncFOp::create(
          b, loc, rounded, arith::MulFOp::create(b, loc, dot.getA(), *scale));
      scaled.push_back(operandOf(b, a, wanted, "a").value);
    }
    Operand rows = columnsAlong(1, dot.getB(), "b");
    Value result = dot.getC();
    for (auto [block, a] : llvm::enumerate(scaled)) {
      auto offsets = b.getDenseI64ArrayAttr(
          {0, static_cast<int64_t>(block) * layout->shape()[1]});
      Value part = tilegpu::ExtractSliceOp::create(
          b, loc, withLayout(type, *layout), dot.getC(), offsets);
      part = tilegpu::DotOp::create(b, loc, part.getType(), a,
                                    columns(b, loc, rows.value, block, blocks),
                                    part, false, false);
      result =
          tilegpu::InsertSliceOp::create(b, loc, type, part, result, offsets);
    }
    return result;
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
  /// registers of every thread.
  DistributedLayout::Result columnsInRegisters(const DistributedLayout &slice,
                                               int axis, int64_t size) {
    auto widen = [&](DistributedLayout::Bases bases) {
      for (auto &basis : bases)
        basis.insert(basis.begin() + axis, 0);
      return bases;
    };
    DistributedLayout::Bases reg;
    int64_t inBlock = size & -size;
    for (int64_t bit = 1; bit < inBlock; bit *= 2) {
      reg.emplace_back(slice.rank() + 1, 0);
      reg.back()[axis] = bit;
    }
    llvm::append_range(reg, widen(slice.regBases()));
    DistributedLayout::Coords reps = slice.reps();
    reps.insert(reps.begin() + axis, size / inBlock);
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
