// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which slots the rows of many calls select.
#ifndef MLATILE_TOOLS_BENCH_CANDIDATES_H
#define MLATILE_TOOLS_BENCH_CANDIDATES_H

#include <cstdint>
#include <vector>

namespace mlatile::bench {

/// The slots of a pool in random order, each once; when they are used up, all
/// over again in another order.
class RandomSlots {
public:
  RandomSlots(int64_t slots, uint64_t seed);

  /// So many slots, all different. ArgumentError where the pool has fewer.
  void take(int64_t count, int32_t *to);

private:
  void beginRound();
  uint64_t permuted(uint64_t number) const;

  int64_t slots, next = 0;
  unsigned halfBits = 1;
  uint64_t state;
  uint64_t keys[4] = {};
};

/// Entries [rows, width] of one list: distinct slots in a row, and as long as
/// the pool has enough, in all that `source` gave; a part of them is skipped.
std::vector<int32_t> makeEntries(RandomSlots &source, int64_t rows,
                                 int64_t width, double skip, uint64_t seed);

} // namespace mlatile::bench
#endif
