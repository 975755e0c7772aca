// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_SIM_MATRIX_H
#define MLATILE_LIB_SIM_MATRIX_H

#include "Machine.h"

namespace mlatile::sim {
void runLdMatrix(Warp &warp, const Op &op, Lane *by);
void runStMatrix(Warp &warp, const Op &op, Lane *by);
void runMovMatrix(Warp &warp, const Op &op);
} // namespace mlatile::sim
#endif
