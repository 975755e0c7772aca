// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the command line that say what a problem is and how it is planned,
// for every program that takes one.
#ifndef MLATILE_TOOLS_RUN_PROBLEMOPTIONS_H
#define MLATILE_TOOLS_RUN_PROBLEMOPTIONS_H

#include "Job.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace mlatile::run {

/// Sizes, formats and kinds of arrays.
void addProblemOptions(CLI::App &app, JobOptions &job);
/// Kernel, splits, compute mode, card and SMs.
void addPlanOptions(CLI::App &app, JobOptions &job);
/// Folders of prebuilt kernels.
void addFolderOption(CLI::App &app, std::vector<std::string> &folders);

/// Defaults that follow from other options; after parsing.
void completeOptions(const CLI::App &app, JobOptions &job);
/// With folders, nothing is compiled. ArgumentError where one is none.
void useFolders(const std::vector<std::string> &folders);

/// What the options say, without inputs.
Problem problemOf(const JobOptions &job);

/// A file's text; ArgumentError where it cannot be read.
std::string readText(const char *option, const std::string &path);

} // namespace mlatile::run
#endif
