// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith on laid-out tensors: the same operation on every register. Scalars are
// left to upstream's patterns, except conversions from and to f8E4M3FN.
#include "PerRegister.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mlatile {
namespace {

/// The LLVM operation with the same operands and fast-math flags. Overflow
/// flags are promises and may be forgotten.
template <typename To>
struct Same {
  static constexpr bool scalars = false;
  template <typename Op>
  static Value emit(OpBuilder &builder, Location loc, Op op,
                    ArrayRef<Value> operands, Type type) {
    auto result = To::create(builder, loc, TypeRange{type}, operands);
    if constexpr (requires {
                    op.getFastmath();
                    result.setFastmathFlags({});
                  })
      if (op.getFastmath() != arith::FastMathFlags::none)
        result.setFastmathFlags(
            arith::convertArithFastMathFlagsToLLVM(op.getFastmath()));
    return result->getResult(0);
  }
};

struct Negate {
  static constexpr bool scalars = false;
  static Value emit(OpBuilder &builder, Location loc, arith::NegFOp,
                    ArrayRef<Value> operands, Type) {
    return LLVM::FNegOp::create(builder, loc, operands[0]);
  }
};

struct CompareFloat {
  static constexpr bool scalars = false;
  static Value emit(OpBuilder &builder, Location loc, arith::CmpFOp op,
                    ArrayRef<Value> operands, Type) {
    return LLVM::FCmpOp::create(
        builder, loc, static_cast<LLVM::FCmpPredicate>(op.getPredicate()),
        operands[0], operands[1]);
  }
};

struct CompareInteger {
  static constexpr bool scalars = false;
  static Value emit(OpBuilder &builder, Location loc, arith::CmpIOp op,
                    ArrayRef<Value> operands, Type) {
    return LLVM::ICmpOp::create(
        builder, loc, static_cast<LLVM::ICmpPredicate>(op.getPredicate()),
        operands[0], operands[1]);
  }
};

struct Select {
  static constexpr bool scalars = false;
  static Value emit(OpBuilder &builder, Location loc, arith::SelectOp,
                    ArrayRef<Value> operands, Type) {
    return LLVM::SelectOp::create(builder, loc, operands[0], operands[1],
                                  operands[2]);
  }
};

/// Between index (i64 here) and integers of any width.
template <typename Extend>
struct IndexCast {
  static constexpr bool scalars = false;
  template <typename Op>
  static Value emit(OpBuilder &builder, Location loc, Op,
                    ArrayRef<Value> operands, Type type) {
    unsigned from = operands[0].getType().getIntOrFloatBitWidth();
    unsigned to = type.getIntOrFloatBitWidth();
    if (from == to)
      return operands[0];
    if (from > to)
      return LLVM::TruncOp::create(builder, loc, type, operands[0]);
    return Extend::create(builder, loc, type, operands[0]);
  }
};

struct ConstantPattern : TilePattern<arith::ConstantOp> {
  explicit ConstantPattern(const LLVMTypeConverter &types)
      : TilePattern(types, kTensorBenefit) {}
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tensor = dyn_cast<RankedTensorType>(op.getType());
    if (!tensor)
      return rewriter.notifyMatchFailure(op, "not a tensor");
    auto layout = TileTypeConverter::layoutOf(tensor);
    auto dense = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!layout || !dense)
      return op.emitOpError("expected one value for all elements and a layout");
    Type element = types().elementType(tensor);
    auto value = dense.getSplatValue<TypedAttr>();
    if (isa<IndexType>(value.getType()))
      value =
          rewriter.getIntegerAttr(element, cast<IntegerAttr>(value).getInt());
    else if (isa<IntegerType>(element) && isa<FloatAttr>(value))
      value = rewriter.getIntegerAttr(
          element, cast<FloatAttr>(value).getValue().bitcastToAPInt());
    SmallVector<Value> regs(
        layout->numRegs(),
        LLVM::ConstantOp::create(rewriter, op.getLoc(), element, value));
    rewriter.replaceOp(op, types().pack(rewriter, op.getLoc(), tensor, regs));
    return success();
  }
};

/// Whatever else is elementwise: upstream's scalar patterns do one register at
/// a time.
struct OtherElementwisePattern : ConversionPattern {
  OtherElementwisePattern(const TileTypeConverter &types, MLIRContext *context)
      : ConversionPattern(types, MatchAnyOpTypeTag(), kTensorBenefit - 1,
                          context) {}
  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<arith::ArithDialect>(op->getDialect()) ||
        op->getNumResults() != 1 || op->getNumRegions() != 0)
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    auto layout = tensor ? TileTypeConverter::layoutOf(tensor) : std::nullopt;
    if (!layout || !op->hasTrait<OpTrait::Scalarizable>())
      return rewriter.notifyMatchFailure(op, "not elementwise on tiles");
    for (Type type : op->getOperandTypes())
      if (isa<IndexType>(getElementTypeOrSelf(type)))
        return op->emitOpError("of index is not supported on tiles");
    const auto &types =
        *static_cast<const TileTypeConverter *>(getTypeConverter());
    auto regs = registersOf(rewriter, op, operands, layout->numRegs());
    if (regs.size() != op->getNumOperands())
      return op->emitOpError("expected operands with as many registers as the "
                             "result");
    SmallVector<Value> results;
    for (int reg = 0; reg < layout->numRegs(); ++reg) {
      OperationState state(op->getLoc(), op->getName());
      for (const auto &operand : regs)
        state.operands.push_back(operand[reg]);
      state.addTypes(types.elementType(tensor));
      state.addAttributes(op->getAttrs());
      results.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOp(op, types.pack(rewriter, op->getLoc(), tensor, results));
    return success();
  }
};

template <typename Op, typename To>
using Plain = PerRegisterPattern<Op, Same<To>>;

} // namespace

// In FloatCastToNVVM.cpp.
void populateFloatCastPatterns(TileTypeConverter &types,
                               RewritePatternSet &patterns);

void populateElementwisePatterns(TileTypeConverter &types, const Target &,
                                 RewritePatternSet &patterns) {
  patterns.add<
      Plain<arith::AddFOp, LLVM::FAddOp>, Plain<arith::SubFOp, LLVM::FSubOp>,
      Plain<arith::MulFOp, LLVM::FMulOp>, Plain<arith::DivFOp, LLVM::FDivOp>,
      Plain<arith::MaximumFOp, LLVM::MaximumOp>,
      Plain<arith::MinimumFOp, LLVM::MinimumOp>,
      Plain<arith::MaxNumFOp, LLVM::MaxNumOp>,
      Plain<arith::MinNumFOp, LLVM::MinNumOp>,
      Plain<arith::AddIOp, LLVM::AddOp>, Plain<arith::SubIOp, LLVM::SubOp>,
      Plain<arith::MulIOp, LLVM::MulOp>, Plain<arith::AndIOp, LLVM::AndOp>,
      Plain<arith::OrIOp, LLVM::OrOp>, Plain<arith::XOrIOp, LLVM::XOrOp>,
      Plain<arith::ShLIOp, LLVM::ShlOp>, Plain<arith::ShRSIOp, LLVM::AShrOp>,
      Plain<arith::ShRUIOp, LLVM::LShrOp>, Plain<arith::MaxSIOp, LLVM::SMaxOp>,
      Plain<arith::MinSIOp, LLVM::SMinOp>, Plain<arith::MaxUIOp, LLVM::UMaxOp>,
      Plain<arith::MinUIOp, LLVM::UMinOp>, Plain<arith::ExtSIOp, LLVM::SExtOp>,
      Plain<arith::ExtUIOp, LLVM::ZExtOp>,
      Plain<arith::TruncIOp, LLVM::TruncOp>,
      Plain<arith::SIToFPOp, LLVM::SIToFPOp>,
      Plain<arith::UIToFPOp, LLVM::UIToFPOp>,
      Plain<arith::FPToSIOp, LLVM::FPToSIOp>,
      Plain<arith::FPToUIOp, LLVM::FPToUIOp>,
      Plain<arith::BitcastOp, LLVM::BitcastOp>,
      PerRegisterPattern<arith::NegFOp, Negate>,
      PerRegisterPattern<arith::CmpFOp, CompareFloat>,
      PerRegisterPattern<arith::CmpIOp, CompareInteger>,
      PerRegisterPattern<arith::SelectOp, Select>,
      PerRegisterPattern<arith::IndexCastOp, IndexCast<LLVM::SExtOp>>,
      PerRegisterPattern<arith::IndexCastUIOp, IndexCast<LLVM::ZExtOp>>,
      ConstantPattern>(types);
  patterns.add<OtherElementwisePattern>(types, &types.getContext());
  populateFloatCastPatterns(types, patterns);
}

} // namespace mlatile
