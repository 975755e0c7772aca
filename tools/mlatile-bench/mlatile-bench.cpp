// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times problems on a CUDA device: docs/Benchmark.md.
#include "Bench.h"
#include "ProblemOptions.h"
#include "Roofline.h"
#include "mlatile/Runtime/Refinement.h"

#include <cstdio>
#include <fstream>
#include <new>
#include <unistd.h>

using namespace mlatile;
using namespace mlatile::bench;

namespace {
struct CommandLine {
  run::JobOptions job;
  BenchOptions bench;
  std::vector<std::string> folders;
  std::string problems, only, svg, jsonFile, refine;
  int64_t poolMiB = 2048, flushMiB = 256;
  bool json = false, allCandidates = false, withoutFloors = false;
};

void addOptions(CLI::App &app, CommandLine &line) {
  Protocol &protocol = line.bench.protocol;
  line.job.input.skip = 0;
  line.job.lse = "none";
  run::addProblemOptions(app, line.job);
  CLI::Option *problems =
      app.add_option("--problems", line.problems,
                     "problems, a JSON file as for mlatile-compile, in the "
                     "place of the one that the options above describe")
          ->check(CLI::ExistingFile);
  for (const char *option :
       {"--format", "--tokens", "--heads", "--width", "--page-size",
        "--page-stride", "--row-stride", "--extra-width", "--extra-format",
        "--extra-page-size", "--skip", "--lengths", "--sink", "--lse"})
    problems->excludes(option);
  app.add_option("--only", line.only,
                 "those of the file whose name this regular expression finds")
      ->needs(problems);
  run::addPlanOptions(app, line.job);
  CLI::Option *all = app.add_flag(
      "--all-candidates", line.allCandidates,
      "every kernel that takes the problem, and one with splits in 1, 2, 4, "
      "..., and what is predicted to be near the fastest, besides the planned "
      "way");
  app.add_option("--refine", line.refine,
                 "keeps the times in this file, for later plans")
      ->needs(all);
  run::addFolderOption(app, line.folders);
  app.add_option("--calls", protocol.calls,
                 "calls of a graph, fewer where a call is long")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--replays", protocol.replays,
                 "replays of the graph, fewer where a call is long")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--seconds", protocol.seconds,
                 "of the device, that the replays of a problem may take")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--warm", protocol.warm,
               "the same indices in all calls, and nothing read between "
               "replays");
  app.add_option("--pool-mib", line.poolMiB, "MiB of the pool of a cache")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--flush-mib", line.flushMiB,
                 "MiB read between replays, twice L2 or more")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_flag("--no-floors", line.withoutFloors, "times only");
  app.add_flag("--json", line.json, "one JSON object instead of the table");
  app.add_option("--json-file", line.jsonFile, "writes that object there too");
  app.add_option("--svg", line.svg, "writes a roofline picture there");
}

/// What was given for the plan takes the place of what the file says.
void overridePlans(const CLI::App &app, CommandLine &line) {
  for (NamedProblem &named : line.bench.problems) {
    if (app.count("--kernel"))
      named.problem.kernel = line.job.kernel;
    if (app.count("--compute"))
      named.problem.compute = line.job.compute;
    if (app.count("--splits"))
      named.problem.numSplits = line.job.splits;
    for (const auto &[name, value] : line.job.params)
      named.problem.params[name] = value;
    if (app.count("--merge"))
      named.problem.merge = line.job.merge;
    if (app.count("--num-sms"))
      named.problem.numSMs = line.job.numSMs;
  }
}

/// Planned for the device, as a call would be.
void setDevice(CommandLine &line) {
  std::optional<DeviceInfo> device = cudaDevice(line.bench.ordinal);
  if (!device)
    throw UnsupportedError(whyNoCudaDevice(line.bench.ordinal));
  for (NamedProblem &named : line.bench.problems) {
    named.problem.target = device->target;
    named.problem.card = device->name;
    if (!named.problem.numSMs)
      named.problem.numSMs = device->sms;
  }
}

/// The measured ways of each problem, for later plans.
void keepRefinement(const Results &results, const std::string &path) {
  for (size_t begin = 0, end = 0; begin < results.rows.size(); begin = end) {
    std::shared_ptr<const Problem> whole = results.rows[begin].named.whole;
    std::vector<MeasuredWay> ways;
    int64_t sms = results.device.sms;
    for (; end < results.rows.size() && results.rows[end].named.whole == whole;
         ++end) {
      const Result &row = results.rows[end];
      if (!row.error.empty() || !row.plan)
        continue;
      MeasuredWay way{row.plan->candidates.front(), ""};
      way.candidate.measured = row.time.median;
      sms = row.plan->numSMs;
      ways.push_back(std::move(way));
    }
    keepTimes(path, {results.device.name, results.device.target, sms}, *whole,
              ways);
  }
}

void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  if (!file)
    throw Error("cannot write '" + path + "'");
}

int runLine(const CLI::App &app, CommandLine &line) {
  run::useFolders(line.folders);
  BenchOptions &bench = line.bench;
  if (line.problems.empty()) {
    bench.problems = {
        {"problem", run::problemOf(line.job), line.job.input.skip}};
  } else {
    bench.problems = readProblems(run::readText("problems", line.problems));
    if (!line.only.empty())
      bench.problems = only(std::move(bench.problems), line.only);
    overridePlans(app, line);
  }
  bench.ordinal = line.job.ordinal;
  bench.cooperative = line.job.cooperative;
  bench.poolBytes = line.poolMiB << 20;
  bench.protocol.flushBytes = line.flushMiB << 20;
  bench.floors = !line.withoutFloors;
  if (!line.svg.empty() && line.withoutFloors)
    throw ArgumentError("svg", "expected floors for the roofs, got "
                               "--no-floors");
  setDevice(line);
  if (line.allCandidates)
    bench.problems = inAllWays(bench.problems);

  Table table(bench.problems);
  Progress progress(stderr, isatty(STDERR_FILENO));
  auto say = [&](const std::string &text) {
    if (!line.json)
      print(text);
  };
  Results results = measure(
      bench, progress,
      [&](const Results &begun) { say(aboveTable(begun) + table.head()); },
      [&](const Result &result) { say(table.line(result)); });
  say(belowTable(results));
  std::string json = resultsJson(results) + "\n";
  if (line.json)
    print(json);
  if (!line.jsonFile.empty())
    writeFile(line.jsonFile, json);
  if (!line.refine.empty())
    keepRefinement(results, line.refine);
  if (!line.svg.empty())
    writeFile(line.svg, rooflineSvg(results));
  for (const Result &row : results.rows)
    if (!row.error.empty())
      return 1;
  return 0;
}

int report(const char *what) {
  std::fprintf(stderr, "mlatile-bench: error: %s\n", what);
  return 2;
}
} // namespace

/// 0: all measured, 1: a problem failed, 2: an error.
int main(int argc, char **argv) {
  CLI::App app("Times sparse-MLA problems on a CUDA device, beside the floors "
               "of the card.");
  CommandLine line;
  addOptions(app, line);
  CLI11_PARSE(app, argc, argv);
  run::completeOptions(app, line.job);
  try {
    return runLine(app, line);
  } catch (const std::bad_alloc &) {
    return report("there is not enough memory for the arrays of this problem");
  } catch (const std::exception &error) {
    return report(error.what());
  }
}
