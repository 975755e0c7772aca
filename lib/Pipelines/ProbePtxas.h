// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_PIPELINES_PROBEPTXAS_H
#define MLATILE_LIB_PIPELINES_PROBEPTXAS_H

#include "mlatile/Pipelines/Ptxas.h"

namespace mlatile {

/// `probePtxas` without its memory: runs `path --version`.
llvm::Expected<PtxasTool> probePtxasUncached(llvm::StringRef path,
                                             llvm::StringRef origin);

} // namespace mlatile
#endif
