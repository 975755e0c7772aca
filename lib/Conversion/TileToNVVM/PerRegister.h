// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operations: the same scalar operation for every register.
#ifndef MLATILE_CONVERSION_TILETONVVM_PERREGISTER_H
#define MLATILE_CONVERSION_TILETONVVM_PERREGISTER_H

#include "TilePattern.h"
#include "llvm/ADT/STLExtras.h"

namespace mlatile {

/// Patterns on laid-out tensors are tried before those of upstream, which
/// believe that any converted type is a scalar or vector.
inline constexpr unsigned kTensorBenefit = 3;

/// Operands register by register: [operand][register], scalars repeated. Empty
/// if the numbers of registers differ.
inline llvm::SmallVector<llvm::SmallVector<mlir::Value>>
registersOf(mlir::OpBuilder &builder, mlir::Operation *op,
            mlir::ValueRange converted, size_t count) {
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> regs;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), converted)) {
    if (mlir::isa<mlir::RankedTensorType>(from.getType()))
      regs.push_back(TileTypeConverter::unpack(builder, op->getLoc(), to));
    else
      regs.emplace_back(count, to);
    if (regs.back().size() != count)
      return {};
  }
  return regs;
}

/// Converts Op by Emit::emit(builder, loc, op, operands, result type), once a
/// register, or once if the result is a scalar and Emit::scalars is true.
template <typename Op, typename Emit>
struct PerRegisterPattern : TilePattern<Op> {
  explicit PerRegisterPattern(const mlir::LLVMTypeConverter &types)
      : TilePattern<Op>(types, kTensorBenefit) {}

  llvm::LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  mlir::ConversionPatternRewriter &rewriter) const override {
    const TileTypeConverter &types = this->types();
    mlir::Location loc = op->getLoc();
    mlir::Type resultType = op->getResult(0).getType();
    auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(resultType);
    if (!tensor) {
      if (!Emit::scalars || !resultType.isIntOrIndexOrFloat())
        return rewriter.notifyMatchFailure(op, "not a laid-out tensor");
      mlir::Value result =
          Emit::emit(rewriter, loc, op,
                     llvm::SmallVector<mlir::Value>(adaptor.getOperands()),
                     types.convertType(resultType));
      if (!result)
        return mlir::failure();
      rewriter.replaceOp(op, result);
      return mlir::success();
    }
    auto layout = TileTypeConverter::layoutOf(tensor);
    mlir::Type element = types.elementType(tensor);
    if (!layout || !element)
      return op.emitOpError("expected a tensor with a layout of its shape");
    auto regs =
        registersOf(rewriter, op, adaptor.getOperands(), layout->numRegs());
    if (regs.size() != op->getNumOperands())
      return op.emitOpError("expected operands with as many registers as the "
                            "result");
    llvm::SmallVector<mlir::Value> results;
    for (int reg = 0; reg < layout->numRegs(); ++reg) {
      llvm::SmallVector<mlir::Value> operands;
      for (const auto &operand : regs)
        operands.push_back(operand[reg]);
      results.push_back(Emit::emit(rewriter, loc, op, operands, element));
      if (!results.back())
        return mlir::failure();
    }
    rewriter.replaceOp(op, types.pack(rewriter, loc, tensor, results));
    return mlir::success();
  }
};

} // namespace mlatile
#endif
