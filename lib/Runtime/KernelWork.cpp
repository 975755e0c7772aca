// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelWork.h"

#include "KernelParameters.h"
#include "Text.h"
#include "mlatile/Analysis/WarpArrangement.h"
#include "mlatile/Target/Format.h"

#include <algorithm>
#include <charconv>

namespace mlatile {
namespace {
using Params = std::map<std::string, std::string>;

/// No tile is larger; products of sizes below stay in 64 bits.
constexpr int64_t kMostTile = 1 << 16;

/// A positive number among the parameters; 0 where it is none.
int64_t number(const Params &params, const char *name) {
  auto found = params.find(name);
  int64_t value = 0;
  if (found != params.end())
    std::from_chars(found->second.data(),
                    found->second.data() + found->second.size(), value);
  return value > 0 && value <= kMostTile ? value : 0;
}

/// The step that joins splits (kernels/steps/merge.mlir): splits that it loads
/// at once, and its instructions.
constexpr int64_t kMergedAtOnce = 8;
constexpr double kMergeInstructions = 600;

bool isTrue(const Params &params, const char *name) {
  auto found = params.find(name);
  return found != params.end() && found->second == "true";
}

/// What one warp has of a product of heads x others, in elements.
struct Share {
  double heads, others;
  bool operator==(const Share &) const = default;
};

/// The counts of one candidate tile, of all warps. Heads are the rows of both
/// products, or with `swapped` the columns; keys are converted by every warp
/// that reads them. Constants of `instructions` are fitted to the kernels of
/// kernels/, all else follows from how warps and operands are arranged.
class CandidateTile {
public:
  CandidateTile(const CacheFormat &format, int64_t heads, int64_t candidates,
                int64_t warps, bool swapped)
      : format(format), heads(heads), warps(warps), swapped(swapped),
        bits(format.payload == PayloadType::E2M1 ? 4 : 8),
        bn(static_cast<double>(candidates)), w(static_cast<double>(warps)),
        scores(share(candidates, /*packed=*/false)),
        values(share(format.nope, /*packed=*/true)),
        ropeValues(share(format.ropeInValue ? format.rope : 0,
                         /*packed=*/false)) {}

  LoopWork work() const {
    LoopWork work;
    work.mma =
        mma(scores, format.dimQK()) + mma(values, bn) + mma(ropeValues, bn);
    work.mmaFlops[static_cast<size_t>(MmaRate::F16)] =
        work.mma * (2 * 16 * 8 * 16);
    work.conversions = conversions();
    work.sharedBytes = sharedBytes();
    work.barriers = barriers();
    // Other instructions for a pair of keys (scaled: two products), a sum that
    // is multiplied, a score, and the rest of an iteration.
    double aPair = format.scale == ScaleType::F32     ? 1.7
                   : format.scale == ScaleType::UE8M0 ? 4.9
                                                      : 9.2;
    double ldmatrix = matrixBytes() / 512;
    work.instructions = work.mma + ldmatrix + work.conversions +
                        aPair * (keyPairs() + valuePairs()) + w * registers() +
                        98 * w * scores.heads * scores.others / 32 +
                        (swapped ? 24 : 103) * w;
    work.ahead = 1;
    return work;
  }

  /// Registers of a thread that hold output.
  double registers() const {
    return (values.heads * values.others +
            ropeValues.heads * ropeValues.others) /
           32;
  }

private:
  Share share(int64_t others, bool packed) const {
    if (others == 0)
      return {0, 0};
    int pack = !packed ? 0 : bits == 4 ? 2 : 1;
    int64_t m = swapped ? others : heads, n = swapped ? heads : others;
    auto [warpsM, warpsN] =
        arrangeWarps(m, n, swapped ? pack : 0, swapped ? 0 : pack, warps);
    double ofHeads = static_cast<double>(swapped ? warpsN : warpsM);
    double ofOthers = static_cast<double>(swapped ? warpsM : warpsN);
    return {static_cast<double>(heads) / ofHeads,
            static_cast<double>(others) / ofOthers};
  }

  double mma(const Share &share, double k) const {
    return w * share.heads * share.others * k / (16 * 8 * 16);
  }

  /// Pairs of keys that are converted for scores and for values, by the lanes
  /// of a warp at once.
  double keyPairs() const { return w * scores.others * format.nope / 64; }
  double valuePairs() const { return w * values.others * bn / 64; }

  bool isScaledOutside() const { return format.scale == ScaleType::F32; }

  double conversions() const {
    // A pair of e4m3 to f16; each half to f32; both to 16 bits.
    double aPair = bits == 8 ? 4 : 3;
    double all = aPair * (keyPairs() + valuePairs());
    // e4m3 scales: one for 8 keys of a row, two for 8 values of two rows.
    if (format.scale == ScaleType::E4M3)
      all += keyPairs() / 2 + valuePairs();
    // p to 16 bits, multiplied by the scales of each group first.
    const Share &p = isScaledOutside() ? Share{values.heads, bn} : scores;
    return all + w * p.heads * p.others / 64 *
                     (isScaledOutside() ? format.groups() : 1);
  }

  /// Bytes through ldmatrix: keys, p, and the parts of 16 bits.
  double matrixBytes() const {
    double p = swapped || isScaledOutside()
                   ? 0
                   : values.heads * bn * 2 + (ropeValues.heads == values.heads
                                                  ? 0
                                                  : ropeValues.heads * bn * 2);
    return w * (scores.others * format.nope * bits / 8 +
                values.others * bn * bits / 8 +
                (scores.heads + scores.others) * format.rope * 2 +
                ropeValues.others * bn * 2 + p);
  }

  double sharedBytes() const {
    double gathered = bn * (format.usedRow() + format.scaleRow + 4);
    double query = w * scores.heads * format.nope * 2;
    double slots = w * 8 * scores.others * 4;
    return gathered + query + slots + matrixBytes() + scaleBytes() +
           (swapped ? 0 : exchangedBytes());
  }

  /// Each lane reads those of its rows: a score has one or two of them in four
  /// lanes, values have a quarter of all.
  double scaleBytes() const {
    double keyRows = w * 32 * scores.others / 8, valueRows = w * 32 * bn / 4;
    if (isScaledOutside()) {
      // Where heads are the columns one load serves both.
      double rows = swapped ? keyRows : 2 * keyRows + valueRows;
      return rows * format.groups() * 4;
    }
    if (format.scale == ScaleType::E4M3) // a byte at a time
      return keyRows * format.nope / 32 + valueRows * values.others / 32;
    int64_t vector = std::min(16, format.scaleRow & -format.scaleRow);
    return (keyRows + valueRows) *
           static_cast<double>(roundUp(format.groups(), vector));
  }

  /// p, stored and, where scales multiply it, read as f32; maxima and sums of
  /// the warps beside each other; factors for other rows than those of scores.
  double exchangedBytes() const {
    double stored = static_cast<double>(heads) * bn * 2;
    double moved =
        isScaledOutside() ? stored * 2 + w * values.heads * bn * 4 : stored;
    double beside = static_cast<double>(heads) / scores.heads;
    double columns = w / beside;
    double statistics =
        columns > 1 ? 2 * w * scores.heads * 4 * (1 + 4 * columns) : 0;
    auto factors = [&](const Share &share) {
      return share.heads == scores.heads ? 0 : w * 4 * share.heads * 4;
    };
    return moved + statistics + factors(values) +
           (format.ropeInValue ? factors(ropeValues) : 0);
  }

  double barriers() const {
    if (swapped)
      return 0;
    // Behind the maxima and behind sums and p; one more where p of 16 bits
    // takes the place of the maxima or factors move; factors of the other part.
    double more = !isScaledOutside() || values.heads != scores.heads;
    if (format.ropeInValue && ropeValues.heads != scores.heads)
      ++more;
    return 2 + more;
  }

  const CacheFormat &format;
  int64_t heads, warps;
  bool swapped;
  int bits;
  double bn, w;
  Share scores, values, ropeValues;
};

std::optional<LaunchWork> attention(const Params &params,
                                    const Problem &problem, int64_t splits,
                                    bool swapped) {
  auto formatName = params.find("FMT");
  int64_t heads = number(params, "BH"), candidates = number(params, "BN"),
          warps = number(params, "WARPS");
  const CacheFormat *format = formatName == params.end()
                                  ? nullptr
                                  : findCacheFormat(formatName->second);
  if (!format || !heads || !candidates || !warps)
    return std::nullopt;

  double rows = static_cast<double>(problem.numTokens);
  LaunchWork work;
  work.sharers = ceilDiv(problem.numHeads, heads);
  double grid =
      rows * static_cast<double>(work.sharers) * static_cast<double>(splits);
  if (grid > static_cast<double>(kMaxGridX))
    return std::nullopt;
  work.grid = static_cast<int64_t>(grid);
  work.threads = static_cast<int>(32 * warps);
  work.instructions = 600;
  work.chain = 4; // lengths, ids, rows, output
  // A split is a part of the first list's tiles followed by the second's.
  int64_t left = ceilDiv(candidateTiles(problem, candidates), splits);
  auto addList = [&](const CacheFormat &rowFormat, int64_t width) {
    CandidateTile tile(rowFormat, heads, candidates, warps, swapped);
    LoopWork loop = tile.work();
    // The loop's own, and 15 to start and store a register of the output.
    work.instructions += loop.instructions / static_cast<double>(warps);
    if (work.loops.empty())
      work.instructions += 15 * tile.registers();
    loop.iterations = std::min(left, ceilDiv(width, candidates));
    left -= loop.iterations;
    work.loops.push_back(loop);
    double bytes = rowFormat.usedRow() + rowFormat.scaleRow + 4; // and the id
    work.gatherBytes += rows * static_cast<double>(work.sharers) *
                        static_cast<double>(width) * bytes;
  };
  // Two stages of rows with their scales and slots, of both lists in one place,
  // which also serves between them.
  int64_t stages = 0;
  auto place = [&](const CacheFormat &rowFormat) {
    int64_t row = roundUp(rowFormat.usedRow(), 16) + rowFormat.scaleRow + 16;
    stages = std::max(stages, 2 * candidates * row);
  };
  addList(*format, problem.width);
  place(*format);
  if (problem.extraWidth)
    if (const CacheFormat *extra = findCacheFormat(problem.extraFormat())) {
      addList(*extra, *problem.extraWidth);
      place(*extra);
      // Sums that move to the order of the other payload, rows padded.
      if (extra->payload != format->payload)
        stages = std::max(stages, swapped ? format->nope * (4 * heads + 16)
                                          : heads * (4 * format->nope + 16));
    }
  // Rows of q and p are padded.
  work.sharedBytes =
      stages +
      heads * 2 * (format->dimQK() + 16 + (swapped ? 0 : candidates + 8));
  double query = rows * static_cast<double>(problem.numHeads);
  work.memoryBytes = query * 2 * format->dimQK();
  bool joins = isTrue(params, "SLICES");
  if (splits > 1)
    work.l2Bytes = query * static_cast<double>(splits) * 4 *
                   (format->dimV() + 2) * (joins ? 2 : 1);
  if (splits == 1 || joins)
    work.memoryBytes += query * 2 * format->dimV();
  if (joins) { // the counter, the splits of the slice, its output
    work.chain += static_cast<int>(
        2 + std::min(ceilDiv(splits, kMergedAtOnce), kMostTile));
    work.instructions += kMergeInstructions;
  }
  work.l2Bytes += work.memoryBytes;
  return work;
}

std::optional<LaunchWork> merge(const Params &params, const Problem &problem,
                                int64_t splits) {
  int64_t heads = number(params, "BH"), columns = number(params, "BD"),
          warps = number(params, "WARPS");
  const CacheFormat *format = findCacheFormat(problem.kvFormat);
  if (!heads || !columns || !warps || !format)
    return std::nullopt;
  int64_t value = format->dimV();
  double rows = static_cast<double>(problem.numTokens);
  double grid = rows * static_cast<double>(ceilDiv(problem.numHeads, heads) *
                                           ceilDiv(value, columns));
  if (grid > static_cast<double>(kMaxGridX))
    return std::nullopt;
  LaunchWork work;
  work.grid = static_cast<int64_t>(grid);
  work.threads = static_cast<int>(32 * warps);
  work.instructions = kMergeInstructions;
  work.chain = 1; // output
  LoopWork loop;
  loop.instructions = static_cast<double>(warps) * 300;
  loop.readsMemory = false;
  loop.iterations = ceilDiv(splits, kMergedAtOnce);
  work.loops.push_back(loop);
  double query = rows * static_cast<double>(problem.numHeads);
  work.memoryBytes = query * 2 * static_cast<double>(value);
  work.l2Bytes = work.memoryBytes + query * static_cast<double>(splits) * 4 *
                                        static_cast<double>(value + 2);
  return work;
}
} // namespace

std::optional<LaunchWork> estimateWork(std::string_view name,
                                       const Params &params,
                                       const Problem &problem, int64_t splits) {
  return params.count("BN")
             ? attention(params, problem, splits, name == "swapab")
             : merge(params, problem, splits);
}

} // namespace mlatile
