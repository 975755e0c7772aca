// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a parameter of kind `roles` (docs/Roles.md).
#ifndef MLATILE_DIALECT_TILE_IR_ROLES_H
#define MLATILE_DIALECT_TILE_IR_ROLES_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>

namespace mlatile::tile {

/// Warps that gather, of the first products, of the second ones.
struct RoleSplit {
  static constexpr int kRoles = 3;
  std::array<int64_t, kRoles> warps;
  /// Registers a thread; 0 where the compiler chooses.
  std::array<int64_t, kRoles> registers;
  /// The warps that gather also read the rows: convert them once for the
  /// others.
  bool converts = false;
  /// Stages of gathered rows, and of records between roles; 0 where the kernel
  /// and the compiler choose.
  int64_t rowStages = 0, recordStages = 0;

  int64_t totalWarps() const { return warps[0] + warps[1] + warps[2]; }
};

/// All warps are equal.
inline constexpr llvm::StringLiteral kNoRoles = "none";
/// `4+4+8`, `4c+4+8`, `4:40+4:152+8:160`, each also with stages behind it, `@3`
/// or `@3:2`; nothing if the text is none of that. Which numbers of warps and
/// registers are legal is a matter of `tilegpu.roles`.
std::optional<RoleSplit> parseRoleSplit(llvm::StringRef text);
/// Whether a parameter of kind `roles` may have this value.
inline bool isRolesValue(llvm::StringRef text) {
  return text == kNoRoles || parseRoleSplit(text);
}

/// What a parameter can be derived of roles (`ROLES.converts`): whether the warps
/// that gather convert rows for the others; an `i1`.
inline constexpr llvm::StringLiteral kConvertsField = "converts";

} // namespace mlatile::tile
#endif
