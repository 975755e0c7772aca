// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Progress.h"

namespace mlatile::bench {

void Progress::step(size_t number, size_t of, const std::string &name) {
  current =
      "[" + std::to_string(number) + "/" + std::to_string(of) + "] " + name;
  if (terminal)
    return detail("");
  std::fprintf(stream, "%s\n", current.c_str());
  std::fflush(stream);
}

void Progress::detail(const std::string &what) {
  if (!terminal)
    return;
  // Return, text, erase to the end of the line.
  std::fprintf(stream, "\r%s%s%s\033[K", current.c_str(),
               what.empty() ? "" : ": ", what.c_str());
  std::fflush(stream);
}

void Progress::clear() {
  if (terminal)
    std::fputs("\r\033[K", stream);
  std::fflush(stream);
}

} // namespace mlatile::bench
