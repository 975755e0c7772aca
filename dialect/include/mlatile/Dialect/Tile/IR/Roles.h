// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a parameter of kind `roles` (docs/Roles.md).
#ifndef MLATILE_DIALECT_TILE_IR_ROLES_H
#define MLATILE_DIALECT_TILE_IR_ROLES_H

#include "mlatile/Target/RoleSplit.h"
#include "llvm/ADT/StringRef.h"

namespace mlatile::tile {

/// All warps are equal.
inline constexpr llvm::StringLiteral kNoRoles = "none";
/// Whether a parameter of kind `roles` may have this value.
inline bool isRolesValue(llvm::StringRef text) {
  return text == kNoRoles || parseRoleSplit(text);
}

/// What a parameter can be derived of roles (`ROLES.converts`): whether the
/// warps that gather convert rows for the others; an `i1`.
inline constexpr llvm::StringLiteral kConvertsField = "converts";

} // namespace mlatile::tile
#endif
