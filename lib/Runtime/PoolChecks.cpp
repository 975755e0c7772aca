// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paged pools: [pages, page_bytes], [pages, page_size, record], and the 4-D
// views NHD [pages, page_size, 1, record] and HND [pages, 1, page_size,
// record]. Page size and format are given, so a singleton axis is never
// guessed.
#include "TensorChecks.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"

namespace mlatile {
namespace {

/// The axis of a 3-D or 4-D view that counts the tokens of a page.
size_t tokenAxis(const std::string &argument, const Tensor &tensor,
                 int64_t pageSize) {
  if (tensor.rank() == 3 && tensor.shape[1] == pageSize)
    return 1;
  if (tensor.rank() == 4) {
    if (tensor.shape[1] == pageSize && tensor.shape[2] == 1)
      return 1;
    if (tensor.shape[1] == 1 && tensor.shape[2] == pageSize)
      return 2;
  }
  std::string p = std::to_string(pageSize);
  throw ArgumentError(argument, "expected [pages, page_bytes], [pages, " + p +
                                    ", record], [pages, " + p +
                                    ", 1, record] or [pages, 1, " + p +
                                    ", record] for page size " + p + ", got " +
                                    shapeText(tensor.shape));
}

void checkRecord(const std::string &argument, const Tensor &tensor,
                 const CacheFormat &format) {
  int64_t record = tensor.shape.back();
  bool footer = format.place == ScalePlace::Footer;
  bool fits =
      footer ? record == format.tokenBytes() : record >= format.usedRow();
  if (!fits)
    throw ArgumentError(
        argument,
        std::string("expected records of ") + (footer ? "" : "at least ") +
            std::to_string(footer ? format.tokenBytes() : format.usedRow()) +
            " bytes for `" + std::string(format.name) + "`, got " +
            std::to_string(record) + " (shape " + shapeText(tensor.shape) +
            ")");
}
} // namespace

Pool checkPool(const std::string &argument, const std::string &prefix,
               const Tensor &tensor, const CacheFormat &format,
               int64_t pageSize, std::optional<int64_t> pageStride,
               std::optional<int64_t> rowStride) {
  const char *name = argument.c_str();
  std::string strideName = prefix + "page_stride";
  std::string formatName = "`" + std::string(format.name) + "`";
  bool footer = format.place == ScalePlace::Footer;
  if (tensor.type != DType::U8 && tensor.type != DType::F8)
    throw ArgumentError(argument, "expected uint8 (or an 8-bit float), got " +
                                      std::string(mlatile::name(tensor.type)));
  if (tensor.rank() < 2 || tensor.rank() > 4)
    throw ArgumentError(argument,
                        "expected [pages, page_bytes] or a 3-D or 4-D view of "
                        "pages, got " +
                            shapeText(tensor.shape));
  checkLastContiguous(name, tensor);

  Pool pool;
  pool.data = tensor.data;
  pool.pageSize = pageSize;
  pool.rowStride = rowStride.value_or(format.dataRow);
  if (tensor.rank() > 2) {
    size_t axis = tokenAxis(argument, tensor, pageSize);
    checkRecord(argument, tensor, format);
    int64_t stride = tensor.strides[axis];
    bool strided = pageSize > 1 && !isEmpty(tensor);
    if (footer && strided && stride != format.tokenBytes())
      throw ArgumentError(
          argument,
          "expected a token stride of " + std::to_string(format.tokenBytes()) +
              " bytes for " + formatName +
              " (a footer page is one block of bytes; its token axis "
              "is nominal), got " +
              std::to_string(stride) +
              (stride < format.tokenBytes() ? ": tokens overlap" : ""));
    if (!footer && strided) {
      if (rowStride && *rowStride != stride)
        throw ArgumentError("row_stride", "expected " + std::to_string(stride) +
                                              ", the token stride of `" +
                                              argument + "`, or none, got " +
                                              std::to_string(*rowStride));
      if (stride < format.usedRow())
        throw ArgumentError(argument, "expected a token stride of at least " +
                                          std::to_string(format.usedRow()) +
                                          " bytes for " + formatName +
                                          ", got " + std::to_string(stride) +
                                          ": tokens overlap");
      checkMultipleOf16(name, "a token stride", stride);
      pool.rowStride = stride;
    }
  }

  int64_t pages = tensor.shape[0];
  int64_t bytes = pageBytes(format, pageSize, pool.rowStride);
  std::string content = std::to_string(pageSize) + " tokens of " + formatName;
  if (tensor.rank() == 2 && tensor.shape[1] < bytes)
    throw ArgumentError(argument, "expected at least " + std::to_string(bytes) +
                                      " bytes a page (" + content + "), got " +
                                      std::to_string(tensor.shape[1]));

  // A single page has no next one; then the array says nothing about strides.
  if (pages > 1) {
    if (pageStride && *pageStride != tensor.strides[0])
      throw ArgumentError(strideName,
                          "expected " + std::to_string(tensor.strides[0]) +
                              ", the stride of dimension 0 of `" + argument +
                              "`, or none, got " + std::to_string(*pageStride));
    pool.pageStride = tensor.strides[0];
    checkMultipleOf16(name, "a page stride", pool.pageStride);
    if (pool.pageStride < bytes)
      throw ArgumentError(argument, "expected a page stride of at least " +
                                        std::to_string(bytes) + " bytes (" +
                                        content + "), got " +
                                        std::to_string(pool.pageStride) +
                                        ": pages overlap");
  } else {
    pool.pageStride = pageStride.value_or(roundUp(bytes, 16));
    checkMultipleOf16(strideName.c_str(), "a page stride", pool.pageStride);
  }
  checkAligned(name, tensor, 16);
  if (pages > kMaxCount)
    throw ArgumentError(argument, "expected at most " +
                                      std::to_string(kMaxCount) +
                                      " pages, got " + std::to_string(pages));
  pool.slots = pages * pageSize;
  return pool;
}

} // namespace mlatile
