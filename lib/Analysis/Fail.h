// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the layout classes report what they refuse.
#ifndef MLATILE_ANALYSIS_FAIL_H
#define MLATILE_ANALYSIS_FAIL_H

#include <optional>
#include <string>
#include <string_view>

namespace mlatile {

/// Records a message, if anyone wants it, and yields the empty optional.
inline std::nullopt_t fail(std::string *error, std::string message) {
  if (error)
    *error = std::move(message);
  return std::nullopt;
}

inline std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

} // namespace mlatile
#endif
