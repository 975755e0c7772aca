// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is being done, on stderr.
#ifndef MLATILE_TOOLS_BENCH_PROGRESS_H
#define MLATILE_TOOLS_BENCH_PROGRESS_H

#include <cstddef>
#include <cstdio>
#include <string>

namespace mlatile::bench {

/// One line that is rewritten on a terminal; elsewhere a line for each step.
class Progress {
public:
  Progress(std::FILE *stream, bool terminal)
      : stream(stream), terminal(terminal) {}
  /// "[3/60] name: what"; `detail` is shown on a terminal only.
  void step(size_t number, size_t of, const std::string &name);
  void detail(const std::string &what);
  /// Before other text goes to the terminal.
  void clear();

private:
  std::FILE *stream;
  bool terminal;
  std::string current;
};

} // namespace mlatile::bench
#endif
