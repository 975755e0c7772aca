// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.launch_dependents, tile.wait_dependencies: griddepcontrol.
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

template <typename Op, NVVM::GridDepActionKind kind>
struct GridDependencyPattern : ConvertOpToLLVMPattern<Op> {
  GridDependencyPattern(TileTypeConverter &types, const Target &target)
      : ConvertOpToLLVMPattern<Op>(types), target(target) {}

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!target.has(Feature::DependentLaunch))
      return op.emitOpError("expected a target with dependent launches, got ")
             << target.name;
    NVVM::GriddepcontrolOp::create(rewriter, op.getLoc(), kind);
    rewriter.eraseOp(op);
    return success();
  }

private:
  const Target &target;
};

} // namespace

void populateLaunchPatterns(TileTypeConverter &types, const Target &target,
                            RewritePatternSet &patterns) {
  using Kind = NVVM::GridDepActionKind;
  patterns.add<
      GridDependencyPattern<tile::LaunchDependentsOp, Kind::launch_dependents>,
      GridDependencyPattern<tile::WaitDependenciesOp, Kind::wait>>(types,
                                                                   target);
}

} // namespace mlatile
