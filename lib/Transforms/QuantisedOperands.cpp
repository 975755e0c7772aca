// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "QuantisedOperands.h"

#include "mlatile/Analysis/WarpArrangement.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"

using namespace mlir;

namespace mlatile {

Untransposed untransposed(Value value) {
  Untransposed result{value};
  while (Operation *op = result.value.getDefiningOp()) {
    if (auto trans = dyn_cast<tile::TransposeOp>(op))
      result.transposed = !result.transposed;
    else if (!isa<tilegpu::ConvertLayoutOp>(op))
      break;
    result.value = op->getOperand(0);
  }
  return result;
}

namespace {

const CacheFormat *formatOf(tile::DequantOp dequant) {
  auto rows = cast<tile::RowsType>(dequant.getRows().getType());
  return rows.getCacheFormat();
}

/// Whether a dot can convert this field in registers, and with its scales.
bool isConvertible(tile::DequantOp dequant) {
  const CacheFormat *format = formatOf(dequant);
  // Factors of the kernel's own are multiplied in by whoever converts.
  if (!format || dequant.getFactors())
    return false;
  auto type = cast<RankedTensorType>(dequant.getResult().getType());
  if (!type.getElementType().isBF16() && !type.getElementType().isF16())
    return false;
  if (dequant.getField() == tile::RowField::Payload)
    return true;
  // f32 scales stay out of 16 bits (docs/Rationale.md).
  return dequant.getField() == tile::RowField::Nope &&
         format->scale != ScaleType::F32 && format->group >= 16 &&
         llvm::isPowerOf2_64(format->group);
}

bool isConvertible(Value operand) {
  auto dequant = untransposed(operand).value.getDefiningOp<tile::DequantOp>();
  return dequant && isConvertible(dequant);
}

int packingOf(tile::DequantOp dequant) {
  return formatOf(dequant)->payload == PayloadType::E2M1 ? 2 : 1;
}

/// Whether operand `number` of `dot` can be read as it stands, its columns
/// (which run along the operand's rows if it is `transposed`) packed: along K,
/// steps are whole; along M or N, those of all warps are. Blocks of scales lie
/// along the columns and are whole as well.
bool columnsFit(Operation *dot, unsigned number, bool transposed, int packing) {
  int dim = transposed ? 0 : 1;
  bool alongK = (number == 0) == (dim == 1);
  int64_t size =
      cast<RankedTensorType>(dot->getOperand(number).getType()).getDimSize(dim);
  std::optional<ArrayRef<int64_t>> given;
  int64_t warps = 1; // as few as there need to be
  if (auto scaled = dyn_cast<tile::DotScaledOp>(dot)) {
    if (scaled.blocksAlongK() != alongK)
      return false;
    given = scaled.getWarps();
    int64_t block =
        size / scaled.getScale().getType().getDimSize(scaled.getBlockDim());
    if (alongK || scaled.getScale().getType().getElementType().isF32()) {
      // One product a block.
      size = block;
      // Every block is spread over the warps that stand along it.
      if (alongK) {
        warps = tilegpu::warpsAround(dot).value_or(1);
      } else {
        auto c = cast<RankedTensorType>(dot->getResult(0).getType());
        int packM = number == 0 ? packing : 0,
            packN = number == 1 ? packing : 0;
        auto arranged =
            arrangeWarps(c.getDimSize(0), c.getDimSize(1), packM, packN,
                         tilegpu::warpsAround(dot).value_or(1));
        warps = number == 0 ? arranged.warpsM : arranged.warpsN;
      }
    } else if (block % (8 << packing) != 0) {
      return false;
    }
  } else {
    given = cast<tile::DotOp>(dot).getWarps();
  }
  if (given)
    warps = (*given)[number];
  return size % ((8 << packing) * (alongK ? 1 : warps)) == 0;
}

bool usesAreOperands(tile::DequantOp dequant, Value value, bool transposed) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tile::TransposeOp, tilegpu::ConvertLayoutOp>(user)) {
      if (!usesAreOperands(dequant, user->getResult(0),
                           transposed != isa<tile::TransposeOp>(user)))
        return false;
      continue;
    }
    unsigned number = use.getOperandNumber();
    if (!isa<tile::DotOp, tile::DotScaledOp>(user) || number > 1)
      return false;
    if (auto dot = dyn_cast<tile::DotScaledOp>(user)) {
      // Only what is scaled may be quantised, and it is scaled once.
      if (number != (dot.getScaleA() ? 0u : 1u) ||
          dequant.getField() != tile::RowField::Payload)
        return false;
    }
    // One side of a product is of 16 bits.
    if (isConvertible(user->getOperand(1 - number)) ||
        !columnsFit(user, number, transposed, packingOf(dequant)))
      return false;
  }
  return true;
}

} // namespace

int operandPacking(tile::DequantOp dequant) {
  if (!isConvertible(dequant) ||
      !usesAreOperands(dequant, dequant.getResult(), /*transposed=*/false))
    return 0;
  return packingOf(dequant);
}

llvm::DenseSet<Operation *> quantisedOperands(tile::KernelOp kernel) {
  llvm::DenseSet<Operation *> operands;
  kernel->walk([&](tile::DequantOp dequant) {
    if (operandPacking(dequant))
      operands.insert(dequant);
  });
  return operands;
}

AccumulatorPacking accumulatorPacking(Value a, Value b) {
  AccumulatorPacking result;
  auto element = [](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getElementType();
  };
  auto packing = [&](Value operand, Value other, bool whenTransposed) {
    // A narrow product (tilegpu.dot) reads f8E4M3FN across K.
    if (isa<Float8E4M3FNType>(element(operand)) &&
        element(other) != element(operand))
      return 1;
    auto [value, transposed] = untransposed(operand);
    auto dequant = value.getDefiningOp<tile::DequantOp>();
    return dequant && transposed == whenTransposed ? operandPacking(dequant)
                                                   : 0;
  };
  result.packM = packing(a, b, /*whenTransposed=*/true);
  result.packN = packing(b, a, /*whenTransposed=*/false);
  return result;
}

} // namespace mlatile
