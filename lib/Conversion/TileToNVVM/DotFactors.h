// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of an operand of tilegpu.dot: a[m, k] times factors[n / g, k] in
// products with column n of b (for b: b[k, n] times factors[m / g, k]).
//
// A lane has pairs along K of its fragments, and of a row of factors the same
// pairs: one multiplication a register. A fragment is multiplied once for each
// group among the warp's own columns (rows) of c.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_DOTFACTORS_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_DOTFACTORS_H

#include "DotOperand.h"

#include <tuple>

namespace mlatile {

class DotFactors {
public:
  /// Of operand a if `isA`. `factors`: the buffer's pointer; `size`: columns of
  /// c (rows, for b).
  DotFactors(DotOperandLoader &operand, const DotTiles &dot, bool isA,
             tilegpu::BufferType type, mlir::Value factors, int64_t size);

  /// The fragment of tile `tile` and step `step` for products with tile `other`
  /// of the other operand.
  llvm::ArrayRef<mlir::Value> fragment(int tile, int step, int other);

private:
  mlir::Value pair(int64_t group, int step, int half);

  DotOperandLoader &operand;
  const DotTiles &dot;
  bool isA;
  tilegpu::BufferType type;
  int64_t group;       ///< columns of c in one
  int64_t blockStride; ///< from a block of tiles to the warp's next
  mlir::Value start;
  std::map<std::tuple<int, int, int64_t>, DotOperandLoader::Fragment> products;
  std::map<std::tuple<int64_t, int, int>, mlir::Value> pairs;
};

} // namespace mlatile
#endif
