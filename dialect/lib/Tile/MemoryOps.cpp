// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of what touches global memory. Numbers are those of the ODS text.
#include "mlatile/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

/// load_c1 to load_c3, which are store_c1 to store_c3.
static LogicalResult verifyAccess(Operation *op, ViewType view,
                                  size_t numIndices, Type tile) {
  if (static_cast<int64_t>(numIndices) != view.getRank()) // load_c1, store_c1
    return op->emitOpError() << "expected one index a dimension of the view, "
                             << view.getRank() << ", got " << numIndices;
  auto tensor = dyn_cast<RankedTensorType>(tile);
  if (tensor && tensor.getRank() > view.getRank()) // load_c2, store_c2
    return op->emitOpError()
           << "expected a tile of at most the view's rank, " << view.getRank()
           << ", got rank " << tensor.getRank();
  if (elementOf(tile) != view.getElementType()) // load_c3, store_c3
    return op->emitOpError()
           << "expected a tile of the view's element type, "
           << view.getElementType() << ", got " << elementOf(tile);
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyAccess(*this, getView().getType(), getIndices().size(),
                          getResult().getType())))
    return failure();
  Type element = getView().getType().getElementType();
  if (getPad() && getPad().getType() != element) // load_c4
    return emitOpError()
           << "expected an 'else' value of the view's element type, " << element
           << ", got " << getPad().getType();
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getView().getType(), getIndices().size(),
                      getValue().getType());
}

LogicalResult GatherOp::verify() {
  RankedTensorType ids = getIds().getType(), ok = getOk().getType();
  PoolType pool = getPool().getType();
  RowsType rows = getRows().getType();
  if (ids.getRank() != 1 ||
      !ids.getElementType().isSignlessInteger(32)) // gather_c1
    return emitOpError() << "expected the ids to be a tile of rank 1 and "
                            "element type i32, got "
                         << ids;
  if (rows.getFormat() != pool.getFormat() ||
      rows.getBound() != pool.getBound()) // gather_c2
    return emitOpError() << "expected rows of the pool's format, " << pool
                         << ", got " << rows;
  Attribute count = dimsOf(ids).front();
  if (!sameDim(count, rows.getDim())) // gather_c3
    return emitOpError() << "expected as many rows as ids, " << dimName(count)
                         << ", got " << dimName(rows.getDim());
  if (ok.getRank() != 1 || !ok.getElementType().isSignlessInteger(1) ||
      !sameDim(count, dimsOf(ok).front())) // gather_c4
    return emitOpError()
           << "expected 'ok' to be a tile of i1 with as many elements as ids, "
           << dimName(count) << ", got " << ok;
  return success();
}

StringRef DequantOp::getSizeField() {
  switch (getField()) {
  case RowField::Nope:
  case RowField::Payload:
    return "nope";
  case RowField::Rope:
    return "rope";
  case RowField::Scale:
    return "groups";
  }
  return {};
}

/// dequant_c5: the element types that a field may be read as.
static bool isElementOf(RowField field, Type element) {
  switch (field) {
  case RowField::Payload:
    if (isa<Float8E4M3FNType>(element))
      return true;
    [[fallthrough]];
  case RowField::Nope:
    return element.isBF16() || element.isF16() || element.isF32();
  case RowField::Rope:
    return element.isBF16() || element.isF32();
  case RowField::Scale:
    return element.isF32() || isa<Float8E8M0FNUType>(element);
  }
  return false;
}

static StringRef elementsOf(RowField field) {
  switch (field) {
  case RowField::Nope:
    return "bf16, f16 or f32";
  case RowField::Payload:
    return "bf16, f16, f32 or f8E4M3FN";
  case RowField::Rope:
    return "bf16 or f32";
  case RowField::Scale:
    return "f32 or f8E8M0FNU";
  }
  return {};
}

LogicalResult DequantOp::verify() {
  RankedTensorType result = getResult().getType();
  RowsType rows = getRows().getType();
  if (result.getRank() != 2) // dequant_c1
    return emitOpError() << "expected a result of rank 2, got " << result;
  SmallVector<Attribute> dims = dimsOf(result);
  if (!sameDim(dims[0], rows.getDim())) // dequant_c2
    return emitOpError()
           << "expected the first dimension to be that of the rows, "
           << dimName(rows.getDim()) << ", got " << dimName(dims[0]);
  StringRef field = stringifyRowField(getField());
  if (const CacheFormat *format = rows.getCacheFormat()) {
    int64_t size = formatField(*format, getSizeField())->value;
    if (size == 0) // dequant_c4
      return emitOpError() << "format \"" << rows.getFormat().getValue()
                           << "\" has no " << field << " part";
    Attribute expected = Builder(getContext()).getI64IntegerAttr(size);
    if (!sameDim(dims[1], expected)) // dequant_c3, bound
      return emitOpError() << "expected the second dimension to be the "
                           << field << " size of \""
                           << rows.getFormat().getValue() << "\", " << size
                           << ", got " << dimName(dims[1]);
  }
  // dequant_c3 of a format that is still a parameter: see KernelOp.
  Type element = result.getElementType();
  if (!isElementOf(getField(), element)) // dequant_c5
    return emitOpError() << "expected element type " << elementsOf(getField())
                         << " for " << field << ", got " << element;
  if (const CacheFormat *format = rows.getCacheFormat())
    if ((isa<Float8E4M3FNType>(element) &&
         format->payload != PayloadType::E4M3) ||
        (isa<Float8E8M0FNUType>(element) &&
         format->scale != ScaleType::UE8M0)) // dequant_c6
      return emitOpError() << "format \"" << rows.getFormat().getValue()
                           << "\" does not store its " << field << " as "
                           << element;
  return getFactors() ? verifyFactors() : success();
}

LogicalResult DequantOp::verifyFactors() {
  Type element = getResult().getType().getElementType();
  RowsType rows = getRows().getType();
  RankedTensorType factors = getFactors().getType();
  if (getField() != RowField::Payload ||
      !(element.isF16() || element.isBF16()) ||
      factors.getElementType() != element) // dequant_c7
    return emitOpError() << "expected factors of a payload in bf16 or f16, in "
                            "the same element type, got "
                         << factors << " for " << stringifyRowField(getField())
                         << " as " << element;
  SmallVector<Attribute> dims = dimsOf(factors);
  const CacheFormat *format = rows.getCacheFormat();
  bool fits = factors.getRank() == 2 && sameDim(dims[0], rows.getDim());
  if (fits && format)
    fits = sameDim(dims[1],
                   Builder(getContext()).getI64IntegerAttr(format->groups()));
  if (!fits) // dequant_c8
    return emitOpError() << "expected factors of the rows, "
                         << dimName(rows.getDim()) << ", and of their "
                         << (format ? std::to_string(format->groups()) + " "
                                    : "")
                         << "groups, got " << factors;
  return success();
}
