// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A random problem: query, paged pool, candidates.
#ifndef MLATILE_TOOLS_RUN_INPUTS_H
#define MLATILE_TOOLS_RUN_INPUTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlatile::run {

/// Bytes of one token, from the description of the formats.
struct Layout {
  const char *name;
  int nope, rope, group;
  bool e2m1; ///< payload; else e4m3
  enum { UE8M0, F32, PowerOfTwo, E4M3 } scale;
  int dataRow, scaleRow; ///< scaleRow 0: scales stand in the data row
  int ropeAt, scaleAt;
  bool ropeInValue;

  int dimQK() const { return nope + rope; }
  int dimV() const { return nope + (ropeInValue ? rope : 0); }
  int groups() const { return nope / group; }
};
/// The layout of a format; ArgumentError for a name that is none.
const Layout &layoutNamed(const std::string &name);

struct InputOptions {
  std::string format = "dsv4";
  int64_t tokens = 1, heads = 16, width = 512, pageSize = 64;
  uint64_t seed = 0;
  double skip = 0.1; ///< fraction of entries that are skipped
  bool lengths = false;
  bool sink = false;
  int64_t pages = 0; ///< 0: enough for the width
};

struct Inputs {
  const Layout *layout = nullptr;
  int64_t tokens = 0, heads = 0, width = 0, pageSize = 0;
  int64_t pages = 0, pageStride = 0;
  float smScale = 0;
  std::vector<uint16_t> q; ///< bf16 [T, H, d_qk]
  std::vector<uint8_t> pool;
  std::vector<int32_t> indices; ///< [T, W]
  std::vector<int32_t> lengths; ///< [T] or empty
  std::vector<float> sink;      ///< [H] or empty

  int64_t slots() const { return pages * pageSize; }
  /// Candidates of a row that count: clamp(length, 0, width).
  int64_t length(int64_t row) const;
  /// Data row and scale bytes of a slot.
  const uint8_t *data(int64_t slot) const;
  const uint8_t *scales(int64_t slot) const;
};

/// Every slot that no row selects holds NaN bytes; so do the entries' skipped
/// targets. The same options give the same bytes everywhere.
Inputs makeInputs(const InputOptions &options);

} // namespace mlatile::run
#endif
