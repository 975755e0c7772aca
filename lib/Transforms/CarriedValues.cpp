// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CarriedValues.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace mlatile {

scf::ForOp carryMore(scf::ForOp loop, ValueRange inits) {
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  auto keep = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return SmallVector<Value>(arguments.begin(), arguments.end());
  };
  auto carrying = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, keep);
  // The loop's own results are not among the failures: it is no other kind.
  return cast<scf::ForOp>(carrying->getOperation());
}

void setLastYields(scf::ForOp loop, ValueRange values) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  unsigned first = yield->getNumOperands() - values.size();
  for (auto [i, value] : llvm::enumerate(values))
    yield->setOperand(first + i, value);
}

} // namespace mlatile
