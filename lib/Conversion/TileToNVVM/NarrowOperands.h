// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of a narrow tilegpu.dot as fragments of m16n8k32 of f8E4M3FN.
//
// The order along K is that of two steps of 16 bits of the rounded operand: of
// each 16, a lane has k = 2t, 2t + 1, 2t + 8, 2t + 9 in one register.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_NARROWOPERANDS_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_NARROWOPERANDS_H

#include "DotFactors.h"
#include "DotOperand.h"

namespace mlatile {

/// Fragments of f16 rounded to f8E4M3FN, each pair of them once.
class NarrowFragments {
public:
  NarrowFragments(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// The fragment of a step of 32, of those of its two steps of 16, of which
  /// the second may be none: zeros.
  llvm::ArrayRef<mlir::Value> of(llvm::ArrayRef<mlir::Value> first,
                                 llvm::ArrayRef<mlir::Value> second);

private:
  /// Two pairs of f16 as four bytes.
  mlir::Value rounded(mlir::Value low, mlir::Value high);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value zero;
  llvm::DenseMap<mlir::Value, DotOperandLoader::Fragment> fragments;
};

/// The loader of a buffer of f8E4M3FN whose columns do not run along K; `dot`
/// counts steps of 32, of which the last may be half a one.
std::unique_ptr<DotOperandLoader>
makeAcrossKDotOperand(mlir::OpBuilder &builder, mlir::Location loc,
                      const DotTiles &dot, bool isA, tilegpu::BufferType buffer,
                      mlir::Value pointer);

} // namespace mlatile
#endif
