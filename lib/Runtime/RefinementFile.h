// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of measured times: a JSON object, read once.
#ifndef MLATILE_LIB_RUNTIME_REFINEMENTFILE_H
#define MLATILE_LIB_RUNTIME_REFINEMENTFILE_H

#include "mlatile/Runtime/Refinement.h"

#include <memory>
#include <string>
#include <vector>

namespace mlatile {

/// Times of one problem on one card.
struct RefinementEntry {
  MeasuredCard card;
  std::string problem; ///< planningKey()
  std::vector<Candidate> ways;
};

class RefinementFile {
public:
  /// Never throws: `ignored` says what is wrong with it.
  static RefinementFile read(const std::string &path);

  /// The times for a problem on a card of its target with so many SMs, or null
  /// and why.
  const RefinementEntry *find(const Problem &problem, const Plan &plan,
                              std::string &why) const;
  /// In the place of that of the same card and problem.
  void put(RefinementEntry entry);
  std::string text() const;

  std::string path;
  std::string ignored;     ///< empty where it counts
  bool isForeign = false;  ///< there is a file, and it is no refinement
  bool isOutdated = false; ///< of another build

private:
  std::vector<RefinementEntry> entries;
};

/// What the choice depends on, besides target and SMs, as JSON.
std::string planningKey(const Problem &problem);

/// The file in use; null where there is none.
std::shared_ptr<const RefinementFile> refinementInUse();

/// Drops the plans that were made before (Planner.cpp).
void forgetPlans();

} // namespace mlatile
#endif
