// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers and folders of dot, reductions and shape ops. Numbers are those of
// the ODS text.
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlatile::tile;

LogicalResult FullOp::verify() {
  Type element = getResult().getType().getElementType();
  if (element != getValue().getType()) // full_c1
    return emitOpError() << "expected a result of element type "
                         << getValue().getType() << ", got " << element;
  return success();
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = getResult().getType();
  if (type.getRank() != 1 ||
      !type.getElementType().isSignlessInteger(32)) // iota_c1
    return emitOpError()
           << "expected a result of rank 1 and element type i32, got " << type;
  return success();
}

/// dot_c4, dot_scaled_c4.
static LogicalResult verifyDotDims(Operation *op, ArrayRef<Attribute> a,
                                   ArrayRef<Attribute> b,
                                   ArrayRef<Attribute> c) {
  if (!sameDim(a[1], b[0]))
    return op->emitOpError() << "expected K of b to be K of a, "
                             << dimName(a[1]) << ", got " << dimName(b[0]);
  if (!sameDim(a[0], c[0]))
    return op->emitOpError() << "expected M of c to be M of a, "
                             << dimName(a[0]) << ", got " << dimName(c[0]);
  if (!sameDim(b[1], c[1]))
    return op->emitOpError() << "expected N of c to be N of b, "
                             << dimName(b[1]) << ", got " << dimName(c[1]);
  return success();
}

/// dot_c5, dot_scaled_c7.
static LogicalResult verifyWarps(Operation *op,
                                 std::optional<ArrayRef<int64_t>> warps) {
  if (warps && (warps->size() != 2 || !llvm::all_of(*warps, [](int64_t n) {
                  return n > 0 && llvm::isPowerOf2_64(n);
                })))
    return op->emitOpError()
           << "expected warps to be two positive powers of two, got [" << *warps
           << "]";
  return success();
}

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(),
                   c = getC().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || c.getRank() != 2) // dot_c1
    return emitOpError() << "expected operands of rank 2, got " << a << ", "
                         << b << " and " << c;
  Type element = a.getElementType();
  if (element != b.getElementType() ||
      !(element.isBF16() || element.isF16() ||
        isa<Float8E4M3FNType>(element))) // dot_c2
    return emitOpError() << "expected a and b of one element type, bf16, f16 "
                            "or f8E4M3FN, got "
                         << element << " and " << b.getElementType();
  if (!c.getElementType().isF32()) // dot_c3
    return emitOpError() << "expected c of element type f32, got "
                         << c.getElementType();
  SmallVector<Attribute> da = dimsOf(a), db = dimsOf(b), dc = dimsOf(c);
  if (failed(verifyDotDims(*this, da, db, dc))) // dot_c4
    return failure();
  return verifyWarps(*this, getWarps()); // dot_c5
}

bool DotScaledOp::blocksAlongK() {
  // Of the scaled operand, the dimension that is not K.
  int outer = getScaleA() ? 0 : 1;
  return sameDim(dimsOf(getScale().getType())[outer],
                 dimsOf(getScaled().getType())[outer]);
}

LogicalResult DotScaledOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(),
                   scale = getScale().getType(), c = getC().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || scale.getRank() != 2 ||
      c.getRank() != 2) // dot_scaled_c1
    return emitOpError() << "expected operands of rank 2, got " << a << ", "
                         << b << ", " << scale << " and " << c;
  StringRef scaledName = getScaleA() ? "a" : "b";
  StringRef otherName = getScaleA() ? "b" : "a";
  StringRef outerName = getScaleA() ? "M" : "N";
  Type element = getScaled().getType().getElementType();
  bool isFP8 = isa<Float8E4M3FNType>(element);
  if (!element.isBF16() && !element.isF16() && !isFP8) // dot_scaled_c2
    return emitOpError() << "expected " << scaledName
                         << " of element type bf16, f16 or f8E4M3FN, got "
                         << element;
  Type scaleType = scale.getElementType();
  bool isScale = scaleType.isF32() || scaleType == element;
  if (isFP8)
    isScale = isa<Float8E8M0FNUType, Float16Type, Float32Type>(scaleType);
  if (!isScale || !c.getElementType().isF32()) { // dot_scaled_c3
    auto error = emitOpError("expected c of element type f32 and scale of f32");
    if (isFP8)
      error << ", f16 or f8E8M0FNU";
    else
      error << " or " << element;
    return error << ", got " << c.getElementType() << " and " << scaleType;
  }
  SmallVector<Attribute> da = dimsOf(a), db = dimsOf(b), ds = dimsOf(scale);
  if (failed(verifyDotDims(*this, da, db, dimsOf(c)))) // dot_scaled_c4
    return failure();
  // dot_scaled_c5
  ArrayRef<Attribute> scaled = getScaleA() ? da : db;
  bool same0 = sameDim(ds[0], scaled[0]), same1 = sameDim(ds[1], scaled[1]);
  if (same0 == same1)
    return emitOpError() << "expected one dimension of scale to be that of "
                         << scaledName << ", " << dimNames(scaled)
                         << ", and the other to count blocks, "
                         << "got " << dimNames(ds);
  bool alongK = blocksAlongK();
  Type other = getOther().getType().getElementType();
  Type expected = alongK ? element : scale.getElementType();
  if (other != expected)
    return emitOpError() << "expected " << otherName << " of element type "
                         << expected << " for blocks along "
                         << (alongK ? "K" : outerName) << ", got " << other;
  if (alongK && !scaleType.isF32() && !isa<Float8E8M0FNUType>(scaleType))
    return emitOpError() << "expected scale of element type f32"
                         << (isFP8 ? " or f8E8M0FNU" : "")
                         << " for blocks along K, got " << scaleType;
  if (!alongK && isFP8 && !scaleType.isF16())
    return emitOpError() << "expected scale of element type f16 for blocks "
                            "along "
                         << outerName << " of f8E4M3FN, got " << scaleType;
  // dot_scaled_c6
  int dim = same0 ? 1 : 0;
  auto blocks = dyn_cast_if_present<IntegerAttr>(ds[dim]);
  auto size = dyn_cast_if_present<IntegerAttr>(scaled[dim]);
  if (blocks && size &&
      (blocks.getInt() < 1 || blocks.getInt() >= size.getInt() ||
       size.getInt() % blocks.getInt() != 0))
    return emitOpError() << "expected a number of blocks that divides "
                         << size.getInt() << " and is less, got "
                         << blocks.getInt();
  return verifyWarps(*this, getWarps()); // dot_scaled_c7
}

/// `dims` without the entry at `axis`.
static SmallVector<Attribute> without(ArrayRef<Attribute> dims, int64_t axis) {
  SmallVector<Attribute> rest(dims);
  rest.erase(rest.begin() + axis);
  return rest;
}

LogicalResult ReduceOp::verify() {
  RankedTensorType operand = getOperand().getType();
  int64_t axis = getAxis();
  if (axis < 0 || axis >= operand.getRank()) // reduce_c1
    return emitOpError() << "expected an axis of the operand, 0 to "
                         << operand.getRank() - 1 << ", got " << axis;
  SmallVector<Attribute> expected = without(dimsOf(operand), axis);
  Type result = getResult().getType();
  if (isa<RankedTensorType>(result) != !expected.empty() ||
      !sameDims(dimsOf(result), expected) ||
      elementOf(result) != operand.getElementType()) // reduce_c2
    return emitOpError() << "expected a result of dimensions "
                         << dimNames(expected) << " and element type "
                         << operand.getElementType() << ", got " << result;
  bool isFloat = llvm::is_contained(
      {ReduceKind::AddF, ReduceKind::MaximumF, ReduceKind::MinimumF},
      getKind());
  if (isFloat != isa<FloatType>(operand.getElementType())) // reduce_c3
    return emitOpError() << stringifyReduceKind(getKind()) << " takes "
                         << (isFloat ? "floats" : "integers") << ", got "
                         << operand.getElementType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType operand = getOperand().getType(),
                   result = getResult().getType();
  int64_t axis = getAxis();
  if (result.getRank() != operand.getRank() + 1 || axis < 0 ||
      axis >= result.getRank()) // broadcast_c1
    return emitOpError() << "expected a result of rank "
                         << operand.getRank() + 1
                         << " and an axis of it, got rank " << result.getRank()
                         << " and axis " << axis;
  SmallVector<Attribute> kept = without(dimsOf(result), axis);
  SmallVector<Attribute> expected = dimsOf(operand);
  if (!sameDims(kept, expected) ||
      result.getElementType() != operand.getElementType()) // broadcast_c2
    return emitOpError() << "expected a result of dimensions "
                         << dimNames(expected) << " without axis " << axis
                         << ", element type " << operand.getElementType()
                         << ", got " << result;
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType operand = getOperand().getType(),
                   result = getResult().getType();
  if (operand.getRank() != 2 || result.getRank() != 2) // transpose_c1
    return emitOpError() << "expected operand and result of rank 2, got "
                         << operand << " and " << result;
  SmallVector<Attribute> expected = dimsOf(operand);
  std::swap(expected[0], expected[1]);
  if (!sameDims(dimsOf(result), expected) ||
      result.getElementType() != operand.getElementType()) // transpose_c2
    return emitOpError() << "expected a result of dimensions "
                         << dimNames(expected) << " and element type "
                         << operand.getElementType() << ", got " << result;
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (inner && inner.getOperand().getType() == getResult().getType())
    return inner.getOperand();
  return {};
}
