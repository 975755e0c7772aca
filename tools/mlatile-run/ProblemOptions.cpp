// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProblemOptions.h"

#include "mlatile/Runtime/Error.h"

#include <fstream>
#include <sstream>

namespace mlatile::run {

void addProblemOptions(CLI::App &app, JobOptions &job) {
  InputOptions &in = job.input;
  app.add_option("--format", in.format, "cache format")->capture_default_str();
  app.add_option("--tokens", in.tokens, "query rows")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 24));
  app.add_option("--heads", in.heads, "query heads, 1 to 128")
      ->capture_default_str()
      ->check(CLI::Range(1, 128));
  app.add_option("--width", in.width, "candidates a row")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  app.add_option("--page-size", in.pageSize, "tokens a page")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  app.add_option("--page-stride", in.pageStride,
                 "bytes (default: tight, rounded up to 576)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--row-stride", in.rowStride,
                 "bytes, formats with inline scales (default: the format's)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  CLI::Option *extraWidth =
      app.add_option("--extra-width", in.extraWidth,
                     "candidates a row in a second cache (default: none)")
          ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  app.add_option("--extra-format", in.extraFormat,
                 "its format (default: the first cache's)")
      ->needs(extraWidth);
  app.add_option("--extra-page-size", in.extraPageSize,
                 "its tokens a page (default: the first cache's)")
      ->needs(extraWidth)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  app.add_option("--skip", in.skip, "fraction of entries that are skipped")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--lengths", in.lengths, "a length for every row");
  app.add_flag("--sink", in.sink, "an attention sink");
  app.add_option("--lse", job.lse, "none, or its base: 2 or e")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "2", "e"}));
}

void addPlanOptions(CLI::App &app, JobOptions &job) {
  app.add_option("--splits", job.splits,
                 "splits of the candidates (default: planned)");
  app.add_option("--merge", job.merge,
                 "how splits are joined: auto, launch, dependent, slices or "
                 "cluster")
      ->capture_default_str();
  app.add_flag("!--no-cooperative", job.cooperative,
               "cuda: plain launches of grids whose CTAs wait for each other; "
               "only where nothing else uses the card");
  app.add_option("--compute", job.compute, "auto, bf16, fp8, fp8_fast")
      ->capture_default_str();
  app.add_option("--kernel", job.kernel, "auto, decode, prefill, swapab")
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
      "--param",
      [&job](const std::vector<std::string> &given) {
        for (const std::string &param : given) {
          size_t equals = param.find('=');
          if (equals == 0 || equals == std::string::npos)
            throw CLI::ValidationError("--param",
                                       "expected NAME=VALUE, got " + param);
          job.params[param.substr(0, equals)] = param.substr(equals + 1);
        }
      },
      "NAME=VALUE of the kernel in the place of what is planned, to "
      "measure other tiles (BH, BN, WARPS), roles (ROLES), copies (BULK) or "
      "programs of several items (PERSISTENT)");
  app.add_option("--num-sms", job.numSMs,
                 "SMs to plan for (default: the device's)");
  app.add_option("--ordinal", job.ordinal, "which CUDA device")
      ->capture_default_str();
}

void addFolderOption(CLI::App &app, std::vector<std::string> &folders) {
  app.add_option("--kernels", folders,
                 "folder of prebuilt kernels; nothing is compiled then")
      ->check(CLI::ExistingDirectory);
}

void completeOptions(const CLI::App &app, JobOptions &job) {
  if (!app.count("--extra-format"))
    job.input.extraFormat = job.input.format;
  if (!app.count("--extra-page-size"))
    job.input.extraPageSize = job.input.pageSize;
}

void useFolders(const std::vector<std::string> &folders) {
  for (const std::string &folder : folders)
    addKernelFolder(folder);
  if (!folders.empty())
    allowCompiling(false);
}

Problem problemOf(const JobOptions &job) {
  const InputOptions &in = job.input;
  Problem p;
  p.numTokens = in.tokens;
  p.numHeads = in.heads;
  p.width = in.width;
  p.kvFormat = in.format;
  p.pageSize = in.pageSize;
  p.pageStride = in.pageStride;
  p.rowStride = in.rowStride;
  if (in.extraWidth) {
    p.extraWidth = in.extraWidth;
    p.extraPageSize = in.extraPageSize;
    p.extraKvFormat = in.extraFormat;
    p.hasExtraLengths = in.lengths;
  }
  p.hasLengths = in.lengths;
  p.hasSink = in.sink;
  p.lse = job.lse == "none" ? LseKind::None
          : job.lse == "2"  ? LseKind::Base2
                            : LseKind::BaseE;
  p.kernel = job.kernel;
  p.compute = job.compute;
  p.numSplits = job.splits;
  p.merge = job.merge;
  p.params = job.params;
  p.target = job.target;
  p.numSMs = job.numSMs;
  return p;
}

std::string readText(const char *option, const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    throw ArgumentError(option, "cannot read '" + path + "'");
  return text.str();
}

} // namespace mlatile::run
