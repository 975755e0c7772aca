// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph capture and replay of one call.
#ifndef MLATILE_TOOLS_RUN_GRAPH_H
#define MLATILE_TOOLS_RUN_GRAPH_H

#include "PlacedCall.h"

namespace mlatile::run {

struct ReplayCheck {
  int right = 0; ///< replays whose results had the bits of an uncaptured call
  Results last;  ///< of the last replay
};

/// Captures the call once, then replays it with candidates 1, 2, ... of the
/// inputs written over those of the capture. Leaves the last ones in use.
ReplayCheck checkReplays(PlacedCall &placed, int replays, int ordinal);

} // namespace mlatile::run
#endif
