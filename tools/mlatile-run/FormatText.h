// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// printf into a string, for the tables of the programs.
#ifndef MLATILE_TOOLS_RUN_FORMATTEXT_H
#define MLATILE_TOOLS_RUN_FORMATTEXT_H

#include <cstdarg>
#include <cstdio>
#include <string>

namespace mlatile::run {

__attribute__((format(printf, 1, 2))) inline std::string
format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? length : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

} // namespace mlatile::run
#endif
