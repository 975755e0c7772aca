// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"

#include "mlatile/Target/Format.h"

using namespace mlir;
using namespace mlatile::tilegpu;
using mlatile::CacheFormat;
using mlatile::DistributedLayout;

//===--- dot --------------------------------------------------------------===//

namespace {
/// What the checks of a and b need to know of c.
struct DotShape {
  int64_t m, n;
  WarpGrid grid;
  int numWarps; ///< more than the grid's where c has copies
};
} // namespace

/// The operand layout that fits c, of shape M x K or K x N. Warps that hold
/// copies of c hold copies of its operands.
static std::optional<DistributedLayout>
operandLayout(bool isA, int64_t rows, int64_t cols, const DotShape &dot) {
  auto layout = isA ? DistributedLayout::mmaOperandA(
                          rows, cols, 16, dot.grid.warpsM, dot.grid.warpsN)
                    : DistributedLayout::mmaOperandB(
                          rows, cols, 16, dot.grid.warpsM, dot.grid.warpsN);
  if (!layout || layout->numWarps() >= dot.numWarps)
    return layout;
  DistributedLayout::Bases warp = layout->warpBases();
  while ((1 << warp.size()) < dot.numWarps)
    warp.push_back({0, 0});
  return DistributedLayout::create(layout->regBases(), layout->laneBases(),
                                   warp, layout->reps());
}

/// Checks one operand and returns its K.
static FailureOr<int64_t> verifyDotOperand(DotOp op, bool isA,
                                           const DotShape &dot) {
  Type type = (isA ? op.getA() : op.getB()).getType();
  bool transposed = isA ? op.getATransposed() : op.getBTransposed();
  StringRef name = isA ? "a" : "b";
  auto buffer = dyn_cast<BufferType>(type);
  if (buffer && failed(verifyAlignedRows(op, name, buffer))) // dot_c5
    return failure();
  if (!buffer && transposed) // dot_c6
    return op.emitOpError("expected '")
           << name << "' to be a buffer, because it is transposed, got "
           << type;
  auto shaped =
      buffer ? buffer.getShape() : cast<RankedTensorType>(type).getShape();
  if (shaped.size() != 2) // dot_c3
    return op.emitOpError("expected '")
           << name << "' to have two dimensions, got " << type;
  int64_t rows = shaped[transposed ? 1 : 0], cols = shaped[transposed ? 0 : 1];
  int64_t outer = isA ? dot.m : dot.n, k = isA ? cols : rows;
  if ((isA ? rows : cols) != outer) // dot_c3
    return op.emitOpError("expected ")
           << outer << (isA ? " rows" : " columns") << " of '" << name
           << "' to match c, got " << (isA ? rows : cols);
  if (k % 16 != 0) // dot_c3
    return op.emitOpError("expected K to be a multiple of 16, got ") << k;
  if (!buffer && operandLayout(isA, rows, cols, dot) !=
                     LayoutAttr::of(type).getDistributed()) // dot_c4
    return op.emitOpError("expected '")
           << name << "' in the operand layout of " << dot.grid.warpsM << " x "
           << dot.grid.warpsN << " warps, which fits c, got " << type;
  return k;
}

static Type dotElement(Type type) {
  if (auto buffer = dyn_cast<BufferType>(type))
    return buffer.getElementType();
  return cast<RankedTensorType>(type).getElementType();
}

LogicalResult DotOp::verify() {
  RankedTensorType c = getC().getType();
  const DistributedLayout &layout = LayoutAttr::of(c).getDistributed();
  std::optional<WarpGrid> grid = matchAccumulator(layout);
  if (!grid || !c.getElementType().isF32()) // dot_c1
    return emitOpError("expected c to be f32 in the layout of an mma "
                       "accumulator, got ")
           << c;
  Type a = dotElement(getA().getType()), b = dotElement(getB().getType());
  if (a != b || !(a.isBF16() || a.isF16())) // dot_c2
    return emitOpError("expected a and b to be both bf16 or both f16, got ")
           << a << " and " << b;
  DotShape shape{c.getDimSize(0), c.getDimSize(1), *grid, layout.numWarps()};
  FailureOr<int64_t> kA = verifyDotOperand(*this, /*isA=*/true, shape);
  if (failed(kA))
    return failure();
  FailureOr<int64_t> kB = verifyDotOperand(*this, /*isA=*/false, shape);
  if (failed(kB))
    return failure();
  if (*kA != *kB) // dot_c3
    return emitOpError("expected a and b to have one K, got ")
           << *kA << " and " << *kB;
  return success();
}

SmallVector<SharedAccess> DotOp::getSharedAccesses() {
  SmallVector<SharedAccess> accesses;
  RankedTensorType c = getC().getType();
  const DistributedLayout &accumulator = LayoutAttr::of(c).getDistributed();
  std::optional<WarpGrid> grid = matchAccumulator(accumulator);
  for (bool isA : {true, false}) {
    auto buffer = dyn_cast<BufferType>((isA ? getA() : getB()).getType());
    if (!buffer)
      continue;
    bool transposed = isA ? getATransposed() : getBTransposed();
    int64_t rows = buffer.getShape()[transposed ? 1 : 0];
    int64_t cols = buffer.getShape()[transposed ? 0 : 1];
    std::optional<DistributedLayout> layout;
    if (grid)
      layout = operandLayout(
          isA, rows, cols,
          {c.getDimSize(0), c.getDimSize(1), *grid, accumulator.numWarps()});
    if (layout && transposed)
      layout = transposedLayout(*layout);
    accesses.push_back(
        {isA ? &getAMutable() : &getBMutable(), /*isWrite=*/false,
         layout ? LayoutAttr::get(getContext(), *layout) : LayoutAttr(),
         /*byWarp=*/true});
  }
  return accesses;
}

//===--- dequant ----------------------------------------------------------===//

LogicalResult DequantOp::verify() {
  const CacheFormat *format = mlatile::findCacheFormat(
      std::string_view(getFormat().data(), getFormat().size()));
  if (!format) // dequant_c1
    return emitOpError("expected a known cache format, got \"")
           << getFormat() << '"';
  BufferType payload = getPayload().getType(), scales = getScales().getType(),
             result = getResult().getType();
  if (failed(verifyAlignedRows(*this, "payload", payload)) ||
      failed(verifyAlignedRows(*this, "result", result)))
    return failure();
  if (payload.getElementBytes() != 1 ||
      payload.getCols() != format->payloadBytes()) // dequant_c2
    return emitOpError("expected 'payload' to have rows of ")
           << format->payloadBytes() << " elements of 8 bits, got " << payload;
  bool f32 = format->scale == mlatile::ScaleType::F32;
  bool fits = scales.getRank() == 2 && scales.getRows() == payload.getRows() &&
              (f32 ? scales.getElementType().isF32() &&
                         scales.getCols() == format->groups()
                   : scales.getElementBytes() == 1 &&
                         scales.getCols() >= format->groups());
  if (!fits) // dequant_c3
    return emitOpError("expected 'scales' to have ")
           << payload.getRows() << " rows of " << (f32 ? "" : "at least ")
           << format->groups()
           << (f32 ? " f32 elements" : " elements of 8 bits") << ", got "
           << scales;
  Type element = result.getElementType();
  if (!(element.isBF16() || element.isF16()) ||
      result.getRows() != payload.getRows() ||
      result.getCols() != format->nope) // dequant_c4
    return emitOpError("expected 'result' to have ")
           << payload.getRows() << " x " << format->nope
           << " elements of bf16 or f16, got " << result;
  return success();
}

SmallVector<SharedAccess> DequantOp::getSharedAccesses() {
  SmallVector<SharedAccess> accesses{{&getPayloadMutable(), false},
                                     {&getResultMutable(), true}};
  if (!getUnscaled())
    accesses.push_back({&getScalesMutable(), false});
  return accesses;
}

//===--- extract_slice, insert_slice --------------------------------------===//

static LogicalResult verifyWindow(Operation *op, RankedTensorType whole,
                                  RankedTensorType window,
                                  ArrayRef<int64_t> offsets) {
  bool inside =
      whole.getRank() == window.getRank() &&
      offsets.size() == static_cast<size_t>(whole.getRank()) &&
      llvm::all_of(
          llvm::zip_equal(offsets, window.getShape(), whole.getShape()),
          [](auto dim) {
            auto [offset, size, limit] = dim;
            return offset >= 0 && size <= limit && offset <= limit - size;
          });
  if (!inside) // extract_slice_c1, insert_slice_c1
    return op->emitOpError("expected a window inside ")
           << whole << ", got " << window << " at [" << offsets << "]";
  if (whole.getElementType() != window.getElementType()) // _c2
    return op->emitOpError("expected a window of element type ")
           << whole.getElementType() << ", got " << window.getElementType();
  if (!windowRegisters(LayoutAttr::of(whole).getDistributed(),
                       LayoutAttr::of(window).getDistributed(),
                       offsets)) // _c3
    return op->emitOpError("expected a window whose threads hold it in the "
                           "same registers of ")
           << whole << ", got " << window << " at [" << offsets << "]";
  return success();
}

LogicalResult ExtractSliceOp::verify() {
  return verifyWindow(*this, getSource().getType(), getType(), getOffsets());
}

LogicalResult InsertSliceOp::verify() {
  return verifyWindow(*this, getDest().getType(), getSource().getType(),
                      getOffsets());
}

//===--- reduce_warp, convert_layout --------------------------------------===//

LogicalResult ReduceWarpOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  bool integers = getKind() == mlatile::tile::ReduceKind::AddI ||
                  getKind() == mlatile::tile::ReduceKind::MaxSI;
  if (isa<FloatType>(source.getElementType()) == integers) // reduce_warp_c1
    return emitOpError("expected a tensor of ")
           << (integers ? "integers" : "floats") << ", got " << source;
  int64_t axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis >= source.getRank()) // reduce_warp_c2
    return emitOpError("expected an axis between 0 and ")
           << source.getRank() - 1 << ", got " << axis;
  std::optional<DistributedLayout> layout =
      reduceWarpLayout(LayoutAttr::of(source).getDistributed(), axis);
  if (!layout) // reduce_warp_c3
    return emitOpError("expected a layout that can be reduced along ")
           << axis << " by exchanging bits of lane and warp, got " << source;
  auto expected =
      RankedTensorType::get(layout->shape(), source.getElementType(),
                            LayoutAttr::get(getContext(), *layout));
  if (result != expected) // reduce_warp_c4
    return emitOpError("expected a result of type ")
           << expected << ", got " << result;
  return success();
}

LogicalResult ConvertLayoutOp::verify() { // convert_layout_c1
  RankedTensorType source = getSource().getType(), result = getType();
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType() ||
      LayoutAttr::of(source).getNumWarps() !=
          LayoutAttr::of(result).getNumWarps())
    return emitOpError("expected shape, element type and number of warps to "
                       "stay, got ")
           << source << " and " << result;
  return success();
}
