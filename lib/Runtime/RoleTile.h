// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the roles of a CTA do for one tile of candidates (docs/Roles.md), by
// formulas: docs/CostModel.md, "Roles".
#ifndef MLATILE_LIB_RUNTIME_ROLETILE_H
#define MLATILE_LIB_RUNTIME_ROLETILE_H

#include "CandidateTile.h"
#include "mlatile/Target/RoleSplit.h"

namespace mlatile {

class RoleTile {
public:
  RoleTile(const CacheFormat &format, const TileShape &shape,
           const RoleSplit &split);

  LoopWork work() const;

  /// PTX outside of the loops: the query comes in, the output goes out.
  double codeOutside() const;

  /// Shared memory of rows as they are gathered, all stages.
  int64_t gatheredBytes() const;
  /// Of rows that were converted for the other roles.
  int64_t convertedBytes() const;
  /// Of what else crosses, and of the query.
  int64_t recordBytes() const;
  /// Whether the other list's rows pass through the same places as these.
  bool sharesPlaces(const CacheFormat &other) const;

private:
  RoleWork gather() const;
  RoleWork first() const;
  RoleWork second() const;
  Share firstShare() const;
  Share secondShare(int64_t columns, int64_t unit) const;
  double groupsOfAWarp() const;
  double heldColumns() const;

  const CacheFormat &format;
  TileShape shape;
  RoleSplit split;
  double bits, bn, groups;
  Share scores, values, ropeValues;
};

} // namespace mlatile
#endif
