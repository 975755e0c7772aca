// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run has to say, for people and for programs.
#ifndef MLATILE_TOOLS_RUN_REPORT_H
#define MLATILE_TOOLS_RUN_REPORT_H

#include "Job.h"
#include "Soak.h"

#include <string>

namespace mlatile::run {

std::string planText(const JobResult &result);
std::string kernelsText(const JobResult &result);
std::string runText(const JobResult &result);
std::string comparisonText(const JobOptions &options, const JobResult &result);

std::string soakText(const SoakResult &result);

/// The whole as one JSON object.
std::string reportJson(const JobOptions &options, const JobResult &result);

} // namespace mlatile::run
#endif
