// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/SharedLayout.h"

#include "Fail.h"
#include "PowerOfTwo.h"

#include <algorithm>
#include <array>

namespace mlatile {
namespace {
constexpr int kBanks = 32;
constexpr int kBankBytes = 4;
constexpr int kMatrixRows = 8; // of an ldmatrix phase
constexpr int kLanes = 32;
// Keeps every offset far from 2^63.
constexpr int64_t kMaxSide = int64_t(1) << 24;
} // namespace

SharedLayout::Result SharedLayout::create(int64_t rows, int64_t cols,
                                          int elementBytes, int64_t rowStride,
                                          Swizzle swizzle, std::string *error) {
  if (!isPowerOfTwo(elementBytes) || elementBytes > kSharedChunk)
    return fail(error, "element bytes: expected 1, 2, 4, 8 or 16, got " +
                           std::to_string(elementBytes));
  if (rows < 1 || cols < 1 || rows > kMaxSide || cols > kMaxSide)
    return fail(error,
                "shared buffer: expected 1 to 2^24 rows and columns, got " +
                    std::to_string(rows) + " x " + std::to_string(cols));
  int64_t rowBytes = cols * elementBytes;
  if (rowStride == 0)
    rowStride = rowBytes;
  if (rowStride < rowBytes || rowStride % elementBytes ||
      rowStride > 2 * kMaxSide * kSharedChunk)
    return fail(error, "row stride: expected a multiple of " +
                           std::to_string(elementBytes) + " of at least " +
                           std::to_string(rowBytes) + ", got " +
                           std::to_string(rowStride));
  int64_t group = int64_t(swizzle.mask) + 1;
  if (swizzle.mask < 0 || !isPowerOfTwo(group) || swizzle.rowShift < 0 ||
      swizzle.rowShift > 31)
    return fail(error, "swizzle: expected a mask one below a power of two and "
                       "a shift of at most 31, got mask " +
                           std::to_string(swizzle.mask) + ", shift " +
                           std::to_string(swizzle.rowShift));
  if (swizzle.mask && rowStride % (group * kSharedChunk))
    return fail(error, "swizzle: expected a row stride that is a multiple of " +
                           std::to_string(group * kSharedChunk) + ", got " +
                           std::to_string(rowStride));
  SharedLayout layout;
  layout.numRows = rows;
  layout.numCols = cols;
  layout.element = elementBytes;
  layout.stride = rowStride;
  layout.xorSwizzle = swizzle.mask ? swizzle : Swizzle{};
  return layout;
}

SharedLayout::Result SharedLayout::padded(int64_t rows, int64_t cols,
                                          int elementBytes,
                                          std::string *error) {
  // An element size or a width that create() refuses must reach it unharmed.
  if (cols < 1 || cols > kMaxSide || elementBytes < 1 ||
      elementBytes > kSharedChunk)
    return create(rows, cols, elementBytes, 0, {}, error);
  return create(rows, cols, elementBytes,
                conflictFreeStride(cols * elementBytes), {}, error);
}

SharedLayout::Result SharedLayout::swizzled(int64_t rows, int64_t cols,
                                            int elementBytes,
                                            std::string *error) {
  Result tight = create(rows, cols, elementBytes, 0, {}, error);
  if (!tight)
    return std::nullopt;
  int64_t bytes = tight->rowBytes();
  // Rows of less than 128 bytes share the banks with their neighbours: only
  // every second (64), fourth (32) row begins at the same bank.
  Swizzle swizzle;
  if (bytes % 128 == 0)
    swizzle = {0, 7};
  else if (bytes == 64)
    swizzle = {1, 3};
  else if (bytes == 32)
    swizzle = {2, 1};
  else if (bytes != kSharedChunk)
    return fail(error, "swizzle: expected rows of 16, 32 or 64 bytes or a "
                       "multiple of 128, got " +
                           std::to_string(bytes));
  return create(rows, cols, elementBytes, 0, swizzle, error);
}

int64_t SharedLayout::sizeBytes() const {
  if (xorSwizzle.mask)
    return numRows * stride;
  return (numRows - 1) * stride + rowBytes();
}

int64_t SharedLayout::offset(int64_t row, int64_t col) const {
  int64_t inRow = col * element;
  inRow ^= ((row >> xorSwizzle.rowShift) & xorSwizzle.mask) * kSharedChunk;
  return row * stride + inRow;
}

int SharedLayout::rowAlignment() const {
  return static_cast<int>(
      std::min<int64_t>(powerOfTwoPart(stride), kSharedChunk));
}

bool SharedLayout::ldmatrixAligned(int64_t col) const {
  return (numRows == 1 || rowAlignment() == kSharedChunk) &&
         col * element % kSharedChunk == 0;
}

bool SharedLayout::fits(const DistributedLayout &layout) const {
  DistributedLayout::Coords shape = layout.shape();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  return !shape.empty() && rows <= numRows && shape.back() <= numCols;
}

int SharedLayout::vectorBytes(const DistributedLayout &layout) const {
  if (!fits(layout))
    return 0;
  int64_t bytes = int64_t(element) * layout.vectorWidth(layout.rank() - 1);
  bytes = std::min<int64_t>(bytes, kSharedChunk);
  DistributedLayout::Coords shape = layout.shape();
  bool oneRow = std::all_of(shape.begin(), shape.end() - 1,
                            [](int64_t size) { return size == 1; });
  if (!oneRow)
    bytes = std::min<int64_t>(bytes, rowAlignment());
  return static_cast<int>(bytes);
}

//===--- bank conflicts ---------------------------------------------------===//

int sharedWavefronts(std::span<const int64_t> offsets, int bytes) {
  std::array<std::vector<int64_t>, kBanks> words;
  for (int64_t offset : offsets)
    for (int64_t word = offset / kBankBytes; word * kBankBytes < offset + bytes;
         ++word) {
      std::vector<int64_t> &bank = words[word & (kBanks - 1)];
      if (std::ranges::find(bank, word) == bank.end())
        bank.push_back(word);
    }
  size_t most = 0;
  for (const std::vector<int64_t> &bank : words)
    most = std::max(most, bank.size());
  return static_cast<int>(most);
}

int SharedLayout::ldmatrixConflicts(int64_t row, int64_t col) const {
  std::array<int64_t, kMatrixRows> offsets;
  for (int i = 0; i < kMatrixRows; ++i)
    offsets[i] = offset(row + i, col);
  return sharedWavefronts(offsets, kSharedChunk) - 1;
}

int SharedLayout::worstLdmatrixConflicts() const {
  int worst = 0;
  int64_t step = kSharedChunk / element;
  for (int64_t row = 0; row + kMatrixRows <= numRows; row += kMatrixRows)
    for (int64_t col = 0; col + step <= numCols; col += step)
      worst = std::max(worst, ldmatrixConflicts(row, col));
  return worst;
}

int64_t SharedLayout::accessConflicts(const DistributedLayout &layout, int warp,
                                      int bytes) const {
  int widest = vectorBytes(layout);
  if (bytes == 0)
    bytes = widest;
  if (!widest || bytes > widest || bytes < element || !isPowerOfTwo(bytes))
    return -1;
  int registers = bytes / element;
  int phase = std::min(kLanes, 128 / bytes);
  int64_t extra = 0;
  std::vector<int64_t> offsets;
  for (int reg = 0, end = layout.numRegs(); reg < end; reg += registers)
    for (int lane = 0; lane < kLanes; ++lane) {
      DistributedLayout::Coords at = layout.coord(reg, lane, warp);
      int64_t row = 0; // of all planes
      for (size_t d = 0; d + 1 < at.size(); ++d)
        row = row * layout.shape()[d] + at[d];
      offsets.push_back(offset(row, at.back()));
      if (static_cast<int>(offsets.size()) == phase) {
        extra += sharedWavefronts(offsets, bytes) - 1;
        offsets.clear();
      }
    }
  return extra;
}

//===--- identity and text ------------------------------------------------===//

int64_t conflictFreeStride(int64_t rowBytes) {
  int64_t chunks =
      (std::max<int64_t>(rowBytes, 1) + kSharedChunk - 1) / kSharedChunk;
  return (chunks | 1) * kSharedChunk;
}

int64_t segmentStride(int64_t rowBytes) {
  constexpr int64_t kSegment = 64;
  int64_t segments = (std::max<int64_t>(rowBytes, 1) + kSegment - 1) / kSegment;
  return (segments | 1) * kSegment;
}

size_t SharedLayout::hash() const {
  size_t seed = 0;
  for (int64_t value :
       {numRows, numCols, stride, int64_t(element),
        int64_t(xorSwizzle.rowShift), int64_t(xorSwizzle.mask)}) {
    seed = (seed ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15ull;
    seed ^= seed >> 29;
  }
  return seed;
}

std::string SharedLayout::str() const {
  std::string text = "rows = " + std::to_string(numRows) +
                     ", cols = " + std::to_string(numCols) +
                     ", bytes = " + std::to_string(element) +
                     ", stride = " + std::to_string(stride) + ", swizzle = ";
  if (!xorSwizzle.mask)
    return text + "none";
  return text + "[" + std::to_string(xorSwizzle.rowShift) + ", " +
         std::to_string(xorSwizzle.mask) + "]";
}

} // namespace mlatile
