// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the warps of a CTA do for one tile of candidates, by formulas:
// docs/CostModel.md, "Counts".
#ifndef MLATILE_LIB_RUNTIME_CANDIDATETILE_H
#define MLATILE_LIB_RUNTIME_CANDIDATETILE_H

#include "mlatile/Runtime/CostModel.h"
#include "mlatile/Target/Format.h"

namespace mlatile {

/// Sizes of a tile, from the parameters of an attention kernel.
struct TileShape {
  int64_t heads = 0, candidates = 0, warps = 0;
  bool swapped = false; ///< heads are the columns of both products
  int fp8 = 0;          ///< products on FP8: none, scores, values too
};

/// What one warp has of a product of heads x others, in elements.
struct Share {
  double heads, others;
  bool operator==(const Share &) const = default;
};

/// Scales in f32 multiply sums; else they are multiplied into keys.
inline bool isScaledOutside(const CacheFormat &format) {
  return format.scale != ScaleType::E4M3;
}

/// Adds a product of which each of `warps` warps has a share, over `k`
/// elements.
void addProduct(TileCounts &counts, double warps, const Share &share, double k,
                bool fp8);

/// Conversions of probabilities with the scales of each group to e4m3: four a
/// pair.
double convertedProbabilities(double warps, const Share &values, double bn,
                              const CacheFormat &format);

/// Equal warps: each converts the keys that it reads.
class CandidateTile {
public:
  CandidateTile(const CacheFormat &format, const TileShape &shape);

  LoopWork work() const;

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
  Share share(int64_t others, bool packed) const;
  double keyPairs() const;
  double valuePairs() const;
  double valueScales() const;
  double conversions() const;
  double otherInstructions() const;
  double matrixBytes() const;
  double sharedBytes() const;
  double barriers() const;

  const CacheFormat &format;
  TileShape shape;
  double bits, bn, w;
  Share scores, values, ropeValues;
};

} // namespace mlatile
#endif
