// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile in shared memory: rows of elements with a stride in bytes (padding),
// and optionally 16-byte chunks whose place is XORed with the row number.
//
// Shared memory has 32 banks of 4 bytes; an access of a warp takes one
// *wavefront* for each distinct word that falls into the fullest bank. Threads
// of 16-byte accesses are served eight at a time, of 8-byte accesses sixteen,
// of smaller ones all at once; a phase of `ldmatrix` is eight rows of 16 bytes.
// Eight rows meet every bank once if the stride is an odd number of 16-byte
// chunks, or if the chunk number is XORed with three bits of the row.
//
// Padding keeps addresses affine (one add a row, an immediate a register) and
// lets a bulk copy write a row as it is; it costs 16 bytes a row. A swizzle
// costs no bytes, but an address needs an XOR and a row must be copied chunk by
// chunk.
#ifndef MLATILE_ANALYSIS_SHAREDLAYOUT_H
#define MLATILE_ANALYSIS_SHAREDLAYOUT_H

#include "mlatile/Analysis/DistributedLayout.h"

namespace mlatile {

/// Bytes of a chunk: the row of an `ldmatrix`, the widest access of a thread.
inline constexpr int kSharedChunk = 16;

/// Chunk c of row r stands in place c ^ ((r >> rowShift) & mask). `mask` is one
/// less than a power of two; 0 means no swizzle.
struct Swizzle {
  int rowShift = 0;
  int mask = 0;
  bool operator==(const Swizzle &) const = default;
};

/// See the head of this file. A 1-D buffer is one row.
class SharedLayout {
public:
  using Result = std::optional<SharedLayout>;

  /// `rowStride` in bytes, 0 = rows are tight. Errors: sizes below 1, an
  /// element size other than 1, 2, 4, 8, 16, a stride below the row or not a
  /// multiple of the element, a swizzle that leaves the row (the stride must be
  /// whole groups of mask + 1 chunks).
  static Result create(int64_t rows, int64_t cols, int elementBytes,
                       int64_t rowStride = 0, Swizzle swizzle = {},
                       std::string *error = nullptr);
  /// Rows padded to conflictFreeStride.
  static Result padded(int64_t rows, int64_t cols, int elementBytes,
                       std::string *error = nullptr);
  /// Tight rows with the swizzle that frees `ldmatrix` phases of conflicts. The
  /// row must be 16, 32 or 64 bytes or a multiple of 128.
  static Result swizzled(int64_t rows, int64_t cols, int elementBytes,
                         std::string *error = nullptr);

  int64_t rows() const { return numRows; }
  int64_t cols() const { return numCols; }
  int elementBytes() const { return element; }
  int64_t rowBytes() const { return numCols * element; }
  int64_t rowStride() const { return stride; }
  Swizzle swizzle() const { return xorSwizzle; }
  /// Bytes from the first to past the last element. With a swizzle, whole rows.
  int64_t sizeBytes() const;

  /// Byte offset of an element. Any row and column are computed, in range or
  /// not.
  int64_t offset(int64_t row, int64_t col) const;

  /// Largest power of two, at most 16, that divides every row start.
  int rowAlignment() const;
  /// May `ldmatrix` read at (any row, `col`)? Each row address must be a
  /// multiple of 16.
  bool ldmatrixAligned(int64_t col = 0) const;
  /// Bytes of the widest access (a power of two, at most 16) by which threads
  /// of `layout` (rank 2: dims are rows and columns; rank 1: columns of row 0)
  /// can move consecutive registers. At least elementBytes(), 0 if the shapes
  /// do not fit.
  int vectorBytes(const DistributedLayout &layout) const;

  /// Wavefronts above the one that every phase needs, for the eight rows
  /// row, row + 1, ... at `col`.
  int ldmatrixConflicts(int64_t row, int64_t col) const;
  /// The worst over all whole phases of the buffer; 0 = conflict-free.
  int worstLdmatrixConflicts() const;
  /// Extra wavefronts, summed over the accesses of one warp that moves all its
  /// registers by vectors of `bytes` (0 = vectorBytes(layout)). Lanes that only
  /// hold copies take part, as in a load. -1 if the shapes or bytes do not fit.
  int64_t accessConflicts(const DistributedLayout &layout, int warp = 0,
                          int bytes = 0) const;

  bool operator==(const SharedLayout &other) const = default;
  size_t hash() const;
  /// "rows = 64, cols = 576, bytes = 2, stride = 1168, swizzle = none".
  std::string str() const;

private:
  SharedLayout() = default;
  bool fits(const DistributedLayout &layout) const;

  int64_t numRows = 0, numCols = 0, stride = 0;
  int element = 1;
  Swizzle xorSwizzle;
};

/// The smallest stride >= `rowBytes` that is an odd multiple of 16 bytes: eight
/// rows then meet all banks once.
int64_t conflictFreeStride(int64_t rowBytes);

/// The same for rows that are read in segments of 64 bytes, two rows at once:
/// an odd multiple of 64.
int64_t segmentStride(int64_t rowBytes);

/// Wavefronts that the hardware needs for one phase: `offsets` are the byte
/// offsets of its threads, each moving `bytes` (a multiple of 4, or less than
/// 4). Equal words are read once.
int sharedWavefronts(std::span<const int64_t> offsets, int bytes);

} // namespace mlatile
#endif
