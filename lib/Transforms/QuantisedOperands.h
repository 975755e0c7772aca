// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathered rows that dots read as they were copied, converting in registers.
#ifndef MLATILE_LIB_TRANSFORMS_QUANTISEDOPERANDS_H
#define MLATILE_LIB_TRANSFORMS_QUANTISEDOPERANDS_H

#include "mlatile/Dialect/Tile/IR/Tile.h"

namespace mlatile {

/// `value` without the transpositions (and conversions of layout) around it.
struct Untransposed {
  mlir::Value value;
  bool transposed = false;
};
Untransposed untransposed(mlir::Value value);

/// log2 of the elements that stand in 16 bits of the payload of `dequant`, if
/// all its uses are operands of dots that can read the payload itself; else 0.
/// Then its uses need a copy of 16 bits.
int operandPacking(tile::DequantOp dequant);

/// The fields of gathered rows that dots of `kernel` read as they are. To be
/// asked before the first is replaced: the answer for one depends on the
/// others.
llvm::DenseSet<mlir::Operation *> quantisedOperands(tile::KernelOp kernel);

/// How the rows and columns of the accumulator of a dot of `a` and `b` are
/// packed (DistributedLayout::mmaAccumulator).
struct AccumulatorPacking {
  int packM = 0, packN = 0;
};
AccumulatorPacking accumulatorPacking(mlir::Value a, mlir::Value b);

} // namespace mlatile
#endif
