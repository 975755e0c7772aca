// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates of a block as words of bits, for BitSpan.
#ifndef MLATILE_ANALYSIS_BLOCKBITS_H
#define MLATILE_ANALYSIS_BLOCKBITS_H

#include "PowerOfTwo.h"
#include "mlatile/Analysis/BitSpan.h"
#include "mlatile/Analysis/DistributedLayout.h"

namespace mlatile {

/// Coordinates inside a block, as one word of bits.
inline uint64_t pack(const DistributedLayout::Coords &coords,
                     const DistributedLayout::Coords &sizes) {
  uint64_t flat = 0;
  int shift = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    flat |= static_cast<uint64_t>(coords[d]) << shift;
    shift += log2Exact(sizes[d]);
  }
  return flat;
}

/// What the bases span, in words of bits.
inline BitSpan spanOf(const DistributedLayout::Bases &bases,
                      const DistributedLayout::Coords &sizes) {
  BitSpan span;
  for (const DistributedLayout::Coords &basis : bases)
    span.insert(pack(basis, sizes));
  return span;
}

} // namespace mlatile
#endif
