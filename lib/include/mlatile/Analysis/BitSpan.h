// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear algebra over GF(2) on words of bits: see LinearLayout.h.
#ifndef MLATILE_ANALYSIS_BITSPAN_H
#define MLATILE_ANALYSIS_BITSPAN_H

#include <cstdint>
#include <optional>
#include <vector>

namespace mlatile {

/// The span of vectors of up to 64 bits over GF(2), with the combination that
/// makes each member. Vectors that depend on earlier ones are never used in a
/// combination: they are the free variables, and they stay zero.
class BitSpan {
public:
  /// Adds the next vector (numbered 0, 1, ... up to 63). True if it was
  /// independent of those before it.
  bool insert(uint64_t vector);
  /// The set of inserted vectors (as a mask of their numbers) whose XOR is
  /// `target`, or nothing if it lies outside the span.
  std::optional<uint64_t> solve(uint64_t target) const;
  bool contains(uint64_t target) const { return solve(target).has_value(); }
  int rank() const { return static_cast<int>(rows.size()); }

private:
  struct Row {
    uint64_t vector, combination;
  };
  std::vector<Row> rows; // leading bits distinct, largest first
  int count = 0;
};

} // namespace mlatile
#endif
