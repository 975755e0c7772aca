// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"

#include "mlatile/Target/Format.h"

using namespace mlir;
using namespace mlatile::tilegpu;
using mlatile::CacheFormat;
using mlatile::DistributedLayout;

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
  if (hasFactors())
    fits = scales.getRank() == 2 && scales.getRows() == payload.getRows() &&
           scales.getCols() >= format->groups();
  if (!fits) // dequant_c3
    return emitOpError("expected 'scales' to have ")
           << payload.getRows() << " rows of " << (f32 ? "" : "at least ")
           << format->groups()
           << (f32 ? " f32 elements" : " elements of 8 bits")
           << ", or factors of the result's type, got " << scales;
  Type element = result.getElementType();
  if (!(element.isBF16() || element.isF16()) ||
      result.getRows() != payload.getRows() ||
      result.getCols() != format->nope) // dequant_c4
    return emitOpError("expected 'result' to have ")
           << payload.getRows() << " x " << format->nope
           << " elements of bf16 or f16, got " << result;
  if (hasFactors() &&
      (getUnscaled() ||
       format->payload != mlatile::PayloadType::E4M3)) // dequant_c5
    return emitOpError(
               "expected factors of an e4m3 payload that is scaled, got ")
           << (getUnscaled() ? "unscaled" : "one of 4 bits");
  return success();
}

bool DequantOp::hasFactors() {
  return getScales().getType().getElementType() ==
         getResult().getType().getElementType();
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

LogicalResult ScaleOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto factor = cast<RankedTensorType>(getFactor().getType());
  if (tile.getRank() != 2 || !tile.getElementType().isF32() ||
      getAxis() > 1) // scale_c1
    return emitOpError("expected a tile of two dimensions of f32 and an axis "
                       "of 0 or 1, got ")
           << tile << " along " << static_cast<int64_t>(getAxis());
  int64_t count = tile.getDimSize(1 - static_cast<int64_t>(getAxis()));
  if (factor.getRank() != 1 || factor.getDimSize(0) != count ||
      !factor.getElementType().isF32()) // scale_c2
    return emitOpError("expected ")
           << count << " factors of f32, got " << factor;
  LayoutAttr whole = LayoutAttr::of(tile), own = LayoutAttr::of(factor);
  if (!whole && !own)
    return success();
  auto slice = whole ? whole.getDistributed().slice(static_cast<int>(getAxis()))
                     : std::nullopt;
  if (!slice || !own || own.getDistributed() != *slice) // scale_c3
    return emitOpError("expected factors in the layout of the tile without its "
                       "dimension ")
           << static_cast<int64_t>(getAxis());
  return success();
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

LogicalResult PackColumnsOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  auto layout = packedColumns(LayoutAttr::of(source).getDistributed(),
                              static_cast<int>(getPack()));
  if (!layout) // pack_columns_c1
    return emitOpError("expected a pack of 1 or 2 and whole groups of columns "
                       "in a block of the layout, got ")
           << getPack() << " and " << source;
  auto expected =
      RankedTensorType::get(source.getShape(), source.getElementType(),
                            LayoutAttr::get(getContext(), *layout));
  if (result != expected) // pack_columns_c2
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
