// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotsToTileGPU.h"
#include "QuantisedOperands.h"
#include "Rematerialise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace mlatile {
namespace {

using Operand = OperandStager::Operand;

/// Part `number` of `parts` of the columns of a buffer.
Value columns(OpBuilder &b, Location loc, Value buffer, int64_t number,
              int64_t parts) {
  auto type = cast<tilegpu::BufferType>(buffer.getType());
  int64_t count = type.getCols() / parts;
  auto part =
      tilegpu::BufferType::get(b.getContext(), {type.getShape()[0], count},
                               type.getElementType(), type.getStrideBytes());
  return tilegpu::ViewOp::create(
      b, loc, part, buffer,
      b.getI64IntegerAttr(number * count * type.getElementBits() / 8));
}

bool isFP8(Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  return isa<Float8E4M3FNType>(type.getElementType());
}

/// A product of two f8E4M3FN, whose columns run along K.
Value fp8Product(OpBuilder &b, Location loc, const Operand &left,
                 const Operand &right, Value c, Value leftScales,
                 Value rightScales) {
  return tilegpu::DotOp::create(
      b, loc, c.getType(), left.value, right.value, c, leftScales, rightScales,
      /*a_factors=*/Value(), /*b_factors=*/Value(), left.transposed,
      right.transposed, /*a_packed=*/false, /*b_packed=*/false,
      /*narrow=*/false);
}

/// The layout of operand a (b) of a dot with that accumulator.
DistributedLayout::Result wantedLayout(bool isA, const DistributedLayout &c,
                                       int64_t k, int packK) {
  auto grid = tilegpu::matchAccumulator(c);
  if (!grid)
    return std::nullopt;
  auto shape = c.shape();
  return tilegpu::operandLayout(isA, isA ? shape[0] : k, isA ? k : shape[1],
                                packK, *grid, c.numWarps());
}

/// Products of one `tile.dot_scaled`; names as in its description, `scaled` and
/// `other` are a and b in either order.
class ScaledDot {
public:
  ScaledDot(OperandStager &stager, tile::DotScaledOp dot)
      : stager(stager), dot(dot), b(dot), loc(dot.getLoc()),
        scaledDim(dot.getScaleA() ? 0 : 1),
        type(cast<RankedTensorType>(dot.getResult().getType())),
        blocks(dot.getScale().getType().getDimSize(dot.getBlockDim())) {}

  FailureOr<Value> lower() {
    RankedTensorType scaled = dot.getScaled().getType();
    // Of the scaled operand, the dimension along which the blocks lie.
    int dim = dot.blocksAlongK() ? 1 - scaledDim : scaledDim;
    int64_t size = scaled.getDimSize(dim) / blocks;
    int64_t step = dot.blocksAlongK() && isFP8(dot.getScaled()) ? 32 : 16;
    if (size % step != 0)
      return dot.emitOpError("expected blocks of a multiple of ")
             << step << " elements, got " << size;
    Operand rows =
        stager.columnsAlong(dim, dot.getScaled(), dot.getScaleA() ? "a" : "b");
    int64_t bytes =
        size *
        cast<tilegpu::BufferType>(rows.value.getType()).getElementBits() / 8;
    if (bytes % 16 != 0)
      return dot.emitOpError("expected blocks of a multiple of 16 bytes, got ")
             << bytes;
    if (isa<Float8E8M0FNUType>(dot.getScale().getType().getElementType()))
      return byBlockScales(rows);
    if (dot.blocksAlongK())
      return alongK(rows);
    return dot.getOther().getType().getElementType().isF32() ? alongOuter(rows)
                                                             : byFactors(rows);
  }

private:
  Value product(Value scaled, bool scaledTransposed, Value other,
                bool otherTransposed, Value c, bool otherPacked = false) {
    if (dot.getScaleA()) {
      auto product = tilegpu::DotOp::create(b, loc, scaled, other, c,
                                            scaledTransposed, otherTransposed);
      product.setBPacked(otherPacked);
      return product;
    }
    auto product = tilegpu::DotOp::create(b, loc, other, scaled, c,
                                          otherTransposed, scaledTransposed);
    product.setAPacked(otherPacked);
    return product;
  }

  /// Scales by which a tile is multiplied: they differ along one dimension.
  struct Scales {
    Value tile;              ///< [elements of that dimension, blocks]
    DistributedLayout along; ///< of that dimension
  };

  /// The scales for a tile (the accumulator, or the other operand), those of
  /// all blocks in the registers of every thread that needs them.
  FailureOr<Scales> loadScales(RankedTensorType tile) {
    std::string error;
    const auto &layout = tilegpu::LayoutAttr::of(tile).getDistributed();
    auto along = layout.slice(1 - scaledDim, &error);
    if (!along)
      return dot.emitOpError(error);
    auto whole = columnsInRegisters(*along, 1, blocks);
    if (!whole)
      return dot.emitOpError("no layout for the scales");
    // What is cheap to compute from shared memory needs no buffer of its own.
    auto [source, turned] = untransposed(dot.getScale());
    if (turned == (dot.getBlockDim() == 0))
      if (Value tile = rematerialise(b, source, *whole))
        return Scales{tile, *along};
    Value buffer =
        stager.columnsAlong(dot.getBlockDim(), dot.getScale(), "scale").value;
    return Scales{tilegpu::LoadSharedOp::create(b, loc, floats(*whole), buffer),
                  *along};
  }

  /// The scales of one block as a tile of type `tile`.
  FailureOr<Value> scalesOf(const Scales &scales, int64_t block,
                            RankedTensorType tile) {
    auto one = columnsInRegisters(scales.along, 1, 1);
    if (!one)
      return dot.emitOpError("no layout for the scales of a block");
    Value column = tilegpu::ExtractSliceOp::create(
        b, loc, floats(*one), scales.tile, b.getDenseI64ArrayAttr({0, block}));
    column = tilegpu::ReduceWarpOp::create(b, loc, floats(scales.along),
                                           tile::ReduceKind::AddF, column, 1);
    return Value(
        tile::BroadcastOp::create(b, loc, tile, column, 1 - scaledDim));
  }

  /// One dot a block, whose sums are scaled and added.
  FailureOr<Value> alongK(const Operand &rows) {
    auto scales = loadScales(type);
    if (failed(scales))
      return failure();
    // Columns of both run along K.
    int pack = 0;
    if (!isFP8(dot.getOther()))
      pack = tilegpu::packing(
          cast<tilegpu::BufferType>(rows.value.getType()).getElementType());
    Operand other =
        stager.columnsAlong(scaledDim, dot.getOther(),
                            dot.getScaleA() ? "b" : "a", /*beside=*/{}, pack);
    Value zero = tile::FullOp::create(
        b, loc, type,
        arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f)));
    Value sum = dot.getC();
    for (int64_t block = 0; block < blocks; ++block) {
      Value part =
          product(columns(b, loc, rows.value, block, blocks), rows.transposed,
                  columns(b, loc, other.value, block, blocks), other.transposed,
                  zero, other.packed);
      auto scale = scalesOf(*scales, block, type);
      if (failed(scale))
        return failure();
      sum = math::FmaOp::create(b, loc, part, *scale, sum);
    }
    return sum;
  }

  /// One dot of f8E4M3FN whose mma scales.
  FailureOr<Value> byBlockScales(const Operand &rows) {
    Value scales =
        stager.columnsAlong(dot.getBlockDim(), dot.getScale(), "scale").value;
    Operand other = stager.columnsAlong(scaledDim, dot.getOther(),
                                        dot.getScaleA() ? "b" : "a");
    if (dot.getScaleA())
      return fp8Product(b, loc, rows, other, dot.getC(), scales, Value());
    return fp8Product(b, loc, other, rows, dot.getC(), Value(), scales);
  }

  /// One dot; scales stand in a buffer of factors, K along its rows.
  FailureOr<Value> byFactors(const Operand &rows) {
    bool narrow = isFP8(dot.getScaled());
    Value factors = stager
                        .columnsAlong(dot.getScaleA() ? 1 : 0, dot.getScale(),
                                      "factors", dot.getOther())
                        .value;
    Operand other = stager.operandOf(
        b, dot.getOther(),
        wantedLayout(!dot.getScaleA(), layoutOf(dot.getC()),
                     dot.getOther().getType().getDimSize(scaledDim),
                     /*packK=*/0),
        dot.getScaleA() ? "b" : "a");
    if (dot.getScaleA())
      return Value(tilegpu::DotOp::create(
          b, loc, type, rows.value, other.value, dot.getC(), rows.scales,
          /*b_scales=*/Value(), /*a_factors=*/Value(), factors, rows.transposed,
          other.transposed, /*a_packed=*/false, /*b_packed=*/false, narrow));
    return Value(tilegpu::DotOp::create(
        b, loc, type, other.value, rows.value, dot.getC(), /*a_scales=*/Value(),
        rows.scales, factors, /*b_factors=*/Value(), other.transposed,
        rows.transposed, /*a_packed=*/false, /*b_packed=*/false, narrow));
  }

  /// For each block of rows (columns) of c the other operand times its scales,
  /// rounded in registers.
  FailureOr<Value> alongOuter(const Operand &rows) {
    const DistributedLayout &whole = layoutOf(dot.getC());
    DistributedLayout::Coords reps = whole.reps();
    if (reps[scaledDim] % blocks != 0)
      return dot.emitOpError("expected blocks of a multiple of ")
             << whole.blockShape()[scaledDim]
             << (dot.getScaleA() ? " rows" : " columns") << ", got "
             << type.getDimSize(scaledDim) / blocks;
    reps[scaledDim] /= blocks;
    auto layout = DistributedLayout::create(whole.regBases(), whole.laneBases(),
                                            whole.warpBases(), reps);
    RankedTensorType otherType = dot.getOther().getType();
    auto wanted =
        layout ? wantedLayout(/*isA=*/!dot.getScaleA(), *layout,
                              otherType.getDimSize(scaledDim), /*packK=*/0)
               : std::nullopt;
    if (!wanted)
      return dot.emitOpError("no layout for a block");
    // Scaled where it is, if it can move once it has been rounded; else moved
    // once for all blocks.
    Value other = dot.getOther();
    StringRef name = dot.getScaleA() ? "b" : "a";
    bool moveRounded = staysInRegisters(
        dot.getScaled().getType().getElementType(), layoutOf(other), *wanted);
    if (!moveRounded)
      other = stager.inLayout(b, other, *wanted, name);
    otherType = cast<RankedTensorType>(other.getType());
    auto scales = loadScales(otherType);
    if (failed(scales))
      return failure();
    auto rounded = otherType.clone(dot.getScaled().getType().getElementType());
    Value result = dot.getC();
    for (int64_t block = 0; block < blocks; ++block) {
      auto scale = scalesOf(*scales, block, otherType);
      if (failed(scale))
        return failure();
      Value factor = arith::TruncFOp::create(
          b, loc, rounded, arith::MulFOp::create(b, loc, other, *scale));
      factor = stager.inLayout(b, factor, *wanted, name);
      SmallVector<int64_t> at{0, 0};
      at[scaledDim] = block * layout->shape()[scaledDim];
      auto offsets = b.getDenseI64ArrayAttr(at);
      Value part = tilegpu::ExtractSliceOp::create(
          b, loc, withLayout(type, *layout), dot.getC(), offsets);
      part = product(columns(b, loc, rows.value, block, blocks),
                     rows.transposed, factor, false, part);
      result =
          tilegpu::InsertSliceOp::create(b, loc, type, part, result, offsets);
    }
    return result;
  }

  RankedTensorType floats(const DistributedLayout &layout) {
    return withLayout(RankedTensorType::get(layout.shape(), b.getF32Type()),
                      layout);
  }

  OperandStager &stager;
  tile::DotScaledOp dot;
  OpBuilder b;
  Location loc;
  int scaledDim; ///< of c: 0 if a is scaled, 1 if b is
  RankedTensorType type;
  int64_t blocks;
};

} // namespace

LogicalResult lowerDot(OperandStager &stager, tile::DotOp dot) {
  OpBuilder b(dot);
  auto aType = cast<RankedTensorType>(dot.getA().getType());
  if (isFP8(dot.getA())) {
    if (aType.getDimSize(1) % 32 != 0)
      return dot.emitOpError("expected a K of a multiple of 32 for f8E4M3FN, "
                             "got ")
             << aType.getDimSize(1);
    Operand left = stager.columnsAlong(1, dot.getA(), "a");
    Operand right = stager.columnsAlong(0, dot.getB(), "b");
    dot.getResult().replaceAllUsesWith(
        fp8Product(b, dot.getLoc(), left, right, dot.getC(), Value(), Value()));
    dot.erase();
    return success();
  }
  int packK = packingAlongK(dot.getA(), dot.getB());
  const DistributedLayout &c = layoutOf(dot.getC());
  int64_t k = aType.getDimSize(1);
  // Only columns that run along K come in a packed order.
  int packA = untransposed(dot.getA()).transposed ? 0 : packK;
  int packB = untransposed(dot.getB()).transposed ? packK : 0;
  Operand left = stager.operandOf(b, dot.getA(),
                                  wantedLayout(true, c, k, packK), "a", packA);
  Operand right = stager.operandOf(
      b, dot.getB(), wantedLayout(false, c, k, packK), "b", packB);
  auto lowered = tilegpu::DotOp::create(
      b, dot.getLoc(), dot.getResult().getType(), left.value, right.value,
      dot.getC(), left.scales, right.scales, /*a_factors=*/Value(),
      /*b_factors=*/Value(), left.transposed, right.transposed, left.packed,
      right.packed, /*narrow=*/false);
  dot.getResult().replaceAllUsesWith(lowered.getResult());
  dot.erase();
  return success();
}

LogicalResult lowerDotScaled(OperandStager &stager, tile::DotScaledOp dot) {
  FailureOr<Value> result = ScaledDot(stager, dot).lower();
  if (failed(result))
    return failure();
  dot.getResult().replaceAllUsesWith(*result);
  dot.erase();
  return success();
}

} // namespace mlatile
