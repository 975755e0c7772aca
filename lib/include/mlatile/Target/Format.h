// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache formats: one entry of one table per format, read by the compiler,
// the kernels (as parameters derived from FMT), the host library and Python.
#ifndef MLATILE_TARGET_FORMAT_H
#define MLATILE_TARGET_FORMAT_H

#include <cstdint>
#include <span>
#include <string_view>

namespace mlatile {

/// Element type of the quantised payload.
enum class PayloadType { E4M3, E2M1 };
/// Type of a group scale as it stands in the pool.
enum class ScaleType { F32, UE8M0, E4M3 };
/// Where the scales of a token stand.
enum class ScalePlace {
  Inline, ///< in the token's own record, behind the payload
  Footer  ///< behind the data rows of the page
};

/// One paged cache format. All sizes are bytes unless the name says elements.
struct CacheFormat {
  std::string_view name;
  int nope;  ///< quantised elements of a token
  int rope;  ///< bf16 elements of a token, 0 if none
  int group; ///< elements that share one scale
  PayloadType payload;
  ScaleType scale;
  ScalePlace place;
  bool ropeInValue;   ///< the value is nope followed by rope, not nope alone
  int dataRow;        ///< default stride from one data row to the next
  int scaleRow;       ///< stride of scale rows in the footer; 0 if inline
  int ropeOffset;     ///< of the rope part in a data row
  int scaleOffset;    ///< of the scales in a data row (inline) or scale row
  bool extraPoolOnly; ///< may stand only in the second cache

  constexpr int groups() const { return nope / group; }
  constexpr int payloadBytes() const {
    return payload == PayloadType::E2M1 ? nope / 2 : nope;
  }
  constexpr int scaleBytes() const {
    return groups() * (scale == ScaleType::F32 ? 4 : 1);
  }
  constexpr int dimQK() const { return nope + rope; }
  constexpr int dimV() const { return ropeInValue ? nope + rope : nope; }
  /// Bytes of a data row that a kernel reads.
  constexpr int usedRow() const {
    int end = rope ? ropeOffset + 2 * rope : payloadBytes();
    int scales = place == ScalePlace::Inline ? scaleOffset + scaleBytes() : 0;
    return end > scales ? end : scales;
  }
  /// Bytes a token takes in a tight page.
  constexpr int tokenBytes() const { return dataRow + scaleRow; }
};

/// All formats, in the order of the documentation.
std::span<const CacheFormat> cacheFormats();
/// The format of that name, or null.
const CacheFormat *findCacheFormat(std::string_view name);

} // namespace mlatile
#endif
