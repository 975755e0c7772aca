// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of a parameter of kind `roles` (docs/Roles.md): the compiler splits
// warps by it, the planner counts by it.
#ifndef MLATILE_TARGET_ROLESPLIT_H
#define MLATILE_TARGET_ROLESPLIT_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mlatile {

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
  /// and the compiler (kRecordStages) choose.
  int64_t rowStages = 0, recordStages = 0;

  int64_t totalWarps() const { return warps[0] + warps[1] + warps[2]; }
};

/// `4+4+8`, `4c+4+8`, `4:40+4:152+8:160`, each also with stages behind it, `@3`
/// or `@3:2`; nothing if the text is none of that. Which numbers of warps and
/// registers are legal is a matter of `tilegpu.roles`.
std::optional<RoleSplit> parseRoleSplit(std::string_view text);

/// Places of a channel for values of first products: the next record is
/// computed while the last one is read.
inline constexpr int64_t kRecordStages = 2;

/// Registers a thread of each role, in steps of 8: those that are given, and
/// what the launch has left for the others.
std::array<int64_t, RoleSplit::kRoles> divideRegisters(const RoleSplit &split);

} // namespace mlatile
#endif
