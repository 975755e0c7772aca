// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main job: makes a problem, plans, gets the kernels, runs them on the CPU
// executor or on CUDA, and compares with a float64 reference.
#include "Job.h"
#include "Report.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

using namespace mlatile;
using namespace mlatile::run;

namespace {
struct CommandLine {
  JobOptions job;
  std::string device = "sim";
  std::vector<std::string> folders;
  bool json = false;
};

void addOptions(CLI::App &app, CommandLine &line) {
  InputOptions &in = line.job.input;
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
  app.add_option("--pages", in.pages, "pages of the pool (default: by width)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  app.add_option("--skip", in.skip, "fraction of entries that are skipped")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--lengths", in.lengths, "a random length for every row");
  app.add_flag("--sink", in.sink, "an attention sink");
  app.add_option("--lse", line.job.lse, "none, or its base: 2 or e")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "2", "e"}));
  app.add_option("--seed", in.seed, "of the problem and of the warp order")
      ->capture_default_str();
  app.add_option("--splits", line.job.splits,
                 "splits of the candidates (default: planned)");
  app.add_option("--compute", line.job.compute, "auto, bf16, fp8, fp8_fast")
      ->capture_default_str();
  app.add_option("--kernel", line.job.kernel, "auto, decode, prefill, swapab")
      ->capture_default_str();
  app.add_option("--target", line.job.target,
                 "target (default: the device's, sm_120a on sim)");
  app.add_option("--num-sms", line.job.numSMs,
                 "SMs to plan for (default: the device's)");
  app.add_option("--device", line.device, "sim or cuda")
      ->capture_default_str()
      ->check(CLI::IsMember({"sim", "cuda"}));
  app.add_option("--ordinal", line.job.ordinal, "which CUDA device")
      ->capture_default_str();
  app.add_option("--kernels", line.folders,
                 "folder of prebuilt kernels; nothing is compiled then")
      ->check(CLI::ExistingDirectory);
  app.add_option("--repeat", line.job.repeat, "cuda: launches to time")
      ->capture_default_str();
  app.add_flag("--json", line.json, "one JSON object instead of text");
}

void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int runLine(const CommandLine &line) {
  for (const std::string &folder : line.folders)
    addKernelFolder(folder);
  if (!line.folders.empty())
    allowCompiling(false);
  JobObserver observer;
  auto say = [&](std::string (*text)(const JobResult &)) {
    return [&line, text](const JobResult &result) {
      if (!line.json)
        print(text(result));
    };
  };
  observer.planned = say(planText);
  observer.compiled = say(kernelsText);
  observer.ran = say(runText);
  JobResult result = runJob(line.job, observer);
  print(line.json ? reportJson(line.job, result) + "\n"
                  : comparisonText(line.job, result));
  return result.comparison.ok ? 0 : 1;
}
} // namespace

/// 0: inside the bounds, 1: outside, 2: an error.
int main(int argc, char **argv) {
  CLI::App app("Runs a sparse-MLA problem and compares it with a float64 "
               "reference.");
  CommandLine line;
  addOptions(app, line);
  CLI11_PARSE(app, argc, argv);
  line.job.cuda = line.device == "cuda";
  try {
    return runLine(line);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "mlatile-run: error: %s\n", error.what());
    return 2;
  }
}
