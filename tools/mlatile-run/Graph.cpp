// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Graph.h"

#include <utility>

namespace mlatile::run {

ReplayCheck checkReplays(PlacedCall &placed, int replays, int ordinal) {
  DeviceStream stream(ordinal);
  LaunchOptions options;
  options.stream = stream.handle();
  preload(*placed.call.plan, ordinal);
  DeviceGraph graph(stream, [&] { launch(placed.call, options); });

  ReplayCheck check;
  for (int i = 1; i <= replays; ++i) {
    placed.useCandidates(static_cast<size_t>(i));
    placed.clearResults();
    launch(placed.call, options);
    stream.synchronize();
    Results uncaptured = placed.fetch();
    placed.clearResults();
    graph.replay(stream);
    stream.synchronize();
    check.last = placed.fetch();
    check.right += check.last == uncaptured;
  }
  return check;
}

} // namespace mlatile::run
