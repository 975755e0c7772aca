// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/RoleSplit.h"

#include "mlatile/Target/RegisterBudget.h"

#include <algorithm>
#include <charconv>

namespace mlatile {
namespace {
/// What stands before the first `separator`, which is dropped from `text` with
/// it; all where there is none.
std::string_view takeUntil(std::string_view &text, char separator) {
  size_t end = text.find(separator);
  std::string_view head = text.substr(0, end);
  text = end == std::string_view::npos ? "" : text.substr(end + 1);
  return head;
}

/// A whole word of digits, of a bound that keeps sums small.
bool toNumber(std::string_view word, int64_t most, int64_t &value) {
  const char *end = word.data() + word.size();
  auto [last, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && last == end && value >= 1 && value <= most;
}
} // namespace

std::optional<RoleSplit> parseRoleSplit(std::string_view text) {
  constexpr int64_t kMostNumber = 1024, kMostStages = 8;
  RoleSplit split{};
  bool staged = text.find('@') != std::string_view::npos;
  std::string_view warps = takeUntil(text, '@');
  for (int i = 0; i < RoleSplit::kRoles; ++i) {
    bool isLast = i + 1 == RoleSplit::kRoles;
    if (isLast != (warps.find('+') == std::string_view::npos))
      return std::nullopt;
    std::string_view part = takeUntil(warps, '+');
    bool both = part.find(':') != std::string_view::npos;
    std::string_view number = takeUntil(part, ':');
    if (i == 0 && number.ends_with('c')) {
      split.converts = true;
      number.remove_suffix(1);
    }
    if (!toNumber(number, kMostNumber, split.warps[i]) ||
        (both && !toNumber(part, kMostNumber, split.registers[i])))
      return std::nullopt;
  }
  if (staged) {
    bool both = text.find(':') != std::string_view::npos;
    std::string_view rows = takeUntil(text, ':');
    if (!toNumber(rows, kMostStages, split.rowStages) ||
        (both && !toNumber(text, kMostStages, split.recordStages)))
      return std::nullopt;
  }
  return split;
}

std::array<int64_t, RoleSplit::kRoles> divideRegisters(const RoleSplit &split) {
  // Of a thread that only copies; of one that converts too; what one of second
  // products, which keeps their sums through the loop, has more than one of
  // first products; the most that a role is given unasked (a thread has 255).
  constexpr int64_t kGather = 32, kConvert = 48, kSums = 48, kMost = 248;
  int64_t left = launchRegisters(split.totalWarps()) * split.totalWarps();
  auto result = split.registers;
  if (!result[0])
    result[0] = split.converts ? kConvert : kGather;
  left -= result[0] * split.warps[0];
  auto clamped = [&](int64_t registers) {
    return std::clamp<int64_t>(registers / 8 * 8, 24, kMost);
  };
  for (int i : {1, 2})
    left -= result[i] * split.warps[i];
  if (!result[2])
    result[2] = result[1] ? clamped(left / split.warps[2])
                          : clamped((left + kSums * split.warps[1]) /
                                    (split.warps[1] + split.warps[2]));
  else if (!result[1])
    return {result[0], clamped(left / split.warps[1]), result[2]};
  if (!result[1])
    result[1] = clamped((left - result[2] * split.warps[2]) / split.warps[1]);
  return result;
}

} // namespace mlatile
