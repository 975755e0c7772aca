// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RoleTile.h"

#include "Text.h"
#include "mlatile/Analysis/WarpArrangement.h"
#include "mlatile/Target/RegisterBudget.h"

#include <algorithm>
#include <cmath>

namespace mlatile {
namespace {
// Instructions besides mma, ldmatrix and conversions, and bytes of shared
// memory besides operands: fitted to the PTX of kernels/ for `4+4+4` with 16
// and 32 heads, `4c+4+4` with 32 and `4c+4+8` with 64, and held to it by
// unit.compiler. What stands for the form with rows converted once, where keys
// have their scales in them, has "Once" in its name.

// Warps that gather: a warp; a pair of keys that is converted.
constexpr double kGatherWarp = 95;
constexpr double kPairOnce = 4.8, kScaledPairOnce = 14.3;
constexpr double kPairOnceConversions = 1, kScaledPairOnceConversions = 3.5;
/// Relative scales, a warp.
constexpr double kScaleConversions = 4;
// Warps of scores: a warp, an element of the query's row, a pair of keys that
// is converted, a score, a score for each group of scales.
constexpr double kScoreWarp = 20, kScoreQuery = 3.0 / 16,
                 kScoreQueryFP8 = 1.0 / 8;
constexpr double kScorePair = 0.7, kScaledPair = 10.8;
constexpr double kScore = 14, kScoreGroup = 4.25, kScoreGroupFP8 = 2.6;
constexpr double kScoreRopeValue = 7; ///< probabilities of a second kind
constexpr double kScoreWarpOnce = 290, kScoreOnce = 2.5,
                 kScoreRopeValueOnce = 1.5;
// Bytes of a score.
constexpr double kScoreBytes = 15, kScoreBytesOnce = 5,
                 kScoreRopeValueBytesOnce = 2;
// What the loop of scores carries, of a thread: sums, maxima, stages.
constexpr int64_t kScoreCarried = 30;
// Warps of values: a warp, a rope part, a pair of keys, a probability for each
// group of scales.
constexpr double kValueWarp = 55, kValueRope = 30;
constexpr double kValuePair = 2.6, kValueFactor = 2.2;
constexpr double kValueProbabilityFP8 = 3.4;
// Bytes of a lane.
constexpr double kGatherBytes = 12, kGatherBytesOnce = 120;
constexpr double kValueBytes = 45, kValueBytesScaled = 80, kValueBytesOnce = 16;
// PTX outside of the loops: all, a register of the output, an element of the
// query that a thread brings.
constexpr double kCode = 1250, kCodeOnce = 1430;
constexpr double kCodeOutput = 4, kCodeQuery = 17, kCodeTerms = 8;
/// Barriers, units, maxima: bytes.
constexpr int64_t kSmallBuffers = 1000;

int64_t most(int64_t size, int64_t unit, int64_t warps) {
  return std::max<int64_t>(std::min(warps, (size & -size) / unit), 1);
}
} // namespace

RoleTile::RoleTile(const CacheFormat &format, const TileShape &shape,
                   const RoleSplit &split)
    : format(format), shape(shape), split(split),
      bits(format.payload == PayloadType::E2M1 ? 4 : 8),
      bn(static_cast<double>(shape.candidates)),
      groups(isScaledOutside(format) ? format.groups() : 0),
      scores(firstShare()), values(secondShare(format.nope, split.converts ? 8
                                                            : bits == 4 ? 32
                                                                        : 16)),
      ropeValues(secondShare(format.ropeInValue ? format.rope : 0, 8)) {
  if (!this->split.rowStages)
    this->split.rowStages = 2;
  if (!this->split.recordStages)
    this->split.recordStages = kRecordStages;
}

/// Warps along the heads first: their statistics stay in a warp.
Share RoleTile::firstShare() const {
  int64_t warps = split.warps[1];
  if (shape.swapped) {
    auto [warpsM, warpsN] =
        arrangeWarps(shape.candidates, shape.heads, 0, 0, warps);
    return {static_cast<double>(shape.heads) / static_cast<double>(warpsN),
            bn / static_cast<double>(warpsM)};
  }
  int64_t ofHeads = most(shape.heads, 16, warps);
  int64_t ofOthers = most(shape.candidates, 8, warps / ofHeads);
  return {static_cast<double>(shape.heads) / static_cast<double>(ofHeads),
          bn / static_cast<double>(ofOthers)};
}

/// Two row tiles a warp, unless that leaves warps without work.
Share RoleTile::secondShare(int64_t columns, int64_t unit) const {
  if (columns == 0)
    return {0, 0};
  int64_t warps = split.warps[2], heads = 0, others = 0;
  for (int64_t tiles : {2, 1}) {
    int64_t ofHeads = most(shape.heads, tiles * 16, warps);
    int64_t ofColumns = most(columns, unit, warps / ofHeads);
    if (ofHeads * ofColumns > heads * others) {
      heads = ofHeads;
      others = ofColumns;
    }
  }
  return {static_cast<double>(shape.heads) / static_cast<double>(heads),
          static_cast<double>(columns) / static_cast<double>(others)};
}

/// Groups of scales that the values of a warp meet.
double RoleTile::groupsOfAWarp() const {
  return groups == 0 ? 0 : std::ceil(values.others / format.group);
}

/// Columns of the query that registers keep, of products whose keys have 16
/// bits: steps of 16 of the first product, then of the next.
double RoleTile::heldColumns() const {
  auto perStep = std::max<int64_t>(static_cast<int64_t>(scores.heads) / 4, 1);
  int64_t steps = std::max<int64_t>(divideRegisters(split)[1] -
                                        kRoleWorkingRegisters - kScoreCarried,
                                    0) /
                  perStep;
  int64_t columns = (split.converts ? format.nope : 0) + format.rope;
  return static_cast<double>(std::min(16 * steps, columns));
}

RoleWork RoleTile::gather() const {
  RoleWork work;
  work.warps = static_cast<double>(split.warps[0]);
  double row = format.usedRow() + format.scaleRow + 4; // and the id
  work.sharedBytes = bn * row + work.warps * 32 * kGatherBytes;
  work.instructions = work.warps * kGatherWarp + bn * row / 512;
  if (!split.converts)
    return work;
  double pairs = bn * format.nope / 64;
  bool scaled = groups == 0;
  work.conversions =
      scaled ? pairs * kScaledPairOnceConversions
             : pairs * kPairOnceConversions + work.warps * kScaleConversions;
  work.instructions +=
      work.conversions + pairs * (scaled ? kScaledPairOnce : kPairOnce);
  work.sharedBytes += bn * (format.nope * (bits / 8 + 2) + format.rope * 4) +
                      work.warps * 32 * (kGatherBytesOnce - kGatherBytes);
  return work;
}

RoleWork RoleTile::first() const {
  RoleWork work;
  double w = work.warps = static_cast<double>(split.warps[1]);
  addProduct(work, w, scores, format.nope * (shape.fp8 ? 2 : 1), shape.fp8);
  addProduct(work, w, scores, format.rope, false);
  bool once = split.converts;
  double pairs = once || shape.fp8 ? 0 : w * scores.others * format.nope / 64;
  double probabilities = w * scores.heads * scores.others / 64;
  work.conversions =
      pairs * (groups ? 1 : 3.5) + probabilities * (format.ropeInValue ? 3 : 2);
  double read = format.dimQK() - heldColumns(); // of the query, each iteration
  double matrix =
      w *
      (scores.others * ((once ? 2 : bits / 8) * format.nope + 2 * format.rope) +
       scores.heads * 2 * read);
  double lanes = 2 * probabilities, other = 0, aScore = 0;
  if (once) {
    other =
        w * kScoreWarpOnce +
        lanes * (kScoreOnce + (format.ropeInValue ? kScoreRopeValueOnce : 0));
    aScore =
        kScoreBytesOnce + (format.ropeInValue ? kScoreRopeValueBytesOnce : 0);
  } else {
    other =
        w * kScoreWarp + pairs * (groups ? kScorePair : kScaledPair) +
        lanes * (kScore + (shape.fp8 ? kScoreGroupFP8 : kScoreGroup) * groups +
                 (format.ropeInValue && groups ? kScoreRopeValue : 0));
    if (groups)
      other += w * format.nope * (shape.fp8 ? kScoreQueryFP8 : kScoreQuery);
    aScore = kScoreBytes;
  }
  work.sharedBytes = matrix + 32 * lanes * aScore;
  // Maxima of warps that share rows.
  work.barriers = scores.others < bn ? 2 : 0;
  work.instructions = work.mma + matrix / 512 + work.conversions + other;
  return work;
}

RoleWork RoleTile::second() const {
  RoleWork work;
  double w = work.warps = static_cast<double>(split.warps[2]);
  addProduct(work, w, values, bn, shape.fp8 == 2);
  addProduct(work, w, ropeValues, bn, false);
  bool once = split.converts;
  double pairs = once || shape.fp8 == 2 ? 0 : w * values.others * bn / 64;
  double scaled =
      shape.fp8 == 2 ? convertedProbabilities(w, values, bn, format) : 0;
  double factors =
      once ? 0 : std::min(groups, groups > 8 ? groupsOfAWarp() : groups);
  work.conversions = pairs * (groups ? 1 : 4) + w * factors + scaled;
  double probabilities = values.heads * bn / 64;
  double matrix =
      w * (values.others * bn * (once ? 2 : bits / 8) +
           (values.heads + ropeValues.heads + ropeValues.others) * bn * 2);
  double aLane = groups ? kValueBytes + 3 * probabilities +
                              1.2 * probabilities * (groupsOfAWarp() - 1)
                        : kValueBytesScaled;
  if (once)
    aLane = kValueBytesOnce;
  work.sharedBytes = matrix + w * 32 * aLane;
  work.barriers = groups && !once ? 2 : 0;
  double output =
      w *
      (values.heads * values.others + ropeValues.heads * ropeValues.others) /
      32;
  double other =
      output + w * (kValueWarp + (format.ropeInValue ? kValueRope : 0)) +
      pairs * (groups ? kValuePair : kScaledPair) +
      scaled * kValueProbabilityFP8 +
      (once ? 0 : w * probabilities * groupsOfAWarp() * kValueFactor);
  work.instructions = work.mma + matrix / 512 + work.conversions + other;
  return work;
}

LoopWork RoleTile::work() const {
  LoopWork loop;
  loop.roles = {gather(), first(), second()};
  for (const RoleWork &role : loop.roles)
    loop.add(role);
  loop.ahead = static_cast<int>(split.rowStages) - 1;
  return loop;
}

double RoleTile::codeOutside() const {
  double output =
      (values.heads * values.others + ropeValues.heads * ropeValues.others) /
      32;
  double threads = 32 * static_cast<double>(split.warps[2]); // bring the query
  double query = static_cast<double>(shape.heads) * format.dimQK() / threads;
  return (split.converts ? kCodeOnce : kCode) + kCodeOutput * output +
         query * (kCodeQuery + (shape.fp8 ? kCodeTerms : 0));
}

int64_t RoleTile::gatheredBytes() const {
  int64_t row = roundUp(format.usedRow(), 16) + format.scaleRow + 16;
  return split.rowStages * shape.candidates * row;
}

int64_t RoleTile::convertedBytes() const {
  if (!split.converts)
    return 0;
  // Rows of each part are padded.
  int64_t row = 2 * format.dimQK() + 16 + (format.rope ? 16 : 0);
  return split.rowStages * shape.candidates * row;
}

int64_t RoleTile::recordBytes() const {
  int64_t p =
      shape.heads * (shape.candidates + 8) * 2 * (format.ropeInValue ? 2 : 1);
  int64_t scales = shape.candidates * static_cast<int64_t>(groups) * 2;
  return shape.heads * 2 * (format.dimQK() + 16) +
         split.recordStages * (p + scales) + kSmallBuffers;
}

bool RoleTile::sharesPlaces(const CacheFormat &other) const {
  if (!split.converts)
    return other.name == format.name;
  // Scales are in the keys; what is left of them is a number a row.
  return isScaledOutside(other) == isScaledOutside(format);
}

} // namespace mlatile
