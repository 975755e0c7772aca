// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace mlatile::tile {

std::optional<RoleSplit> parseRoleSplit(StringRef text) {
  auto [warpsText, stagesText] = text.split('@');
  SmallVector<StringRef, RoleSplit::kRoles> parts;
  warpsText.split(parts, '+');
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
  if (text.contains('@')) {
    auto [rows, records] = stagesText.split(':');
    auto stages = [&](StringRef word, int64_t &value) {
      return number(word, value) && value <= 8;
    };
    if (!stages(rows, split.rowStages) ||
        (stagesText.contains(':') && !stages(records, split.recordStages)))
      return std::nullopt;
  }
  return split;
}

} // namespace mlatile::tile
