// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelWork.h"

#include "KernelParameters.h"
#include "MergePlan.h"
#include "RoleTile.h"
#include "Text.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlatile/Target/Target.h"

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

/// Code and registers of the step that joins splits (kernels/steps/merge.mlir):
/// a CTA, a head, what a thread has of a split and head at once, sums across
/// warps; no more registers than leave room for four CTAs.
constexpr double kMergeCode = 354, kMergeCodeOfHead = 43,
                 kMergeCodeOfPart = 116, kMergeCodeAcross = 74;
/// Of the step that joins those of a cluster (merge_peers.mlir): a CTA, a
/// split.
constexpr double kPeerCode = 240, kPeerCodeOfSplit = 85;
constexpr int64_t kMergeRegisters = 84, kMergeRegistersOfPart = 11,
                  kMostMergeRegisters = 128;
/// For an element of the query that a thread makes FP8 of: fitted.
constexpr double kCodeOfTerms = 8;

/// The tile of the step that joins splits.
struct Merge {
  int64_t heads, columns, warps, atOnce;

  /// Warps that have different heads or splits of the same columns.
  int64_t warpsOver() const {
    return std::max<int64_t>(warps / warpsOfColumns(columns), 1);
  }
  /// Vectors of a thread: splits times heads over the threads of a column.
  int64_t parts() const {
    int64_t threads = std::max<int64_t>(warps * 32 * kMergeVector / columns, 1);
    return std::max<int64_t>(heads * atOnce / threads, 1);
  }
  /// Barriers of a round, around where outputs meet across warps.
  int64_t barriers() const { return warpsOver() > heads ? 2 : 0; }
  double instructions() const {
    return kMergeCode + kMergeCodeOfHead * static_cast<double>(heads) +
           kMergeCodeOfPart * static_cast<double>(parts()) +
           (barriers() ? kMergeCodeAcross : 0);
  }
  int64_t registers() const {
    return std::min(kMergeRegisters + kMergeRegistersOfPart * parts(),
                    kMostMergeRegisters);
  }
};

/// AT_ONCE of the parameters, which `@decode` may leave as it is.
int64_t atOnceOf(const Params &params) {
  int64_t given = number(params, "AT_ONCE");
  return given ? given : 8;
}

/// What a split leaves of a head: output in f16, unit, maximum and sum.
double partialBytes(const CacheFormat &format) {
  return 2.0 * format.dimV() + 3 * 4;
}

bool isTrue(const Params &params, const char *name) {
  auto found = params.find(name);
  return found != params.end() && found->second == "true";
}

/// Roles of the kernel's warps, if its parameters say any.
std::optional<RoleSplit> rolesOf(const Params &params) {
  auto found = params.find("ROLES");
  return found == params.end() ? std::nullopt : parseRoleSplit(found->second);
}

/// The lists of a problem, the first one with the format that is bound.
struct List {
  const CacheFormat *format;
  int64_t width;
};

/// Two stages of rows with their scales and slots, of both lists in one place;
/// rows of q and p are padded.
int64_t sharedBytes(const std::vector<List> &lists, const TileShape &shape) {
  int64_t rowBytes = 0;
  const CacheFormat &format = *lists.front().format;
  for (const List &list : lists) {
    int64_t row = roundUp(list.format->usedRow(), 16) + list.format->scaleRow;
    int64_t stages = 2 * shape.candidates * (row + 16);
    // Sums move to the order of the other payload, rows padded, while its
    // first rows come.
    if (list.format->payload != format.payload)
      stages += shape.swapped ? format.nope * (4 * shape.heads + 16)
                              : shape.heads * (4 * format.nope + 16);
    rowBytes = std::max(rowBytes, stages);
  }
  int64_t p = shape.swapped ? 0 : shape.candidates + 8;
  return rowBytes + shape.heads * 2 * (format.dimQK() + 16 + p);
}

/// The same of roles, whose rows stand in channels: those of both lists in one
/// place only where they are the same.
int64_t sharedBytes(const std::vector<List> &lists, const TileShape &shape,
                    const RoleSplit &split) {
  const CacheFormat &format = *lists.front().format;
  RoleTile tile(format, shape, split);
  int64_t gathered = tile.gatheredBytes(), converted = tile.convertedBytes(),
          records = tile.recordBytes();
  for (size_t i = 1; i < lists.size(); ++i) {
    const CacheFormat &other = *lists[i].format;
    RoleTile second(other, shape, split);
    bool same = tile.sharesPlaces(other);
    // The ring of gathered rows is the role's own where it converts them.
    if (same || split.converts)
      gathered = std::max(gathered, second.gatheredBytes());
    else
      gathered += second.gatheredBytes();
    if (!same)
      converted += second.convertedBytes();
    records = std::max(records, second.recordBytes());
    if (other.payload != format.payload && !split.converts)
      records += shape.heads * (4 * format.nope + 16); // sums, as above
  }
  return gathered + converted + records;
}

std::optional<LaunchWork> attention(const Params &params,
                                    const Problem &problem, int64_t splits,
                                    bool swapped) {
  auto formatName = params.find("FMT");
  std::optional<RoleSplit> roles = rolesOf(params);
  TileShape shape{number(params, "BH"), number(params, "BN"),
                  roles ? roles->totalWarps() : number(params, "WARPS"),
                  swapped, static_cast<int>(number(params, "FP8"))};
  const CacheFormat *format = formatName == params.end()
                                  ? nullptr
                                  : findCacheFormat(formatName->second);
  if (!format || !shape.heads || !shape.candidates || !shape.warps)
    return std::nullopt;
  std::vector<List> lists = {{format, problem.width}};
  if (problem.extraWidth)
    if (const CacheFormat *extra = findCacheFormat(problem.extraFormat()))
      lists.push_back({extra, *problem.extraWidth});

  int64_t heads = shape.heads;
  double rows = static_cast<double>(problem.numTokens);
  LaunchWork work;
  work.sharers = ceilDiv(problem.numHeads, heads);
  double grid =
      rows * static_cast<double>(work.sharers) * static_cast<double>(splits);
  if (grid > static_cast<double>(kMaxGridX))
    return std::nullopt;
  work.grid = static_cast<int64_t>(grid);
  work.threads = static_cast<int>(32 * shape.warps);
  work.chain = 2; // ids and query, rows
  work.persistent = isTrue(params, kPersistent);
  if (roles) {
    RoleTile tile(*format, shape, *roles);
    work.instructions = tile.codeOutside();
    // A launch allocates all of an SM for one CTA.
    const Target *target = findTarget(problem.target);
    int registers = (target ? *target : targets().front()).registersPerSM;
    work.registers = static_cast<int>(
        std::min<int64_t>(registers / work.threads / 8 * 8, kMostRegisters));
    work.sharedBytes = sharedBytes(lists, shape, *roles);
  } else {
    CandidateTile tile(*format, shape);
    // 17 to start and store a register of the output.
    work.instructions = (swapped ? 1760 : 1230) + 17 * tile.registers();
    auto registers = static_cast<int64_t>(tile.carriedRegisters());
    work.registers =
        static_cast<int>(std::min(registerBudget(registers), kMostRegisters));
    if (shape.fp8) // the query's terms
      work.instructions += kCodeOfTerms * static_cast<double>(heads) *
                           format->nope / work.threads;
    work.sharedBytes = sharedBytes(lists, shape);
  }
  // A split is a part of the first list's tiles followed by the second's.
  int64_t left = ceilDiv(candidateTiles(problem, shape.candidates), splits);
  for (const List &list : lists) {
    LoopWork loop = roles ? RoleTile(*list.format, shape, *roles).work()
                          : CandidateTile(*list.format, shape).work();
    if (roles)
      for (const RoleWork &role : loop.roles)
        work.instructions += role.instructions / role.warps;
    else
      work.instructions += loop.instructions / static_cast<double>(shape.warps);
    loop.iterations = std::min(left, ceilDiv(list.width, shape.candidates));
    left -= loop.iterations;
    work.loops.push_back(loop);
    double bytes = list.format->usedRow() + list.format->scaleRow + 4; // the id
    work.gatherBytes += rows * static_cast<double>(work.sharers) *
                        static_cast<double>(list.width) * bytes;
  }
  double query = rows * static_cast<double>(problem.numHeads);
  work.memoryBytes = query * 2 * format->dimQK();
  int64_t cluster = std::max<int64_t>(number(params, "CLUSTER"), 1);
  bool clusters = cluster > 1;
  bool joins = isTrue(params, "SLICES") || clusters;
  if (splits > 1 && !clusters)
    work.l2Bytes = query * static_cast<double>(splits) * partialBytes(*format) *
                   (joins ? 2 : 1);
  if (splits == 1 || joins)
    work.memoryBytes += query * 2 * format->dimV();
  if (joins) { // heads x column tiles are the slices that splits share
    int64_t columns = ceilDiv(int64_t{format->dimV()},
                              std::max<int64_t>(number(params, "MERGE_BD"), 1));
    work.joins = !clusters;
    work.cluster = cluster;
    // All heads of a CTA at once, out of a cluster.
    int64_t slices =
        clusters
            ? columns *
                  ceilDiv(heads, std::max<int64_t>(number(params, "JOIN"), 1))
            : heads * columns;
    int64_t atOnce = atOnceOf(params);
    work.mergeRounds = ceilDiv(slices, splits) * ceilDiv(splits, atOnce);
    Merge tile{1, std::max<int64_t>(number(params, "MERGE_BD"), 1),
               roles ? roles->warps[2] : shape.warps, atOnce};
    if (!clusters)
      work.barriers += work.mergeRounds * tile.barriers();
    work.instructions +=
        clusters
            ? kPeerCode + kPeerCodeOfSplit * static_cast<double>(splitsAtOnce(
                                                 splits, kMostClustered))
            : tile.instructions();
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
  Merge tile{heads, columns, warps, atOnceOf(params)};
  work.instructions = tile.instructions();
  work.registers = static_cast<int>(tile.registers());
  work.mergeRounds = ceilDiv(splits, tile.atOnce);
  work.barriers = work.mergeRounds * tile.barriers();
  work.dependent = isTrue(params, "DEPENDENT");
  double query = rows * static_cast<double>(problem.numHeads);
  work.memoryBytes = query * 2 * static_cast<double>(value);
  work.l2Bytes = work.memoryBytes +
                 query * static_cast<double>(splits) * partialBytes(*format);
  return work;
}
} // namespace

int64_t splitsAtOnce(int64_t splits, int64_t most) {
  int64_t count = 2;
  while (count < splits && count < most)
    count *= 2;
  return count;
}

std::optional<LaunchWork> estimateWork(std::string_view name,
                                       const Params &params,
                                       const Problem &problem, int64_t splits) {
  return params.count("BN")
             ? attention(params, problem, splits, name == "swapab")
             : merge(params, problem, splits);
}

} // namespace mlatile
