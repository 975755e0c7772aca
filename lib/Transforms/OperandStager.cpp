// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OperandStager.h"

#include "QuantisedOperands.h"
#include "mlatile/Analysis/SharedLayout.h"

using namespace mlir;

namespace mlatile {

const DistributedLayout &layoutOf(Value value) {
  return tilegpu::LayoutAttr::of(value.getType()).getDistributed();
}

RankedTensorType withLayout(RankedTensorType type,
                            const DistributedLayout &layout) {
  return RankedTensorType::get(
      layout.shape(), type.getElementType(),
      tilegpu::LayoutAttr::get(type.getContext(), layout));
}

DistributedLayout::Result columnsInRegisters(const DistributedLayout &slice,
                                             int axis, int64_t size) {
  auto widen = [&](DistributedLayout::Bases bases) {
    for (auto &basis : bases)
      basis.insert(basis.begin() + axis, 0);
    return bases;
  };
  DistributedLayout::Bases reg;
  int64_t inBlock = size & -size;
  for (int64_t bit = 1; bit < inBlock; bit *= 2) {
    reg.emplace_back(slice.rank() + 1, 0);
    reg.back()[axis] = bit;
  }
  llvm::append_range(reg, widen(slice.regBases()));
  DistributedLayout::Coords reps = slice.reps();
  reps.insert(reps.begin() + axis, size / inBlock);
  return DistributedLayout::create(std::move(reg), widen(slice.laneBases()),
                                   widen(slice.warpBases()), std::move(reps));
}

bool staysInRegisters(Type element, const DistributedLayout &from,
                      const DistributedLayout &to) {
  return registersOnly(from, to) ||
         (element.getIntOrFloatBitWidth() == 16 && matrixTransposes(from, to));
}

int packingAlongK(Value a, Value b) {
  auto packing = [](Value operand, bool whenTransposed) {
    auto [value, transposed] = untransposed(operand);
    auto load = value.getDefiningOp<tilegpu::LoadQuantisedOp>();
    return load && transposed == whenTransposed
               ? tilegpu::packing(load.getPayload().getType().getElementType())
               : 0;
  };
  return std::max(packing(a, /*whenTransposed=*/false),
                  packing(b, /*whenTransposed=*/true));
}

Value readAgain(tilegpu::LoadSharedOp load, RankedTensorType type) {
  // At the same place: the buffer may be overwritten later.
  OpBuilder b(load);
  return tilegpu::LoadSharedOp::create(b, load.getLoc(), type,
                                       load.getBuffer());
}

Value OperandStager::alloc(Location loc, StringRef name,
                           ArrayRef<int64_t> shape, Type element) {
  auto type = tilegpu::BufferType::get(entry.getContext(), shape, element);
  if (shape.size() == 2)
    type = tilegpu::BufferType::get(entry.getContext(), shape, element,
                                    conflictFreeStride(type.getRowBytes()));
  return tilegpu::AllocOp::create(entry, loc, type, name, IntegerAttr());
}

OperandStager::Operand
OperandStager::operandOf(OpBuilder &b, Value value,
                         const DistributedLayout::Result &wanted,
                         StringRef name, int pack) {
  auto [source, transposed] = untransposed(value);
  if (auto load = source.getDefiningOp<tilegpu::LoadQuantisedOp>())
    return {load.getPayload(), transposed, load.getScales()};
  auto type = cast<RankedTensorType>(value.getType());
  if (wanted &&
      staysInRegisters(type.getElementType(), layoutOf(value), *wanted)) {
    return {tilegpu::ConvertLayoutOp::create(b, value.getLoc(),
                                             withLayout(type, *wanted), value)};
  }
  // What was read from a buffer, whole, is read there.
  if (auto load = source.getDefiningOp<tilegpu::LoadSharedOp>()) {
    if (Value packed = packedCopyOf(load, pack))
      return {packed, transposed, {}, /*packed=*/true};
    return {load.getBuffer(), transposed};
  }
  return stagePacked(source, transposed, name, /*beside=*/{}, pack);
}

Value OperandStager::packedCopyOf(tilegpu::LoadSharedOp load, int pack) {
  auto alloc = load.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  if (!alloc || pack == 0)
    return {};
  tilegpu::StoreSharedOp store;
  for (Operation *user : alloc.getResult().getUsers()) {
    if (isa<tilegpu::LoadSharedOp>(user))
      continue;
    auto one = dyn_cast<tilegpu::StoreSharedOp>(user);
    if (!one || store)
      return {};
    store = one;
  }
  if (!store || store->getBlock() != alloc->getBlock())
    return {};
  Operand staged = stagePacked(store.getTile(), /*transposed=*/false,
                               alloc.getName(), /*beside=*/{}, pack);
  return staged.packed ? staged.value : Value();
}

OperandStager::Operand OperandStager::stagePacked(Value source, bool transposed,
                                                  StringRef name, Value beside,
                                                  int pack) {
  auto layout = tilegpu::packedColumns(layoutOf(source), pack);
  if (!layout)
    return {stage(source, name, beside), transposed};
  Value &packed = packedColumns[{source, pack}];
  if (!packed) {
    OpBuilder after(kernel.getContext());
    after.setInsertionPointAfterValue(source);
    packed = tilegpu::PackColumnsOp::create(
        after, source.getLoc(),
        withLayout(cast<RankedTensorType>(source.getType()), *layout), source,
        after.getI64IntegerAttr(pack));
  }
  return {stage(packed, name, beside), transposed, {}, /*packed=*/true};
}

OperandStager::Operand OperandStager::columnsAlong(int dim, Value value,
                                                   StringRef name, Value beside,
                                                   int pack) {
  auto [source, transposed] = untransposed(value);
  if (transposed == (dim == 0)) {
    if (auto load = source.getDefiningOp<tilegpu::LoadSharedOp>()) {
      if (Value packed = packedCopyOf(load, pack))
        return {packed, transposed, {}, /*packed=*/true};
      return {load.getBuffer(), transposed};
    }
    if (auto load = source.getDefiningOp<tilegpu::LoadQuantisedOp>())
      return {load.getPayload(), transposed, load.getScales()};
    return stagePacked(source, transposed, name, beside, pack);
  }
  auto type = cast<RankedTensorType>(source.getType());
  OpBuilder after(kernel.getContext());
  after.setInsertionPointAfterValue(source);
  auto turned = tilegpu::transposedLayout(layoutOf(source));
  source = tile::TransposeOp::create(after, source.getLoc(),
                                     withLayout(type, *turned), source);
  return stagePacked(source, dim == 0, name, beside, pack);
}

Value OperandStager::inLayout(OpBuilder &b, Value value,
                              const DistributedLayout &wanted, StringRef name) {
  auto type = withLayout(cast<RankedTensorType>(value.getType()), wanted);
  if (staysInRegisters(type.getElementType(), layoutOf(value), wanted))
    return tilegpu::ConvertLayoutOp::create(b, value.getLoc(), type, value);
  if (auto load = value.getDefiningOp<tilegpu::LoadSharedOp>())
    return readAgain(load, type);
  return tilegpu::LoadSharedOp::create(b, value.getLoc(), type,
                                       stage(value, name));
}

Value OperandStager::stage(Value value, StringRef name, Value beside) {
  Value &buffer = staged[value];
  if (!buffer) {
    auto type = cast<RankedTensorType>(value.getType());
    buffer =
        alloc(value.getLoc(), name, type.getShape(), type.getElementType());
    OpBuilder after(kernel.getContext());
    after.setInsertionPointAfterValue(value);
    Operation *other = beside ? beside.getDefiningOp() : nullptr;
    if (other && after.getInsertionBlock() == other->getBlock() &&
        value.getDefiningOp() && value.getDefiningOp()->isBeforeInBlock(other))
      after.setInsertionPointAfter(other);
    tilegpu::StoreSharedOp::create(after, value.getLoc(), value, buffer);
  }
  return buffer;
}

} // namespace mlatile
