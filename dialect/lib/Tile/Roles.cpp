// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace mlatile::tile {

std::optional<RoleSplit> parseRoleSplit(StringRef text) {
  SmallVector<StringRef, RoleSplit::kRoles> parts;
  text.split(parts, '+');
  if (parts.size() != RoleSplit::kRoles)
    return std::nullopt;
  // Bounds that keep sums small; no leading sign or zero.
  auto number = [](StringRef word, int64_t &value) {
    return !word.empty() && word.front() != '-' &&
           !word.getAsInteger(10, value) && value >= 1 && value <= 1024;
  };
  RoleSplit split{};
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto [warps, registers] = part.split(':');
    if (i == 0)
      split.converts = warps.consume_back("c");
    if (!number(warps, split.warps[i]))
      return std::nullopt;
    if (part.contains(':') && !number(registers, split.registers[i]))
      return std::nullopt;
  }
  return split;
}

} // namespace mlatile::tile
