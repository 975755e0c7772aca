// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds and runs ptxas.
#ifndef MLATILE_PIPELINES_PTXAS_H
#define MLATILE_PIPELINES_PTXAS_H

#include "mlatile/Target/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace mlatile {

/// A ptxas that runs.
struct PtxasTool {
  std::string path;
  int major = 0, minor = 0;
  std::string version; ///< full, for example "13.0.88"
  std::string origin;  ///< where it was found, for example "$MLATILE_PTXAS"
};

/// Where ptxas may be, best first: (path, origin). With `explicitPath` or
/// $MLATILE_PTXAS that alone; else PATH, $CUDA_HOME, $CUDA_PATH,
/// /usr/local/cuda, the nvidia-cuda-nvcc wheel in $VIRTUAL_ENV, beside our
/// package, or in the .venv beside the build folder. Paths may not exist.
std::vector<std::pair<std::string, std::string>>
ptxasCandidates(llvm::StringRef explicitPath);

/// Asks `path` for its version. Remembered per path and modification time.
llvm::Expected<PtxasTool> probePtxas(llvm::StringRef path,
                                     llvm::StringRef origin);

/// The first candidate that runs and knows `target`; with a null target, that
/// runs. The error names what was looked at, its version, and the version
/// needed.
llvm::Expected<PtxasTool> findPtxas(llvm::StringRef explicitPath,
                                    const Target *target);

/// What ptxas says of one kernel; bytes where not registers.
struct PtxasReport {
  unsigned registers = 0; ///< a thread
  unsigned spillStores = 0, spillLoads = 0;
  unsigned stack = 0;
  unsigned staticShared = 0;
  unsigned barriers = 0;
};

struct PtxasResult {
  std::string cubin;
  PtxasReport report; ///< of the kernel with the most registers
  std::string log;    ///< what ptxas -v said
};

/// Reads the output of `ptxas -v`.
PtxasReport parsePtxasLog(llvm::StringRef log);

/// Assembles `ptx`. `optLevel` is 0 to 3. The error has the log of ptxas.
llvm::Expected<PtxasResult> runPtxas(const PtxasTool &tool, llvm::StringRef ptx,
                                     const Target &target, int optLevel = 3);

} // namespace mlatile
#endif
