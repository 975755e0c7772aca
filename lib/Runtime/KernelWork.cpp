// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelWork.h"

#include "KernelParameters.h"
#include "Text.h"
#include "mlatile/Analysis/WarpArrangement.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Target/RegisterBudget.h"

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

constexpr int64_t kMostRegisters = 255;

/// Splits that the step that joins them loads at once, its code and registers
/// (kernels/steps/merge.mlir).
constexpr int64_t kMergedAtOnce = 8;
constexpr double kMergeInstructions = 900;
constexpr int kMergeRegisters = 80;

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
    work.instructions =
        work.mma + matrixBytes() / 512 + work.conversions + otherInstructions();
    work.ahead = 1;
    return work;
  }

  /// Registers of a thread that hold output.
  double registers() const {
    return (values.heads * values.others +
            ropeValues.heads * ropeValues.others) /
           32;
  }

  /// Registers of a thread that the loop carries: output, sums of
  /// probabilities, and two rows of maxima.
  double carriedRegisters() const {
    return registers() + scores.heads * scores.others / 32 + 2;
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

  /// Scales in f32 multiply sums; else they are multiplied into keys.
  bool isScaledOutside() const { return format.scale != ScaleType::E4M3; }

  double conversions() const {
    // Probabilities to f16, and to bf16 where the rope part is a value.
    double p =
        static_cast<double>(heads) * bn / 64 * (format.ropeInValue ? 2 : 1);
    // A pair of e4m3 is one instruction; so are relative scales to f16.
    if (isScaledOutside())
      return p + keyPairs() + valuePairs() + bn * format.groups() / 32;
    // A pair of e2m1 to f16, each half to f32, scaled, and both to f16; e4m3
    // scales: one for 8 keys of a row, one a pair of values.
    return p + 3.5 * keyPairs() + 4 * valuePairs();
  }

  /// Moves, addresses, factors and the softmax: for a pair that is converted,
  /// a score, and a partial sum of scores that a group's scale multiplies.
  double otherInstructions() const {
    double lanes = w * scores.heads * scores.others / 32;
    double pairs = keyPairs() + valuePairs();
    if (isScaledOutside())
      return 0.7 * pairs + lanes * (84 + 7.7 * format.groups());
    return 10.8 * pairs + 60 * lanes;
  }

  /// Bytes through ldmatrix: keys and the query for each warp's scores, values,
  /// the parts of 16 bits, and p where it moves between warps.
  double matrixBytes() const {
    double p = swapped ? 0 : (values.heads + ropeValues.heads) * bn * 2;
    return w * ((scores.others * bits / 8 + scores.heads * 2) * format.nope +
                values.others * bn * bits / 8 +
                (scores.heads + scores.others) * format.rope * 2 +
                ropeValues.others * bn * 2 + p);
  }

  double sharedBytes() const {
    double gathered = bn * (format.usedRow() + format.scaleRow + 4);
    // Slots, scales and their units, maxima and p: bytes of a lane, fitted.
    double aLane = swapped ? 60 : isScaledOutside() ? 200 : 110;
    return gathered + matrixBytes() + w * 32 * aLane;
  }

  double barriers() const {
    // Swapped, all that is shared stays in a warp.
    if (swapped)
      return 0;
    // Behind the maxima, behind p; factors of the other part.
    return format.ropeInValue && ropeValues.heads != scores.heads ? 3 : 2;
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
  work.instructions = 850;
  work.chain = 2; // ids and query, rows
  // A split is a part of the first list's tiles followed by the second's.
  int64_t left = ceilDiv(candidateTiles(problem, candidates), splits);
  auto addList = [&](const CacheFormat &rowFormat, int64_t width) {
    CandidateTile tile(rowFormat, heads, candidates, warps, swapped);
    LoopWork loop = tile.work();
    // The loop's own, and 19 to start and store a register of the output.
    work.instructions += loop.instructions / static_cast<double>(warps);
    if (work.loops.empty()) {
      work.instructions += 19 * tile.registers();
      auto registers = static_cast<int64_t>(tile.carriedRegisters());
      work.registers =
          static_cast<int>(std::min(registerBudget(registers), kMostRegisters));
    }
    loop.iterations = std::min(left, ceilDiv(width, candidates));
    left -= loop.iterations;
    work.loops.push_back(loop);
    double bytes = rowFormat.usedRow() + rowFormat.scaleRow + 4; // and the id
    work.gatherBytes += rows * static_cast<double>(work.sharers) *
                        static_cast<double>(width) * bytes;
  };
  // Two stages of rows with their scales and slots, of both lists in one place.
  auto stages = [&](const CacheFormat &rowFormat) {
    int64_t row = roundUp(rowFormat.usedRow(), 16) + rowFormat.scaleRow + 16;
    return 2 * candidates * row;
  };
  int64_t rowBytes = stages(*format);
  addList(*format, problem.width);
  if (problem.extraWidth)
    if (const CacheFormat *extra = findCacheFormat(problem.extraFormat())) {
      addList(*extra, *problem.extraWidth);
      int64_t second = stages(*extra);
      // Sums move to the order of the other payload, rows padded, while its
      // first rows come.
      if (extra->payload != format->payload)
        second += swapped ? format->nope * (4 * heads + 16)
                          : heads * (4 * format->nope + 16);
      rowBytes = std::max(rowBytes, second);
    }
  // Rows of q and p are padded.
  work.sharedBytes =
      rowBytes +
      heads * 2 * (format->dimQK() + 16 + (swapped ? 0 : candidates + 8));
  double query = rows * static_cast<double>(problem.numHeads);
  work.memoryBytes = query * 2 * format->dimQK();
  bool clusters = number(params, "CLUSTER") > 1;
  bool joins = isTrue(params, "SLICES") || clusters;
  if (splits > 1 && !clusters)
    work.l2Bytes = query * static_cast<double>(splits) * 4 *
                   (format->dimV() + 2) * (joins ? 2 : 1);
  if (splits == 1 || joins)
    work.memoryBytes += query * 2 * format->dimV();
  if (joins) { // heads x column tiles are the slices that splits share
    int64_t columns = ceilDiv(int64_t{format->dimV()},
                              std::max<int64_t>(number(params, "MERGE_BD"), 1));
    work.joins = !clusters;
    work.clusters = clusters;
    // All heads of a CTA at once, out of a cluster.
    int64_t slices =
        clusters
            ? columns *
                  ceilDiv(heads, std::max<int64_t>(number(params, "JOIN"), 1))
            : heads * columns;
    work.mergeRounds = ceilDiv(slices, splits) * ceilDiv(splits, kMergedAtOnce);
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
  work.registers = kMergeRegisters;
  work.mergeRounds = ceilDiv(splits, kMergedAtOnce);
  work.dependent = isTrue(params, "DEPENDENT");
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
