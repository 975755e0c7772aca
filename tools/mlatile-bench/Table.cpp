// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FormatText.h"
#include "Results.h"

#include <algorithm>
#include <cstdio>

namespace mlatile::bench {
namespace {
using run::format;

/// Right-aligned, "-" where there is none.
std::string cell(const char *pattern, int width, std::optional<double> value,
                 double factor = 1) {
  char text[64] = "-";
  if (value)
    std::snprintf(text, sizeof text, pattern, *value * factor);
  return format("%*s", width, text);
}

/// Microseconds with three figures or more.
std::string timeCell(int width, std::optional<double> us) {
  return cell(!us || *us < 9.995 ? "%.2f"
              : *us < 999.5      ? "%.1f"
                                 : "%.0f",
              width, us);
}
} // namespace

std::optional<double> Result::ofFloor() const {
  if (!gather && !mma)
    return std::nullopt;
  return std::max(gather.value_or(0), mma.value_or(0)) / time.median;
}

std::optional<double> Result::ofPrediction() const {
  if (!predicted)
    return std::nullopt;
  return time.median / *predicted;
}

std::string shortPlan(const Plan &plan) {
  std::string text = plan.kernel;
  auto isShape = [](const std::string &name) {
    return name != "FMT" && name != "EXTRA" && name != "SPLIT" &&
           name != "LSE" && name != "SLICES" && name != "DEPENDENT" &&
           name != "CLUSTER" && name != "JOIN" && !name.starts_with("MERGE_") &&
           !name.starts_with("HAS_");
  };
  if (!plan.launches.empty()) {
    const LaunchStep &first = plan.launches.front();
    for (const auto &[name, value] : first.kernel.params)
      if (isShape(name))
        text += " " + name + "=" + value;
    text += ", " + std::to_string(first.grid) + " CTAs";
  }
  if (plan.numSplits > 1)
    text += ", " + std::to_string(plan.numSplits) + " splits" +
            (plan.merge == "slices"    ? " in slices"
             : plan.merge == "cluster" ? " in a cluster"
                                       : "");
  for (size_t i = 1; i < plan.launches.size(); ++i)
    text += (plan.launches[i].dependent ? " + dependent " : " + ") +
            plan.launches[i].kernel.symbol;
  return text;
}

Table::Table(const std::vector<NamedProblem> &problems) {
  for (const NamedProblem &problem : problems)
    nameWidth = std::max(nameWidth, static_cast<int>(problem.name.size()));
}

std::string Table::head() const {
  return format("%-*s  %-11s %5s %4s %6s %9s %7s %8s %8s %8s %6s %9s %6s  %s\n",
                nameWidth, "problem", "format", "rows", "H", "width", "us",
                "GB/s", "TFLOP/s", "gather", "mma", "floor", "predicted",
                "ratio", "plan");
}

std::string Table::line(const Result &result) const {
  const Problem &p = result.named.problem;
  std::string width = std::to_string(p.width);
  if (p.extraWidth)
    width += "+" + std::to_string(*p.extraWidth);
  std::string text = format("%-*s  %-11s %5lld %4lld %6s ", nameWidth,
                            result.named.name.c_str(), p.kvFormat.c_str(),
                            static_cast<long long>(p.numTokens),
                            static_cast<long long>(p.numHeads), width.c_str());
  if (!result.error.empty())
    return text + "failed: " + result.error + "\n";
  return text + timeCell(9, result.time.median) + " " +
         cell("%.0f", 7, result.gigabytesPerSecond()) + " " +
         cell("%.1f", 8, result.teraflops()) + " " +
         timeCell(8, result.gather) + " " + timeCell(8, result.mma) + " " +
         cell("%.0f%%", 6, result.ofFloor(), 100) + " " +
         timeCell(9, result.predicted) + " " +
         cell("%.2f", 6, result.ofPrediction()) + "  " +
         shortPlan(*result.plan) + "\n";
}

std::string aboveTable(const Results &results) {
  const Protocol &p = results.protocol;
  std::string text = format(
      "%s, %s, %lld SMs, driver %d.%d\n", results.device.name.c_str(),
      results.device.target.c_str(), static_cast<long long>(results.device.sms),
      results.device.driverVersion / 1000,
      results.device.driverVersion % 1000 / 10);
  text += format("graphs of at most %d calls, median of at most %d replays, "
                 "pools of %lld MiB, ",
                 p.calls, p.replays,
                 static_cast<long long>(results.poolBytes >> 20));
  if (p.warm)
    return text + "the same indices in all calls, L2 warm\n";
  return text + format("fresh indices in each call, %lld MiB read between "
                       "replays\n",
                       static_cast<long long>(results.flushedBytes >> 20));
}

std::string belowTable(const Results &results) {
  std::string text;
  if (results.gatherRate && results.mmaRate)
    text += format("floors measured in this run: random gather up to %.2f "
                   "TB/s, mma (bf16) %.0f TFLOP/s\n",
                   *results.gatherRate * 1e-12, *results.mmaRate * 1e-12);
  text += "us: median; gather, mma: us of the same rows gathered and of the "
          "same FLOP by kernels that do nothing else; floor: the larger of "
          "both as a part of the time; predicted: by the cost model";
  text += results.card.empty()
              ? ", which does not know this card\n"
              : " for " + results.card + "; ratio: measured / predicted\n";
  size_t failed = static_cast<size_t>(
      std::count_if(results.rows.begin(), results.rows.end(),
                    [](const Result &row) { return !row.error.empty(); }));
  return text + format("%zu of %zu problems measured\n",
                       results.rows.size() - failed, results.rows.size());
}

} // namespace mlatile::bench
