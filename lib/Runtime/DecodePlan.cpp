// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels/decode.mlir: its parameters, grids and scratch. One CTA computes a
// tile of heads of one row over one split of the candidates; `merge` joins the
// splits.
#include "Implementations.h"
#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"

#include <algorithm>

namespace mlatile {
namespace {
constexpr int64_t kHeadTile = 16;      // BH
constexpr int64_t kCandidateTile = 32; // BN
constexpr int64_t kMergeColumns = 64;  // BD
constexpr int64_t kWarps = 4;
constexpr int64_t kMaxGridX = 2147483647;
/// Keys and accumulators of wider rows fit neither the arena nor the registers.
constexpr int kMostNope = 512;

bool isBuilt(const CacheFormat &format) {
  return format.payload == PayloadType::E4M3 && format.nope <= kMostNope;
}

/// "format `x` is not built yet (`a`, `b` are)"
std::string notBuilt(const CacheFormat &format) {
  std::string built;
  for (const CacheFormat &other : cacheFormats())
    if (isBuilt(other))
      built += (built.empty() ? "`" : ", `") + std::string(other.name) + "`";
  return "format `" + std::string(format.name) + "` is not built yet (" +
         built + " are)";
}

const char *boolean(bool value) { return value ? "true" : "false"; }

/// Parameters of @decode and @merge: the only place that knows their names.
KernelSpec decodeSpec(const Problem &problem, const Plan &plan, bool split) {
  // The sink and lse of a split problem belong to the merge.
  KernelSpec spec;
  spec.file = "decode";
  spec.symbol = "decode";
  spec.params = {
      {"FMT", problem.kvFormat},
      {"BH", std::to_string(kHeadTile)},
      {"BN", std::to_string(kCandidateTile)},
      {"WARPS", std::to_string(kWarps)},
      {"HAS_LENGTH", boolean(problem.hasLengths)},
      {"HAS_SINK", boolean(problem.hasSink && !split)},
      {"SPLIT", boolean(split)},
      {"LSE", std::to_string(split ? 0 : static_cast<int>(problem.lse))},
  };
  spec.target = plan.target;
  spec.source = problem.source;
  return spec;
}

KernelSpec mergeSpec(const Problem &problem, const Plan &plan) {
  KernelSpec spec;
  spec.file = "decode";
  spec.symbol = "merge";
  spec.params = {
      {"BH", std::to_string(kHeadTile)},
      {"BD", std::to_string(kMergeColumns)},
      {"WARPS", std::to_string(kWarps)},
      {"HAS_SINK", boolean(problem.hasSink)},
      {"LSE", std::to_string(static_cast<int>(problem.lse))},
  };
  spec.target = plan.target;
  spec.source = problem.source;
  return spec;
}

/// What the call decides cannot be bound by the kernel's author.
void addSourceParams(KernelSpec &spec) {
  if (!spec.source || spec.symbol != "decode")
    return;
  for (const auto &[name, value] : spec.source->params) {
    for (const char *own : {"FMT", "HAS_LENGTH", "HAS_SINK", "SPLIT", "LSE"})
      if (name == own)
        throw ArgumentError("params", "expected none of `FMT`, `HAS_LENGTH`, "
                                      "`HAS_SINK`, `SPLIT` and `LSE`, which "
                                      "the call binds, got `" +
                                          name + "`");
    spec.params[name] = value;
  }
}

/// Splits so that all CTAs run at once and none is without a candidate tile.
int64_t planSplits(int64_t ctas, int64_t tiles, int64_t numSMs) {
  int64_t splits = std::clamp<int64_t>(numSMs / ctas, 1, tiles);
  return ceilDiv(tiles, ceilDiv(tiles, splits));
}
} // namespace

std::optional<std::string> declineDecode(const Problem &problem) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  if (!isBuilt(format))
    return notBuilt(format);
  if (problem.extraWidth)
    return "a second cache is not built yet";
  bool fp8 = problem.compute == "fp8" || problem.compute == "fp8_fast";
  if (fp8 && format.payload == PayloadType::E2M1)
    return "compute `" + problem.compute + "` is refused for `" +
           problem.kvFormat + "`: its scales are e4m3 per 16";
  if (fp8)
    return "compute `" + problem.compute + "` is not built yet (`bf16` is)";
  return std::nullopt;
}

void buildDecode(const Problem &problem, Plan &plan) {
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  plan.compute = "bf16";
  plan.reasons.push_back(problem.compute == "auto"
                             ? "compute: bf16, the only mode built"
                             : "compute: bf16, as asked for");
  if (problem.numTokens == 0)
    return;

  int64_t rows = problem.numTokens;
  int64_t headTiles = ceilDiv(problem.numHeads, kHeadTile);
  int64_t tiles = ceilDiv(problem.width, kCandidateTile);
  int64_t ctas = rows * headTiles;
  int64_t columns = ceilDiv(format.dimV(), kMergeColumns);
  if (ctas > kMaxGridX)
    throw ArgumentError(
        "num_tokens",
        "expected at most " + std::to_string(kMaxGridX / headTiles) +
            " rows of " + std::to_string(problem.numHeads) +
            " heads (CTAs on grid x), got " + std::to_string(rows));
  std::string work = std::to_string(ctas) + " CTAs (" + std::to_string(rows) +
                     " rows x " + std::to_string(headTiles) + " head tiles), " +
                     std::to_string(tiles) + " candidate tiles of " +
                     std::to_string(kCandidateTile);
  if (problem.numSplits) {
    plan.numSplits = *problem.numSplits;
    int64_t most = plan.numSplits > 1 ? kMaxGridX / ctas : kMaxGridX;
    if (plan.numSplits > most ||
        (plan.numSplits > 1 && ctas * columns > kMaxGridX))
      throw ArgumentError(
          "num_splits",
          "expected at most " +
              std::to_string(ctas * columns > kMaxGridX ? int64_t{1} : most) +
              " for " + std::to_string(ctas) +
              " CTAs a split (CTAs on grid x), got " +
              std::to_string(plan.numSplits));
    plan.reasons.push_back("num_splits: " + std::to_string(plan.numSplits) +
                           ", as asked for; " + work);
  } else {
    plan.numSplits = planSplits(ctas, tiles, plan.numSMs);
    plan.reasons.push_back("num_splits: " + std::to_string(plan.numSplits) +
                           ", fills " + std::to_string(plan.numSMs) +
                           " SMs from " + work);
  }

  bool split = plan.numSplits > 1;
  if (split) {
    int64_t entries = plan.numSplits * rows * problem.numHeads;
    plan.partials.outputs = 0;
    plan.partials.maxima = roundUp(entries * format.dimV() * 4, 256);
    plan.partials.sums = plan.partials.maxima + roundUp(entries * 4, 256);
    plan.partials.end = plan.partials.sums + roundUp(entries * 4, 256);
    plan.workspaceBytes = plan.counterBytes + plan.partials.end;
  }

  LaunchStep decode{decodeSpec(problem, plan, split),
                    static_cast<uint32_t>(ctas * plan.numSplits),
                    split ? "rows x head tiles x splits" : "rows x head tiles"};
  addSourceParams(decode.kernel);
  plan.launches.push_back(std::move(decode));
  if (split)
    plan.launches.push_back({mergeSpec(problem, plan),
                             static_cast<uint32_t>(ctas * columns),
                             "joins the splits, rows x head tiles x columns of "
                             "the value"});
}

} // namespace mlatile
