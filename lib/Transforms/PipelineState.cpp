// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PipelineState.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mlatile {

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

PipelineState PipelineState::first(OpBuilder &b, Location loc) {
  return {constant(b, loc, 0), constant(b, loc, 0)};
}

PipelineState PipelineState::next(OpBuilder &b, Location loc,
                                  int64_t stages) const {
  Value other = freed(b, loc);
  if (stages == 1)
    return {stage, other};
  Value one = constant(b, loc, 1);
  Value atLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage,
                                       constant(b, loc, stages - 1));
  return {arith::SelectOp::create(b, loc, atLast, constant(b, loc, 0),
                                  arith::AddIOp::create(b, loc, stage, one)),
          arith::SelectOp::create(b, loc, atLast, other, parity)};
}

Value PipelineState::freed(OpBuilder &b, Location loc) const {
  return arith::XOrIOp::create(b, loc, parity, constant(b, loc, 1));
}

} // namespace mlatile
