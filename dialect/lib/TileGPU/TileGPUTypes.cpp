// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlatile::tilegpu;

#define GET_TYPEDEF_CLASSES
#include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.cpp.inc"

void TileGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.cpp.inc"
      >();
}

/// Bound of every dimension and stride: far above any shared memory, so that
/// sizes in bytes cannot overflow.
static constexpr int64_t kMaxExtent = int64_t(1) << 20;
static constexpr int64_t kMaxCount = 64;

static bool isElementType(Type type) {
  if (!type || !type.isIntOrFloat())
    return false;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ||
         (bits == 4 && isa<FloatType>(type));
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 int64_t strideBytes) {
  if (shape.empty() || shape.size() > 3) // buffer_c1
    return emitError() << "expected one to three dimensions, got "
                       << shape.size();
  for (int64_t size : shape)
    if (size < 1 || size > kMaxExtent) // buffer_c1
      return emitError() << "expected dimensions between 1 and " << kMaxExtent
                         << ", got " << size;
  if (shape.size() == 3 && shape[0] * shape[1] > kMaxExtent) // buffer_c1
    return emitError() << "expected at most " << kMaxExtent << " rows, got "
                       << shape[0] << " x " << shape[1];
  if (!isElementType(elementType)) // buffer_c2
    return emitError() << "expected an integer or float of 8, 16, 32 or 64 "
                          "bits, or a float of 4 bits, as element, got "
                       << elementType;
  int64_t bits = elementType.getIntOrFloatBitWidth();
  if (bits == 4 && shape.back() % 2) // buffer_c2
    return emitError() << "expected an even number of columns of 4 bits, got "
                       << shape.back();
  int64_t element = std::max<int64_t>(bits / 8, 1);
  int64_t row = shape.back() * bits / 8;
  if (shape.size() == 1 && strideBytes != row) // buffer_c3
    return emitError() << "expected no stride for a buffer of one dimension";
  if (strideBytes < row || strideBytes > std::max(row, kMaxExtent) ||
      strideBytes % element != 0) // buffer_c3
    return emitError() << "expected a stride of at least the row's " << row
                       << " bytes, at most " << kMaxExtent
                       << " and a multiple of " << element << ", got "
                       << strideBytes;
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return {};
  std::optional<int64_t> stride;
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("stride") || parser.parseEqual() ||
        parser.parseInteger(stride.emplace()))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (!stride && !shape.empty() && isElementType(elementType)) {
    if (shape.back() < 1 || shape.back() > kMaxExtent) {
      parser.emitError(loc, "expected dimensions between 1 and ")
          << kMaxExtent << ", got " << shape.back();
      return {};
    }
    stride = shape.back() * elementType.getIntOrFloatBitWidth() / 8;
  }
  return parser.getChecked<BufferType>(loc, parser.getContext(), shape,
                                       elementType, stride.value_or(0));
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType();
  if (getStrideBytes() != getRowBytes())
    printer << ", stride = " << getStrideBytes();
  printer << '>';
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t stages, BufferType buffer) {
  if (stages < 1 || stages > kMaxCount) // ring_c1
    return emitError() << "expected between 1 and " << kMaxCount
                       << " stages, got " << stages;
  return success();
}

LogicalResult
MBarriersType::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t count) {
  if (count < 1 || count > kMaxCount) // mbarriers_c1
    return emitError() << "expected between 1 and " << kMaxCount
                       << " mbarriers, got " << count;
  return success();
}
