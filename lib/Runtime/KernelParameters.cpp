// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelParameters.h"

#include "Implementations.h"
#include "KernelWork.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Target/RoleSplit.h"
#include "mlatile/Target/Target.h"

#include <algorithm>
#include <charconv>

namespace mlatile {
namespace {
struct TileRow {
  const char *kernel;
  int mostDimQK; ///< elements of a key that it has room for
  Tiles tiles;
};
/// Roles that convert rows once, for 32 and for 64 heads; budgets of registers
/// as measured (kernels/README.md).
constexpr const char *kOnce32 = "4c:64+4:200+4:216";
constexpr const char *kOnce64 = "4c:40+4:152+8:160";
// The table of docs/HostApi.md, "Tiles". Of the rows for a kernel and format,
// heads ascend. Accumulators are f32: heads x value columns x 4 bytes / (128
// bytes x warps) registers a thread; the query is in shared memory in 16 bits
// beside two stages of gathered rows.
// clang-format off
const TileRow kTiles[] = {
  // kernel    d_qk  heads candidates warps
  {"decode",    576, {16, 32, 4}},
  {"decode",    576, {32, 32, 12, "4+4+4"}},
  {"decode",    576, {32, 32, 12, kOnce32}},
  {"decode",    576, {64, 32, 16, kOnce64}},
  {"decode",   1088, {16, 16, 8}},
  {"decode",   1088, {16, 16, 12, "4+4+4"}},
  {"prefill",   512, {16, 32, 4}},
  {"prefill",   512, {32, 32, 8}},
  {"prefill",   512, {64, 16, 8}},
  {"prefill",   512, {32, 32, 12, "4+4+4"}},
  {"prefill",   512, {32, 32, 12, kOnce32}},
  {"prefill",   512, {64, 32, 16, kOnce64}},
  {"prefill",   576, {16, 32, 4}},
  {"prefill",   576, {32, 32, 8}},
  {"prefill",   576, {32, 32, 12, "4+4+4"}},
  {"prefill",   576, {32, 32, 12, kOnce32}},
  {"prefill",   576, {64, 32, 16, kOnce64}},
  {"prefill",  1088, {16, 16, 8}},
  {"prefill",  1088, {16, 16, 12, "4+4+4"}},
  // A warp owns 8 heads and at most 512 value columns.
  {"swapab",    512, { 8, 16, 1}},
  {"swapab",    512, {16, 16, 2}},
  {"swapab",    512, {32, 16, 4}},
  {"swapab",    576, { 8, 16, 1}},
  {"swapab",    576, {16, 16, 2}},
  {"swapab",   1088, { 8, 16, 2}},
  {"swapab",   1088, {16, 16, 4}},
};
// clang-format on

/// Products of f16 first: what is nearest for the same time.
constexpr ComputeMode kModes[] = {
    {"bf16", 0, 1e-2}, {"fp8", 1, 1.5e-2}, {"fp8_fast", 2, 8e-2}};

/// What the call decides cannot be bound by the kernel's author, or by who
/// measures.
void addParams(KernelSpec &spec,
               const std::map<std::string, std::string> &given) {
  for (const auto &[name, value] : given) {
    for (const char *own :
         {"FMT", "EXTRA", "HAS_EXTRA", "HAS_LENGTH", "HAS_EXTRA_LENGTH",
          "HAS_SINK", "SPLIT", "DEPENDENT", "SLICES", "CLUSTER", "LSE", "FP8"})
      if (name == own)
        throw ArgumentError(
            "params", "expected none of `FMT`, `EXTRA`, `HAS_EXTRA`, "
                      "`HAS_LENGTH`, `HAS_EXTRA_LENGTH`, `HAS_SINK`, `SPLIT`, "
                      "`DEPENDENT`, `SLICES`, `CLUSTER`, `LSE` and `FP8`, "
                      "which the call binds, got `" +
                          name + "`");
    spec.params[name] = value;
  }
}

/// A positive parameter of an author's, or what stands for it. What is no such
/// number is refused where parameters are bound, with the line.
int64_t boundNumber(const std::map<std::string, std::string> &params,
                    const char *name, int64_t otherwise) {
  auto given = params.find(name);
  int64_t value = 0;
  if (given != params.end()) {
    const std::string &text = given->second;
    std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return value > 0 ? value : otherwise;
}

/// Why a mode of FP8 is not for this problem.
std::optional<std::string> declineFP8(const Problem &problem) {
  std::string mode = "compute `" + problem.compute + "`";
  for (const std::string &name : {problem.kvFormat, problem.extraFormat()})
    if (formatNamed("kv_format", name).payload == PayloadType::E2M1)
      return mode + " is refused for `" + name +
             "`: its scales are e4m3 per 16";
  const Target &target = targetNamed(problem.target);
  if (!target.has(Feature::MmaBlockScale))
    return mode + " needs mma of e4m3 with block scaling, which target `" +
           std::string(target.name) + "` has not";
  if (problem.source && problem.source->text.find("FP8 :") == std::string::npos)
    return mode + ": kernel file `" + problem.source->name +
           "` has no parameter FP8";
  return std::nullopt;
}

/// A kernel file that knows of a second cache has the parameter HAS_EXTRA;
/// those of kernels/ have it.
bool takesSecondCache(const Problem &problem) {
  return !problem.source ||
         problem.source->text.find("HAS_EXTRA") != std::string::npos;
}
} // namespace

int64_t Tiles::outputWarps() const {
  std::optional<RoleSplit> split = parseRoleSplit(roles);
  return split ? split->warps[2] : warps;
}

std::map<std::string, std::string> Tiles::params() const {
  std::map<std::string, std::string> params = {
      {"BH", std::to_string(heads)},
      {"BN", std::to_string(candidates)},
      {"WARPS", std::to_string(warps)}};
  if (!roles.empty())
    params["ROLES"] = roles;
  return params;
}

std::vector<Tiles> allTilesOf(const std::string &kernel,
                              const Problem &problem) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  const Target &target = targetNamed(problem.target);
  int fp8 = computeMode(problem.compute).fp8;
  std::vector<Tiles> fitting, withRoles;
  int mostDimQK = 0;
  int64_t least = 0; // padded heads of the narrowest tile
  for (const TileRow &row : kTiles) {
    if (kernel != row.kernel || row.mostDimQK < format.dimQK())
      continue;
    if (mostDimQK && row.mostDimQK != mostDimQK)
      break; // narrower formats come first
    mostDimQK = row.mostDimQK;
    Tiles tiles = row.tiles;
    // Fragments of 1024 elements in FP8 do not fit beside the accumulators.
    if (fp8 && kernel == "swapab" && format.dimQK() > 576)
      tiles.warps *= 2;
    std::map<std::string, std::string> params = tiles.params();
    params["FMT"] = problem.kvFormat;
    params["FP8"] = std::to_string(fp8);
    std::optional<LaunchWork> work = estimateWork(kernel, params, problem, 1);
    if (work && work->sharedBytes > target.sharedBytesPerBlock)
      continue;
    int64_t padded = roundUp(problem.numHeads, tiles.heads);
    if (!least)
      least = padded;
    if (5 * padded <= 8 * least)
      (tiles.roles.empty() ? fitting : withRoles).push_back(tiles);
  }
  if (fitting.empty())
    throw UnsupportedError("no tile of `" + kernel + "` holds keys of " +
                           std::to_string(format.dimQK()) + " elements, as `" +
                           std::string(format.name) + "` has");
  bool bound = problem.source != nullptr;
  Tiles tiles = fitting.back();
  auto bind = [&](const std::map<std::string, std::string> &params) {
    tiles.heads = boundNumber(params, "BH", tiles.heads);
    tiles.candidates = boundNumber(params, "BN", tiles.candidates);
    tiles.warps = boundNumber(params, "WARPS", tiles.warps);
    if (auto roles = params.find("ROLES"); roles != params.end()) {
      std::optional<RoleSplit> split = parseRoleSplit(roles->second);
      tiles.roles = split ? roles->second : "";
      if (split)
        tiles.warps = split->totalWarps();
    }
    for (const char *name : {"BH", "BN", "WARPS", "ROLES"})
      bound |= params.count(name) != 0;
  };
  if (problem.source)
    bind(problem.source->params);
  bind(problem.params);
  if (bound)
    return {tiles};
  fitting.insert(fitting.end(), withRoles.begin(), withRoles.end());
  return fitting;
}

Tiles tilesOf(const std::string &kernel, const Problem &problem) {
  std::vector<Tiles> all = allTilesOf(kernel, problem);
  auto end = std::find_if(all.begin() + 1, all.end(), [](const Tiles &tiles) {
    return !tiles.roles.empty();
  });
  return *(end - 1);
}

int64_t candidateTiles(const Problem &problem, int64_t tile) {
  return ceilDiv(problem.width, tile) +
         ceilDiv(problem.extraWidth.value_or(0), tile);
}

int64_t rowCtas(const Problem &problem, const Tiles &tiles) {
  int64_t headTiles = ceilDiv(problem.numHeads, tiles.heads);
  int64_t ctas = problem.numTokens * headTiles;
  if (ctas > kMaxGridX)
    throw ArgumentError("num_tokens",
                        "expected at most " +
                            std::to_string(kMaxGridX / headTiles) +
                            " rows of " + std::to_string(problem.numHeads) +
                            " heads (CTAs on grid x), got " +
                            std::to_string(problem.numTokens));
  return ctas;
}

bool isPersistent(const Problem &problem, const Tiles &tiles, int64_t numSMs) {
  auto given = problem.params.find(kPersistent);
  if (given != problem.params.end())
    return given->second == "true";
  // Measured: two items a CTA 8% slower, 15 of two tiles 16% faster, of 16
  // tiles 2 to 4%, of 64 tiles 1% slower.
  constexpr int64_t kLeastItems = 4, kMostTiles = 32;
  std::optional<RoleSplit> roles = parseRoleSplit(tiles.roles);
  return !problem.source && roles && roles->converts &&
         rowCtas(problem, tiles) >= kLeastItems * numSMs &&
         candidateTiles(problem, tiles.candidates) <= kMostTiles;
}

/// One copy a row: what gathers for others has nothing else to issue it with;
/// of equal warps where a CTA walks whole lists, so that there are tiles enough
/// for what it takes to begin with, and a tile has rows enough (measured:
/// swapab is 10% slower so, prefill of 16 heads 11% faster). Widths do not
/// count: a kernel serves all.
static bool isGatheredInBulk(const Problem &problem, const Tiles &tiles,
                             bool partial) {
  constexpr int64_t kLeastRows = 32;
  if (problem.source && problem.source->text.find("BULK") == std::string::npos)
    return false;
  return !tiles.roles.empty() || (!partial && tiles.candidates >= kLeastRows);
}

KernelSpec attentionSpec(const std::string &file, const Problem &problem,
                         const Plan &plan, const Tiles &tiles, bool partial) {
  KernelSpec spec;
  spec.file = file;
  spec.symbol = file;
  spec.params = tiles.params();
  spec.params["FMT"] = problem.kvFormat;
  spec.params["HAS_LENGTH"] = boolean(problem.hasLengths);
  spec.params["HAS_SINK"] = boolean(problem.hasSink && !partial);
  spec.params["LSE"] =
      std::to_string(partial ? 0 : static_cast<int>(problem.lse));
  if (takesSecondCache(problem)) {
    bool extra = problem.extraWidth.has_value();
    spec.params["EXTRA"] = extra ? problem.extraFormat() : problem.kvFormat;
    spec.params["HAS_EXTRA"] = boolean(extra);
    spec.params["HAS_EXTRA_LENGTH"] = boolean(problem.hasExtraLengths);
  }
  if (isGatheredInBulk(problem, tiles, partial))
    spec.params["BULK"] = "true";
  if (int fp8 = computeMode(plan.compute).fp8)
    spec.params["FP8"] = std::to_string(fp8);
  spec.target = plan.target;
  spec.source = problem.source;
  if (spec.source)
    addParams(spec, spec.source->params);
  addParams(spec, problem.params);
  return spec;
}

std::optional<std::string> declineCommon(const Problem &problem) {
  if (problem.extraWidth && !takesSecondCache(problem))
    return "kernel file `" + problem.source->name +
           "` takes one cache: it has no parameter HAS_EXTRA";
  if (computeMode(problem.compute).fp8)
    return declineFP8(problem);
  return std::nullopt;
}

std::optional<std::string> declineWholeRow(const Problem &problem) {
  if (problem.source)
    return "kernel file `" + problem.source->name +
           "` stands in the place of decode";
  if (problem.numSplits.value_or(1) > 1)
    return "num_splits " + std::to_string(*problem.numSplits) +
           " is asked for, and one CTA walks all candidates of a row (1 or "
           "none is accepted)";
  return declineCommon(problem);
}

std::span<const ComputeMode> computeModes() { return kModes; }

const ComputeMode &computeMode(std::string_view name) {
  for (const ComputeMode &mode : kModes)
    if (mode.name == name)
      return mode;
  return kModes[0];
}

void explainCompute(const Problem &problem, Plan &plan) {
  plan.reasons.push_back("compute: " + plan.compute +
                         (problem.compute != "auto"
                              ? ", as asked for"
                              : ", the fastest that keeps an error of "
                                "1.5e-2"));
}

const char *boolean(bool value) { return value ? "true" : "false"; }

std::string rowsText(const Problem &problem, int64_t headTiles) {
  return std::to_string(problem.numTokens) + " rows x " +
         std::to_string(headTiles) + " head tiles";
}

} // namespace mlatile
