// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"

#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <limits>

namespace mlatile {

std::string oneOf(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i)
      text += i + 1 == names.size() ? " or " : ", ";
    text += "'" + names[i] + "'";
  }
  return text;
}

void checkOneOf(const char *argument, const std::string &value,
                const std::vector<std::string> &accepted) {
  if (std::find(accepted.begin(), accepted.end(), value) == accepted.end())
    throw ArgumentError(argument, "expected " + oneOf(accepted) + ", got '" +
                                      value + "'");
}

void checkMultipleOf16(const char *argument, const char *what, int64_t bytes) {
  if (bytes % 16 == 0)
    return;
  int64_t down = bytes - ((bytes % 16) + 16) % 16;
  std::string text = std::string("expected ") + what +
                     " that is a multiple of 16 bytes, got " +
                     std::to_string(bytes);
  if (down <= std::numeric_limits<int64_t>::max() - 16)
    text += "; the next good one is " + std::to_string(down + 16);
  throw ArgumentError(argument, text);
}

void checkRange(const char *argument, int64_t value, int64_t low,
                int64_t high) {
  if (value < low || value > high)
    throw ArgumentError(argument, "expected " + std::to_string(low) + " to " +
                                      std::to_string(high) + ", got " +
                                      std::to_string(value));
}

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3;
       i > (value < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

} // namespace mlatile
