// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OperandStager.h"

#include "QuantisedOperands.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlir/IR/IRMapping.h"

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

DistributedLayout::Result columnsInLanes(const DistributedLayout &slice,
                                         int axis, int64_t size) {
  // Powers of two in lanes; what is left as if there were no more columns.
  int64_t inLanes = 1, inBlock = size & -size;
  DistributedLayout::Bases lanes = slice.laneBases();
  SmallVector<std::pair<size_t, int64_t>> taken;
  for (auto [i, basis] : llvm::enumerate(lanes)) {
    bool isFree = llvm::all_of(basis, [](int64_t x) { return x == 0; });
    if (isFree && inLanes < inBlock) {
      taken.emplace_back(i, inLanes);
      inLanes *= 2;
    }
  }
  auto layout = columnsInRegisters(slice, axis, size / inLanes);
  if (!layout)
    return std::nullopt;
  DistributedLayout::Bases reg = layout->regBases(), lane = layout->laneBases();
  for (auto &basis : reg)
    basis[axis] *= inLanes;
  for (auto [i, bit] : taken)
    lane[i][axis] = bit;
  return DistributedLayout::create(std::move(reg), std::move(lane),
                                   layout->warpBases(), layout->reps());
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
  if (shape.size() > 1)
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

/// Whether a product takes a tile as it is, or transposed.
static bool isOperand(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    if (isa<tile::TransposeOp, tilegpu::ConvertLayoutOp>(user))
      return isOperand(user->getResult(0));
    return isa<tile::DotOp, tile::DotScaledOp>(user);
  });
}

tilegpu::StageOp OperandStager::recordOf(Value value) {
  auto bits = [](Type type) { return type.getIntOrFloatBitWidth(); };
  tilegpu::StageOp found;
  SmallVector<Value> behind{value};
  llvm::SmallDenseSet<Value> seen;
  while (!behind.empty()) {
    Value next = behind.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !seen.insert(next).second ||
        op->getBlock() != value.getDefiningOp()->getBlock())
      continue;
    if (auto load = dyn_cast<tilegpu::LoadSharedOp>(op)) {
      auto place = load.getBuffer().getDefiningOp<tilegpu::StageOp>();
      if (!place || (found && found != place))
        return {};
      found = place;
    } else if (OpTrait::hasElementwiseMappableTraits(op)) {
      llvm::append_range(behind, op->getOperands());
    }
  }
  if (!found || takenRecords.contains(found) ||
      found.getRing().getType().getStages() != 1 ||
      found.getResult().getType().getShape() !=
          cast<RankedTensorType>(value.getType()).getShape() ||
      bits(found.getResult().getType().getElementType()) !=
          bits(cast<RankedTensorType>(value.getType()).getElementType()))
    return {};
  // It came by a copy, for this role alone, and is read before.
  bool copied = false;
  for (Operation *user : found.getRing().getUsers()) {
    auto place = dyn_cast<tilegpu::StageOp>(user);
    if (!place)
      return {};
    for (Operation *access : place->getUsers()) {
      copied |= isa<tilegpu::CopyAsyncOp>(access);
      bool read = place == found && isa<tilegpu::LoadSharedOp>(access) &&
                  !isOperand(access->getResult(0)) &&
                  access->getBlock() == value.getDefiningOp()->getBlock() &&
                  access->isBeforeInBlock(value.getDefiningOp());
      if (!read && !(place != found && isa<tilegpu::CopyAsyncOp>(access)))
        return {};
    }
  }
  return copied ? found : tilegpu::StageOp();
}

Value OperandStager::stageInPlace(Value value) {
  tilegpu::StageOp record =
      value.getDefiningOp() ? recordOf(value) : tilegpu::StageOp();
  if (!record)
    return {};
  takenRecords.insert(record);
  Location loc = value.getLoc();
  OpBuilder after(kernel.getContext());
  after.setInsertionPointAfterValue(value);
  // Channels are left alone by the pass that inserts barriers.
  auto barrier = [&] {
    tilegpu::SyncOp::create(after, loc, tilegpu::SyncScope::Role,
                            /*proxy_fence=*/false);
  };
  // Read once more, so that nobody holds the record meanwhile.
  barrier();
  IRMapping again;
  std::function<void(Value)> make = [&](Value old) {
    Operation *op = old.getDefiningOp();
    bool reads = isa_and_present<tilegpu::LoadSharedOp>(op);
    if (!op || again.contains(old) ||
        !(reads || OpTrait::hasElementwiseMappableTraits(op)) ||
        op->getBlock() != value.getDefiningOp()->getBlock())
      return;
    for (Value operand : op->getOperands())
      make(operand);
    after.clone(*op, again);
  };
  make(value);
  tilegpu::BufferType type = record.getResult().getType();
  Value buffer = tilegpu::ViewOp::create(
      after, loc,
      tilegpu::BufferType::get(
          after.getContext(), type.getShape(),
          cast<RankedTensorType>(value.getType()).getElementType(),
          type.getStrideBytes()),
      record, /*offset=*/0);
  barrier();
  tilegpu::StoreSharedOp::create(after, loc, again.lookup(value), buffer);
  barrier();
  return buffer;
}

Value OperandStager::stage(Value value, StringRef name, Value beside) {
  Value &buffer = staged[value];
  if (!buffer)
    buffer = stageInPlace(value);
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
