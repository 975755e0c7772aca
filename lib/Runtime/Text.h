// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wording that error messages share.
#ifndef MLATILE_LIB_RUNTIME_TEXT_H
#define MLATILE_LIB_RUNTIME_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace mlatile {

/// "'a', 'b' or 'c'"
std::string oneOf(const std::vector<std::string> &names);

/// ArgumentError unless the value is one of the accepted.
void checkOneOf(const char *argument, const std::string &value,
                const std::vector<std::string> &accepted);

/// ArgumentError that names the value and the next good one. `what` reads "a
/// page stride".
void checkMultipleOf16(const char *argument, const char *what, int64_t bytes);

/// ArgumentError unless low <= value <= high.
void checkRange(const char *argument, int64_t value, int64_t low, int64_t high);

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

/// 1234567 as "1,234,567".
std::string grouped(int64_t value);

} // namespace mlatile
#endif
