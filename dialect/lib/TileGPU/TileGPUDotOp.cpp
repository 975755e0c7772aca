// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dot and tilegpu.load_quantised.
#include "TileGPUVerify.h"

using namespace mlir;
using namespace mlatile::tilegpu;
using mlatile::DistributedLayout;

namespace {
/// An operand of a dot, as M x K or K x N.
struct DotOperand {
  DotOp dot;
  bool isA;
  Value value;
  bool transposed;

  DotOperand(DotOp dot, bool isA)
      : dot(dot), isA(isA), value(isA ? dot.getA() : dot.getB()),
        transposed(isA ? dot.getATransposed() : dot.getBTransposed()) {}

  StringRef name() const { return isA ? "a" : "b"; }
  Type type() const { return value.getType(); }
  BufferType buffer() const { return dyn_cast<BufferType>(type()); }
  Value scales() const {
    DotOp dot = this->dot; // its accessors are not const
    return isA ? Value(dot.getAScales()) : Value(dot.getBScales());
  }
  Value factors() const {
    DotOp dot = this->dot;
    return isA ? Value(dot.getAFactors()) : Value(dot.getBFactors());
  }
  Type element() const {
    if (BufferType buffer = this->buffer())
      return buffer.getElementType();
    return cast<RankedTensorType>(type()).getElementType();
  }
  ArrayRef<int64_t> shape() const {
    if (BufferType buffer = this->buffer())
      return buffer.getShape();
    return cast<RankedTensorType>(type()).getShape();
  }
  int64_t rows() const { return shape()[transposed ? 1 : 0]; }
  int64_t cols() const { return shape()[transposed ? 0 : 1]; }
  int64_t outer() const { return isA ? rows() : cols(); }
  int64_t k() const { return isA ? cols() : rows(); }
  bool columnsAlongK() const { return isA != transposed; }
  /// Converted in registers, to the type of the other one.
  bool isQuantised() const {
    DotOp dot = this->dot;
    return buffer() && isa<Float8E4M3FNType, Float4E2M1FNType>(element()) &&
           !dot.isFP8();
  }
  /// Along K or along M (N); 0 where the operand does not say.
  int packK() const {
    return isQuantised() && columnsAlongK() ? packing(element()) : 0;
  }
  int packOuter() const {
    return isQuantised() && !columnsAlongK() ? packing(element()) : 0;
  }
};
} // namespace

bool DotOp::isFP8() {
  return isa<Float8E4M3FNType>(DotOperand(*this, true).element()) &&
         isa<Float8E4M3FNType>(DotOperand(*this, false).element());
}

int DotOp::getPackK() {
  return std::max(DotOperand(*this, true).packK(),
                  DotOperand(*this, false).packK());
}

int64_t DotOp::getK() { return DotOperand(*this, true).k(); }

/// The scales of `name`, quantised rows of type `payload` (dot_c8,
/// load_quantised_c2).
static LogicalResult verifyScales(Operation *op, StringRef name,
                                  BufferType payload, Value scales) {
  if (!scales)
    return success();
  auto type = cast<BufferType>(scales.getType());
  int64_t rows = payload.getRows(), columns = payload.getCols();
  bool divides = type.getRank() == 2 && columns % type.getCols() == 0;
  int64_t group = divides ? columns / type.getCols() : 0;
  if (!divides || type.getRows() != rows || group < 16 ||
      !llvm::isPowerOf2_64(group) ||
      !isa<Float8E8M0FNUType, Float8E4M3FNType>(type.getElementType()))
    return op->emitOpError("expected scales of '")
           << name << "' of f8E8M0FNU or f8E4M3FN, with " << rows
           << " rows and a column for each group (a power of two, at least 16) "
              "of its "
           << columns << " columns, got " << type;
  return success();
}

/// Checks an operand of a product of two f8E4M3FN.
static LogicalResult verifyFP8(const DotOperand &operand) {
  DotOp op = operand.dot;
  bool isPacked = operand.isA ? op.getAPacked() : op.getBPacked();
  if (!operand.buffer() || !operand.columnsAlongK() || operand.factors() ||
      isPacked)
    return op.emitOpError("expected '")
           << operand.name()
           << "' of two f8E4M3FN to be a buffer with columns along K, neither "
              "packed nor with factors, got "
           << operand.type();
  if (!operand.scales())
    return success();
  if (failed(
          verifyScales(op, operand.name(), operand.buffer(), operand.scales())))
    return failure();
  auto type = cast<BufferType>(operand.scales().getType());
  if (!isa<Float8E8M0FNUType>(type.getElementType()) ||
      operand.k() / type.getCols() % 32 != 0 || type.getStrideBytes() % 4 != 0)
    return op.emitOpError("expected scales of '")
           << operand.name()
           << "' of two f8E4M3FN to be f8E8M0FNU, one for a multiple of 32 "
              "columns, in rows at multiples of 4 bytes, got "
           << type;
  return success();
}

/// Checks one operand against c and K.
static LogicalResult verifyOperand(const DotOperand &operand,
                                   RankedTensorType c, const WarpGrid &grid,
                                   int numWarps) {
  DotOp op = operand.dot;
  StringRef name = operand.name();
  BufferType buffer = operand.buffer();
  if (buffer && failed(verifyAlignedRows(op, name, buffer))) // dot_c5
    return failure();
  if (!buffer && operand.transposed) // dot_c6
    return op.emitOpError("expected '")
           << name << "' to be a buffer, because it is transposed, got "
           << operand.type();
  if (operand.shape().size() != 2) // dot_c3
    return op.emitOpError("expected '")
           << name << "' to have two dimensions, got " << operand.type();
  int64_t outer = c.getDimSize(operand.isA ? 0 : 1);
  if (operand.outer() != outer) // dot_c3
    return op.emitOpError("expected ")
           << outer << (operand.isA ? " rows" : " columns") << " of '" << name
           << "' to match c, got " << operand.outer();
  int64_t step = op.isFP8() ? 32 : std::max(16, 8 << op.getPackK());
  if (operand.k() % step != 0) // dot_c3
    return op.emitOpError("expected K to be a multiple of ")
           << step << ", got " << operand.k();
  int pack = operand.isA ? grid.packM : grid.packN;
  if (operand.packOuter() != pack) // dot_c7
    return op.emitOpError("expected c with ")
           << (operand.isA ? "rows" : "columns") << " packed as those of '"
           << name << "', got " << c;
  if (op.isFP8())
    return verifyFP8(operand); // dot_c11
  if (!buffer && operandLayout(operand.isA, operand.rows(), operand.cols(),
                               op.getPackK(), grid, numWarps) !=
                     LayoutAttr::of(operand.type()).getDistributed()) // dot_c4
    return op.emitOpError("expected '")
           << name << "' in the operand layout of " << grid.warpsM << " x "
           << grid.warpsN << " warps, which fits c, got " << operand.type();
  if (operand.scales() && !operand.isQuantised()) // dot_c8
    return op.emitOpError("expected only a quantised operand to be scaled, "
                          "got '")
           << name << "' of type " << operand.type();
  bool isPacked = operand.isA ? op.getAPacked() : op.getBPacked();
  if (isPacked && (!buffer || operand.isQuantised() ||
                   !operand.columnsAlongK() || op.getPackK() == 0)) // dot_c10
    return op.emitOpError("expected a packed '")
           << name
           << "' to be a 16-bit buffer with columns along K, beside a "
              "quantised operand with columns along K, got "
           << operand.type();
  return verifyScales(op, name, buffer, operand.scales());
}

/// Checks the factors of an operand whose fragments are of type `element`.
static LogicalResult verifyFactors(const DotOperand &operand,
                                   RankedTensorType c, const WarpGrid &grid,
                                   Type element) {
  if (!operand.factors())
    return success();
  DotOp op = operand.dot;
  // The dimension of c along which they differ.
  int dim = operand.isA ? 1 : 0;
  auto type = cast<BufferType>(operand.factors().getType());
  int64_t size = c.getDimSize(dim);
  bool fits = type.getRank() == 2 && type.getElementType() == element &&
              type.getCols() == operand.k() && size % type.getRows() == 0 &&
              type.getStrideBytes() % 4 == 0;
  int64_t group = fits ? size / type.getRows() : 0;
  int64_t block =
      dim == 1 ? std::max(8 << grid.packN, 8) : std::max(8 << grid.packM, 16);
  if (!fits || !llvm::isPowerOf2_64(group) || group < block) // dot_c9
    return op.emitOpError("expected factors of '")
           << operand.name() << "' of " << element << ", with " << operand.k()
           << " columns and a row for each group (a power of "
           << "two, at least " << block << ") of the " << size
           << (dim == 1 ? " columns" : " rows") << " of c, got " << type;
  return success();
}

/// dot_c12; `wide` is of 16 bits.
static LogicalResult verifyNarrow(const DotOperand &wide,
                                  const DotOperand &quantised) {
  DotOp op = wide.dot;
  if (wide.element().isF16() && quantised.isQuantised() &&
      isa<Float8E4M3FNType>(quantised.element()) && !quantised.scales() &&
      !quantised.columnsAlongK())
    return success();
  return op.emitOpError("expected narrow products of an f16 operand and an "
                        "f8E4M3FN one without scales, whose columns do not run "
                        "along K, got ")
         << op.getA().getType() << " and " << op.getB().getType();
}

LogicalResult DotOp::verify() {
  RankedTensorType c = getC().getType();
  const DistributedLayout &layout = LayoutAttr::of(c).getDistributed();
  std::optional<WarpGrid> grid = matchAccumulator(layout);
  if (!grid || !c.getElementType().isF32()) // dot_c1
    return emitOpError("expected c to be f32 in the layout of an mma "
                       "accumulator, got ")
           << c;
  DotOperand a(*this, /*isA=*/true), b(*this, /*isA=*/false);
  Type wide = a.isQuantised() ? b.element() : a.element();
  bool both = a.element() == b.element() || a.isQuantised() != b.isQuantised();
  if (!isFP8() && (!both || !(wide.isBF16() || wide.isF16()))) // dot_c2
    return emitOpError("expected a and b to be both bf16, both f16 or both "
                       "f8E4M3FN, or one of them quantised, got ")
           << a.element() << " and " << b.element();
  for (const DotOperand &operand : {a, b})
    if (failed(verifyOperand(operand, c, *grid, layout.numWarps())) ||
        failed(verifyFactors(operand, c, *grid, wide)))
      return failure();
  if (getNarrow() &&
      failed(verifyNarrow(a.isQuantised() ? b : a, a.isQuantised() ? a : b)))
    return failure();
  if (a.k() != b.k()) // dot_c3
    return emitOpError("expected a and b to have one K, got ")
           << a.k() << " and " << b.k();
  return success();
}

SmallVector<SharedAccess> DotOp::getSharedAccesses() {
  SmallVector<SharedAccess> accesses;
  RankedTensorType c = getC().getType();
  const DistributedLayout &accumulator = LayoutAttr::of(c).getDistributed();
  std::optional<WarpGrid> grid = matchAccumulator(accumulator);
  for (bool isA : {true, false}) {
    DotOperand operand(*this, isA);
    if (operand.scales())
      accesses.push_back(
          {isA ? &getAScalesMutable()[0] : &getBScalesMutable()[0],
           /*isWrite=*/false});
    if (operand.factors())
      accesses.push_back(
          {isA ? &getAFactorsMutable()[0] : &getBFactorsMutable()[0],
           /*isWrite=*/false});
    if (!operand.buffer())
      continue;
    std::optional<DistributedLayout> layout;
    if (grid && !operand.isQuantised() && !isFP8())
      layout = operandLayout(isA, operand.rows(), operand.cols(), getPackK(),
                             *grid, accumulator.numWarps());
    if (layout && operand.transposed)
      layout = transposedLayout(*layout);
    accesses.push_back(
        {isA ? &getAMutable() : &getBMutable(), /*isWrite=*/false,
         layout ? LayoutAttr::get(getContext(), *layout) : LayoutAttr(),
         /*byWarp=*/true});
  }
  return accesses;
}

//===--- load_quantised ---------------------------------------------------===//

LogicalResult LoadQuantisedOp::verify() {
  BufferType payload = getPayload().getType();
  RankedTensorType tile = getTile().getType();
  if (payload.getRank() != 2 || payload.getShape() != tile.getShape() ||
      !isa<Float8E4M3FNType, Float4E2M1FNType>(payload.getElementType()) ||
      !(tile.getElementType().isBF16() ||
        tile.getElementType().isF16())) // load_quantised_c1
    return emitOpError("expected a payload of f8E4M3FN or f4E2M1FN and a "
                       "result of bf16 or f16, of one shape, got ")
           << payload << " and " << tile;
  return verifyScales(*this, "payload", payload,
                      getScales()); // load_quantised_c2
}

SmallVector<SharedAccess> LoadQuantisedOp::getSharedAccesses() {
  SmallVector<SharedAccess> accesses{{&getPayloadMutable(), false}};
  if (getScales())
    accesses.push_back({&getScalesMutable()[0], false});
  return accesses;
}
