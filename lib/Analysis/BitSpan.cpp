// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/BitSpan.h"

#include <algorithm>
#include <bit>

namespace mlatile {

bool BitSpan::insert(uint64_t vector) {
  uint64_t combination = uint64_t(1) << (count & 63);
  ++count;
  for (const Row &row : rows)
    if (vector & std::bit_floor(row.vector)) {
      vector ^= row.vector;
      combination ^= row.combination;
    }
  if (!vector)
    return false;
  auto at = std::find_if(rows.begin(), rows.end(),
                         [&](const Row &row) { return row.vector < vector; });
  rows.insert(at, {vector, combination});
  return true;
}

std::optional<uint64_t> BitSpan::solve(uint64_t target) const {
  uint64_t combination = 0;
  for (const Row &row : rows)
    if (target & std::bit_floor(row.vector)) {
      target ^= row.vector;
      combination ^= row.combination;
    }
  if (target)
    return std::nullopt;
  return combination;
}

} // namespace mlatile
