// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random problems: caches of every format, written from numbers. The layout of
// the formats is written down here a second time, so that a mistake in the
// library's table cannot hide.
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
  std::string sinkValues = "finite"; ///< "inf", "-inf", "mixed": all three
  int64_t pages = 0;                 ///< 0: enough for the width
  std::optional<int64_t> pageStride, rowStride; ///< bytes
  int64_t indicesStride = 0; ///< elements between rows; 0: the width
  int64_t slice = 0; ///< heads that the arrays of q, out and lse have more
  int64_t batch = 0; ///< rows framed as [batch, tokens / batch]; 0: flat
  int64_t candidateSets = 1; ///< to choose from with useCandidates()

  int64_t extraWidth = 0; ///< 0: no second cache
  std::string extraFormat = "dsv4";
  int64_t extraPageSize = 64;
};

/// One choice of candidates for all rows.
struct CandidateSet {
  std::vector<int32_t> indices; ///< [T, W], rows indicesStride apart
  std::vector<int32_t> lengths; ///< [T] or empty
};

/// One paged cache, and what the rows select of it.
struct Cache {
  const Layout *layout = nullptr;
  int64_t width = 0, pageSize = 0;
  int64_t pages = 0, pageStride = 0, rowStride = 0;
  int64_t indicesStride = 0;
  std::vector<uint8_t> pool;             ///< [pages, pageStride]
  std::vector<int32_t> indices, lengths; ///< of the set in use
  std::vector<CandidateSet> sets;

  int64_t slots() const { return pages * pageSize; }
  /// Candidates of a row that count: clamp(length, 0, width).
  int64_t length(int64_t row) const;
  /// Valid slots among them, in order.
  std::vector<int64_t> candidates(int64_t row) const;
  /// Data row and scale bytes of a slot.
  const uint8_t *data(int64_t slot) const;
  const uint8_t *scales(int64_t slot) const;
  /// Makes another set the one in use.
  void useCandidates(size_t set);
};

/// A problem; its own cache is the first one.
struct Inputs : Cache {
  int64_t tokens = 0, heads = 0, slice = 0;
  float smScale = 0;
  std::vector<uint16_t> q; ///< bf16 [T, H + slice, d_qk]
  std::vector<float> sink; ///< [H] or empty
  std::optional<Cache> extra;

  /// Where the heads of the problem begin among those of the arrays.
  int64_t firstHead() const { return slice / 2; }
  int64_t arrayHeads() const { return heads + slice; }
};

/// Every slot that no row of any set selects holds NaN bytes; so do the
/// entries' skipped targets and the heads that slice adds. The same options
/// give the same bytes everywhere.
Inputs makeInputs(const InputOptions &options);

/// Pages of a cache with numbers in every token; geometry as in `cache`, whose
/// layout, pages, page size and strides count.
std::vector<uint8_t> makePages(const Cache &cache, uint64_t seed);
/// bf16 normal numbers.
std::vector<uint16_t> makeNormal(size_t count, uint64_t seed);

/// Throws Error where the arrays of a problem, with `results` copies of its
/// results, do not fit into the memory of this machine.
void checkSizes(const InputOptions &options, int64_t results);

} // namespace mlatile::run
#endif
