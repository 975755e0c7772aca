// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many calls of mixed shapes in a row, under a watchdog.
#ifndef MLATILE_TOOLS_RUN_SOAK_H
#define MLATILE_TOOLS_RUN_SOAK_H

#include "Job.h"

#include <string>
#include <vector>

namespace mlatile::run {

struct SoakOptions {
  std::vector<Problem> problems; ///< large ones are left out
  int64_t calls = 0;
  double seconds = 10; ///< a kernel has to end within so many
  int ordinal = 0;
  uint64_t seed = 0;
};

struct SoakResult {
  int64_t calls = 0, kernels = 0, problems = 0, leftOut = 0;
  double seconds = 0;
  std::vector<std::string> wrong; ///< whose results changed or were outside
};

/// A kernel that did not end in time. What it waits for holds the device, so
/// that the process had better exit at once.
class Hang : public LaunchError {
public:
  using LaunchError::LaunchError;
};

/// Every problem is compared with the reference, then called in random order on
/// two streams; at the end its results have the bits that they had at first.
/// Throws Hang that names the kernel.
SoakResult soak(const SoakOptions &options);

} // namespace mlatile::run
#endif
