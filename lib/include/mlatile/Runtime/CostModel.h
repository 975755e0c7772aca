// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a launch takes on a card: docs/CostModel.md. Pure, host-only, a few
// hundred operations.
#ifndef MLATILE_RUNTIME_COSTMODEL_H
#define MLATILE_RUNTIME_COSTMODEL_H

#include "mlatile/Target/Card.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mlatile {

/// What some warps do in one iteration of a loop; counts are warp instructions
/// of all of them.
struct TileCounts {
  std::array<double, kNumMmaRates> mmaFlops{}; ///< by MmaRate
  double mma = 0;                              ///< instructions
  double conversions = 0;
  double sharedBytes = 0;  ///< through loads, stores, ldmatrix and cp.async
  double barriers = 0;     ///< of all these warps, one after another
  double instructions = 0; ///< all

  /// Adds all but the barriers, which are others' where the warps are.
  void add(const TileCounts &other);
};

/// The part of a loop that the warps of one role do.
struct RoleWork : TileCounts {
  double warps = 0;
};

/// What one CTA does in one iteration of a loop: counts of all its warps, whose
/// barriers are the CTA's.
struct LoopWork : TileCounts {
  /// Iterations whose loads are on their way while one is computed; 0: each
  /// waits for its own.
  int ahead = 0;
  /// Empty: equal warps, which do one thing after another. Else these do theirs
  /// at the same time, and the counts are their sums.
  std::vector<RoleWork> roles;
  int64_t iterations = 0; ///< of the CTA with the most
};

/// One launch.
struct LaunchWork {
  int64_t grid = 0; ///< CTAs
  int threads = 0;  ///< of a CTA
  int64_t sharedBytes = 0;
  int registers = 0;           ///< of a thread; 0: not known, no bound
  std::vector<LoopWork> loops; ///< one after another
  double instructions = 0;     ///< of the PTX, each once
  int chain = 0; ///< accesses outside of the loops that wait in turn
  /// Times that a CTA loads a few splits of a tile and adds them.
  int64_t mergeRounds = 0;
  int64_t barriers = 0;   ///< of a CTA, outside of the loops
  bool joins = false;     ///< its CTAs wait for each other before they merge
  int64_t cluster = 1;    ///< CTAs of a cluster, which merge what they have
  bool dependent = false; ///< begins while the launch before it ends
  bool persistent =
      false;              ///< as many CTAs as run at once share those of `grid`
  double gatherBytes = 0; ///< rows that all CTAs gather
  int64_t sharers = 1;    ///< CTAs that gather the same rows
  double memoryBytes = 0; ///< others, from and to memory
  double l2Bytes = 0;     ///< others, from and to L2
};

enum class Limiter {
  Launch,
  Memory,
  L2,
  Mma,
  Shared,
  Conversion,
  Issue,
  Latency
};
/// "launch", "memory", "l2", "mma", "shared", "conversion", "issue", "latency".
std::string_view name(Limiter limiter);

struct Prediction {
  double microseconds = 0;
  Limiter limiter = Limiter::Launch;
};

/// CTAs that fit on one SM of a card; 0: not even one.
int64_t residentCtas(const LaunchWork &work, const Card &card);

/// Nothing where the card cannot run it: no such mma, or no room for a CTA.
std::optional<Prediction> predict(const LaunchWork &work, const Card &card);

/// What of a dependent launch runs beside the launch before it, microseconds.
double hiddenMicroseconds(const LaunchWork &before, const LaunchWork &work,
                          const Card &card);

} // namespace mlatile
#endif
