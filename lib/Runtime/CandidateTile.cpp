// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads are the rows of both products, or with `swapped` the columns. Constants
// of `instructions` and of conversions in FP8 are fitted to the kernels of
// kernels/, all else follows from how warps and operands are arranged.
#include "CandidateTile.h"

#include "mlatile/Analysis/WarpArrangement.h"

#include <algorithm>
#include <cmath>

namespace mlatile {

void addProduct(TileCounts &counts, double warps, const Share &share, double k,
                bool fp8) {
  constexpr double kRows = 16, kColumns = 8;
  double step = fp8 ? 32 : 16;
  double mma = warps * share.heads * share.others * std::ceil(k / step) /
               (kRows * kColumns);
  counts.mma += mma;
  counts.mmaFlops[static_cast<size_t>(fp8 ? MmaRate::BlockScaled8
                                          : MmaRate::F16)] +=
      mma * 2 * kRows * kColumns * step;
}

double convertedProbabilities(double warps, const Share &values, double bn,
                              const CacheFormat &format) {
  // Two groups of 32 at once.
  return warps * values.heads * bn / 64 * 4 *
         std::max(1.0, values.others / std::max(format.group, 64));
}

CandidateTile::CandidateTile(const CacheFormat &format, const TileShape &shape)
    : format(format), shape(shape),
      bits(format.payload == PayloadType::E2M1 ? 4 : 8),
      bn(static_cast<double>(shape.candidates)),
      w(static_cast<double>(shape.warps)),
      scores(share(shape.candidates, /*packed=*/false)),
      values(share(format.nope, /*packed=*/true)),
      ropeValues(share(format.ropeInValue ? format.rope : 0,
                       /*packed=*/false)) {}

LoopWork CandidateTile::work() const {
  LoopWork work;
  // The query in FP8 is two terms.
  addProduct(work, w, scores, format.nope * (shape.fp8 ? 2 : 1), shape.fp8);
  addProduct(work, w, scores, format.rope, false);
  addProduct(work, w, values, bn, shape.fp8 == 2);
  addProduct(work, w, ropeValues, bn, false);
  work.conversions = conversions();
  work.sharedBytes = sharedBytes();
  work.barriers = barriers();
  work.instructions =
      work.mma + matrixBytes() / 512 + work.conversions + otherInstructions();
  work.ahead = 1;
  return work;
}

Share CandidateTile::share(int64_t others, bool packed) const {
  if (others == 0)
    return {0, 0};
  int pack = !packed ? 0 : bits == 4 ? 2 : 1;
  bool swapped = shape.swapped;
  int64_t m = swapped ? others : shape.heads,
          n = swapped ? shape.heads : others;
  auto [warpsM, warpsN] =
      arrangeWarps(m, n, swapped ? pack : 0, swapped ? 0 : pack, shape.warps);
  double ofHeads = static_cast<double>(swapped ? warpsN : warpsM);
  double ofOthers = static_cast<double>(swapped ? warpsM : warpsN);
  return {static_cast<double>(shape.heads) / ofHeads,
          static_cast<double>(others) / ofOthers};
}

/// Pairs of keys that are converted for scores and for values, by the lanes of
/// a warp at once.
double CandidateTile::keyPairs() const {
  return shape.fp8 ? 0 : w * scores.others * format.nope / 64;
}
double CandidateTile::valuePairs() const {
  return shape.fp8 == 2 ? 0 : w * values.others * bn / 64;
}

/// Conversions of probabilities with their scales to e4m3.
double CandidateTile::valueScales() const {
  if (shape.fp8 != 2)
    return 0;
  if (shape.swapped)
    return w * values.heads * bn / 64 *
           (1 + std::min(format.groups(), format.nope / 64));
  return convertedProbabilities(w, values, bn, format);
}

double CandidateTile::conversions() const {
  // Probabilities to f16, and to bf16 where the rope part is a value.
  double p =
      static_cast<double>(shape.heads) * bn / 64 * (format.ropeInValue ? 2 : 1);
  // A pair of e4m3 is one instruction; so are relative scales to f16, some of
  // which are made again in each warp where candidates are the rows.
  double scales = bn * format.groups() / 32;
  if (shape.swapped)
    scales *= shape.fp8 == 2 ? 2 : 3.5 * w;
  if (isScaledOutside(format))
    return p + keyPairs() + valuePairs() + valueScales() + scales;
  // A pair of e2m1 to f16, each half to f32, scaled, and both to f16; e4m3
  // scales: one for 8 keys of a row, one a pair of values.
  return p + 3.5 * keyPairs() + 4 * valuePairs();
}

/// Moves, addresses, factors and the softmax: for a pair that is converted, a
/// score, and a partial sum of scores that a group's scale multiplies.
double CandidateTile::otherInstructions() const {
  double lanes = w * scores.heads * scores.others / 32;
  double pairs = keyPairs() + valuePairs();
  if (isScaledOutside(format))
    return 0.7 * pairs + 1.8 * valueScales() +
           lanes * (84 + (format.ropeInValue ? 18 : 0) +
                    (shape.fp8 ? 5.5 : 7.7) * format.groups());
  return 14.3 * pairs + 60 * lanes;
}

/// Bytes through ldmatrix: keys and the query for each warp's scores, values,
/// the parts of 16 bits, and p where it moves between warps.
double CandidateTile::matrixBytes() const {
  double p = shape.swapped ? 0 : (values.heads + ropeValues.heads) * bn * 2;
  return w * ((scores.others * bits / 8 + scores.heads * 2) * format.nope +
              values.others * bn * bits / 8 +
              (scores.heads + scores.others) * format.rope * 2 +
              ropeValues.others * bn * 2 + p);
}

double CandidateTile::sharedBytes() const {
  double gathered = bn * (format.usedRow() + format.scaleRow + 4);
  // Slots, scales and their units, maxima and p: bytes of a lane, fitted.
  double aLane = isScaledOutside(format) ? (shape.swapped ? 60 : 200)
                                         : (shape.swapped ? 170 : 230);
  return gathered + matrixBytes() + w * 32 * aLane;
}

double CandidateTile::barriers() const {
  // Swapped, all that is shared stays in a warp, but for scaled probabilities.
  if (shape.swapped)
    return shape.fp8 == 2 ? 2 : 0;
  // Behind the maxima, behind p; factors of the other part.
  return format.ropeInValue && ropeValues.heads != scores.heads ? 3 : 2;
}

} // namespace mlatile
