// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main job: makes a problem, plans, gets the kernels, runs them on the CPU
// executor or on CUDA, and compares with a float64 reference.
#include "Job.h"
#include "Report.h"
#include "Soak.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

using namespace mlatile;
using namespace mlatile::run;

namespace {
struct CommandLine {
  JobOptions job;
  std::string device = "sim";
  std::vector<std::string> folders;
  bool json = false;
  std::string problems;
  SoakOptions soak;
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
  app.add_option("--page-stride", in.pageStride,
                 "bytes (default: tight, rounded up to 576)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  app.add_option("--row-stride", in.rowStride,
                 "bytes, formats with inline scales (default: the format's)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  app.add_option("--indices-stride", in.indicesStride,
                 "entries between rows of indices (default: the width)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  app.add_option("--slice", in.slice,
                 "heads that the arrays of q, out and lse have more, which "
                 "must stay as they are")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 16));
  app.add_option("--batch", in.batch,
                 "rows framed as [N, rows / N] (default: flat)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
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
  app.add_flag("--lengths", in.lengths, "a random length for every row");
  CLI::Option *sink = app.add_flag("--sink", in.sink, "an attention sink");
  app.add_option("--sink-values", in.sinkValues, "finite, inf, -inf or mixed")
      ->capture_default_str()
      ->needs(sink)
      ->check(CLI::IsMember({"finite", "inf", "-inf", "mixed"}));
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
  app.add_option("--param", line.job.params,
                 "NAME=VALUE of the kernel in the place of what is planned, to "
                 "measure other tiles (BH, BN, WARPS) or roles (ROLES)");
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
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--graph", line.job.replays,
                 "cuda: capture the call, and replay it so many times with "
                 "candidates rewritten in place; every replay must have the "
                 "bits of a call that is not captured")
      ->check(CLI::Range(1, 1000));
  app.add_option("--rows", line.job.rows,
                 "rows compared with the reference, from first to last "
                 "(default: all)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  CLI::Option *problems =
      app.add_option("--problems", line.problems,
                     "cuda: problems of a soak, a JSON file as for "
                     "mlatile-compile; their formats and sizes take the place "
                     "of those above")
          ->check(CLI::ExistingFile);
  CLI::Option *soak =
      app.add_option("--soak", line.soak.calls,
                     "cuda: calls in random order of all small problems")
          ->needs(problems)
          ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  problems->needs(soak);
  app.add_option("--watchdog", line.soak.seconds,
                 "soak: seconds after which a kernel that has not ended is an "
                 "error")
      ->capture_default_str()
      ->needs(soak)
      ->check(CLI::Range(0.001, 1e6));
  app.add_flag("--json", line.json, "one JSON object instead of text");
}

void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int runSoak(CommandLine &line) {
  std::ifstream file(line.problems);
  std::ostringstream text;
  text << file.rdbuf();
  line.soak.problems = parseProblems(text.str());
  line.soak.ordinal = line.job.ordinal;
  line.soak.seed = line.job.input.seed;
  SoakResult result = soak(line.soak);
  print(soakText(result));
  return result.wrong.empty() ? 0 : 1;
}

int runLine(CommandLine &line) {
  for (const std::string &folder : line.folders)
    addKernelFolder(folder);
  if (!line.folders.empty())
    allowCompiling(false);
  if (!line.job.cuda)
    for (auto [given, flag] : {std::pair(line.soak.calls > 0, "soak"),
                               std::pair(line.job.replays > 0, "graph")})
      if (given)
        throw ArgumentError(flag, "expected --device cuda with it, got sim");
  if (line.soak.calls)
    return runSoak(line);
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
  bool replaysRight = !result.replays || *result.replays == line.job.replays;
  return result.comparison.ok && replaysRight ? 0 : 1;
}

int report(const char *what) {
  std::fprintf(stderr, "mlatile-run: error: %s\n", what);
  return 2;
}
} // namespace

/// 0: inside the bounds, 1: outside, 2: an error, 3: a kernel does not end.
int main(int argc, char **argv) {
  CLI::App app("Runs a sparse-MLA problem and compares it with a float64 "
               "reference.");
  CommandLine line;
  addOptions(app, line);
  CLI11_PARSE(app, argc, argv);
  line.job.cuda = line.device == "cuda";
  InputOptions &in = line.job.input;
  if (!app.count("--extra-format"))
    in.extraFormat = in.format;
  if (!app.count("--extra-page-size"))
    in.extraPageSize = in.pageSize;
  try {
    return runLine(line);
  } catch (const Hang &error) {
    report(error.what());
    // Whatever is torn down would wait for the device.
    std::_Exit(3);
  } catch (const std::bad_alloc &) {
    return report("there is not enough memory for the arrays of this problem");
  } catch (const std::exception &error) {
    return report(error.what());
  }
}
