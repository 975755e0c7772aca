// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mlatile {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LowerToLLVMOptions wideIndex(MLIRContext *context) {
  LowerToLLVMOptions result(context);
  result.overrideIndexBitwidth(64);
  return result;
}

static Type structOf(MLIRContext *context, unsigned space, unsigned words) {
  SmallVector<Type> members{LLVM::LLVMPointerType::get(context, space)};
  members.append(words, IntegerType::get(context, 64));
  return LLVM::LLVMStructType::getLiteral(context, members);
}

TileTypeConverter::TileTypeConverter(MLIRContext *context)
    : LLVMTypeConverter(context, wideIndex(context)) {
  addConversion([this](RankedTensorType type) -> Type {
    std::optional<DistributedLayout> layout = layoutOf(type);
    Type element = elementType(type);
    if (!layout || !element)
      return {};
    SmallVector<Type> members(layout->numRegs(), element);
    return LLVM::LLVMStructType::getLiteral(&getContext(), members);
  });
  addConversion([](tile::ViewType type) {
    return structOf(type.getContext(), kGlobalSpace, 2 * type.getRank() - 1);
  });
  addConversion([](tile::PoolType type) {
    return structOf(type.getContext(), kGlobalSpace, 4);
  });
  auto shared = [](Type type) {
    return LLVM::LLVMPointerType::get(type.getContext(), kSharedSpace);
  };
  addConversion([=](tilegpu::BufferType type) { return shared(type); });
  addConversion([=](tilegpu::RingType type) { return shared(type); });
  addConversion([=](tilegpu::MBarriersType type) { return shared(type); });
}

std::optional<DistributedLayout> TileTypeConverter::layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  auto attr = dyn_cast_if_present<tilegpu::LayoutAttr>(tensor.getEncoding());
  if (!attr)
    return std::nullopt;
  const DistributedLayout &layout = attr.getDistributed();
  if (!llvm::equal(layout.shape(), tensor.getShape()))
    return std::nullopt;
  return layout;
}

Type TileTypeConverter::elementType(RankedTensorType tensor) const {
  Type element = tensor.getElementType();
  if (!element.isIntOrIndexOrFloat())
    return {};
  return convertType(element);
}

//===----------------------------------------------------------------------===//
// Structs
//===----------------------------------------------------------------------===//

SmallVector<Value> TileTypeConverter::unpack(OpBuilder &builder, Location loc,
                                             Value tensor) {
  auto type = cast<LLVM::LLVMStructType>(tensor.getType());
  SmallVector<Value> regs(type.getBody().size());
  size_t missing = regs.size();
  while (missing) {
    auto insert = tensor.getDefiningOp<LLVM::InsertValueOp>();
    if (!insert || insert.getPosition().size() != 1)
      break;
    Value &reg = regs[insert.getPosition()[0]];
    if (!reg) {
      reg = insert.getValue();
      --missing;
    }
    tensor = insert.getContainer();
  }
  for (auto [i, reg] : llvm::enumerate(regs))
    if (!reg)
      reg = LLVM::ExtractValueOp::create(builder, loc, tensor, i);
  return regs;
}

Value TileTypeConverter::packStruct(OpBuilder &builder, Location loc,
                                    Type structType, ValueRange members) {
  Value result = LLVM::PoisonOp::create(builder, loc, structType);
  for (auto [i, member] : llvm::enumerate(members))
    result = LLVM::InsertValueOp::create(builder, loc, result, member, i);
  return result;
}

Value TileTypeConverter::pack(OpBuilder &builder, Location loc,
                              RankedTensorType tensor, ValueRange regs) const {
  return packStruct(builder, loc, convertType(tensor), regs);
}

ViewValue::ViewValue(OpBuilder &builder, Location loc, Value view)
    : members(TileTypeConverter::unpack(builder, loc, view)) {}

PoolValue::PoolValue(OpBuilder &builder, Location loc, Value pool) {
  SmallVector<Value> members = TileTypeConverter::unpack(builder, loc, pool);
  base = members[0];
  slots = members[1];
  pageSize = members[2];
  pageStride = members[3];
  rowStride = members[4];
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value constI32(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value constI64(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI64IntegerAttr(value));
}

Value packVector(OpBuilder &builder, Location loc, ArrayRef<Value> scalars) {
  if (scalars.size() == 1)
    return scalars.front();
  auto type = VectorType::get(static_cast<int64_t>(scalars.size()),
                              scalars.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, scalar] : llvm::enumerate(scalars))
    vector = LLVM::InsertElementOp::create(
        builder, loc, vector, scalar,
        constI32(builder, loc, static_cast<int64_t>(i)));
  return vector;
}

Value callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                    Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

void setToEntry(OpBuilder &builder, Value after) {
  Region *region = builder.getInsertionBlock()->getParent();
  while (region && !isa<FunctionOpInterface, tile::KernelOp, tilegpu::RolesOp>(
                       region->getParentOp())) {
    Region *outer = region->getParentOp()->getParentRegion();
    if (!outer)
      break;
    region = outer;
  }
  if (!region)
    return;
  if (after && after.getParentRegion() == region && after.getDefiningOp())
    builder.setInsertionPointAfterValue(after);
  else
    builder.setInsertionPointToStart(&region->front());
}

Value threadId(OpBuilder &builder, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  setToEntry(builder);
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  auto role = tilegpu::RolesOp::around(builder.getInsertionBlock());
  if (!role)
    return thread;
  // A role begins at a multiple of its warps.
  int64_t threads = 32 * role->first.getWarps()[role->second];
  return LLVM::AndOp::create(builder, loc, thread,
                             constI32(builder, loc, threads - 1));
}

Value laneId(OpBuilder &builder, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  Value thread = threadId(builder, loc);
  setToEntry(builder, thread);
  return LLVM::AndOp::create(builder, loc, thread, constI32(builder, loc, 31));
}

Value warpId(OpBuilder &builder, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  Value thread = threadId(builder, loc);
  setToEntry(builder, thread);
  return LLVM::LShrOp::create(builder, loc, thread, constI32(builder, loc, 5));
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value emitBitLinear(OpBuilder &builder, Location loc, Value bits,
                    ArrayRef<int64_t> bases) {
  // Input bit i feeds output bit p: moved by p - i. All pairs of one distance
  // are one mask and one shift.
  struct Term {
    int shift;
    uint32_t mask;
  };
  SmallVector<Term> terms;
  for (auto [i, basis] : llvm::enumerate(bases))
    for (int p = 0; p < 31; ++p) {
      if (!(basis >> p & 1))
        continue;
      int shift = p - static_cast<int>(i);
      auto *term =
          llvm::find_if(terms, [&](Term &t) { return t.shift == shift; });
      if (term == terms.end()) {
        terms.push_back({shift, 0});
        term = &terms.back();
      }
      term->mask |= 1u << i;
    }

  Value sum;
  uint32_t written = 0;
  for (const Term &term : terms) {
    Value masked = LLVM::AndOp::create(builder, loc, bits,
                                       constI32(builder, loc, term.mask));
    uint32_t target = term.mask;
    if (term.shift > 0) {
      masked = LLVM::ShlOp::create(builder, loc, masked,
                                   constI32(builder, loc, term.shift));
      target <<= term.shift;
    } else if (term.shift < 0) {
      masked = LLVM::LShrOp::create(builder, loc, masked,
                                    constI32(builder, loc, -term.shift));
      target >>= -term.shift;
    }
    if (!sum)
      sum = masked;
    else if (written & target)
      sum = LLVM::XOrOp::create(builder, loc, sum, masked);
    else
      sum = LLVM::OrOp::create(builder, loc, sum, masked, /*isDisjoint=*/true);
    written |= target;
  }
  return sum ? sum : constI32(builder, loc, 0);
}

ThreadCoords::ThreadCoords(OpBuilder &builder, Location loc,
                           const DistributedLayout &layout, Value thread)
    : layout(layout), registersAdd(layout.registersAdd()) {
  OpBuilder::InsertionGuard guard(builder);
  if (!thread) {
    thread = threadId(builder, loc);
    setToEntry(builder, thread);
  }
  for (int dim = 0; dim < layout.rank(); ++dim) {
    SmallVector<int64_t> dimBases;
    for (const auto &basis : layout.laneBases())
      dimBases.push_back(basis[dim]);
    for (const auto &basis : layout.warpBases())
      dimBases.push_back(basis[dim]);
    bases.push_back(emitBitLinear(builder, loc, thread, dimBases));
  }
}

int64_t ThreadCoords::offset(int reg, int dim) const {
  return layout.regCoord(reg)[dim];
}

Value ThreadCoords::coord(OpBuilder &builder, Location loc, int reg,
                          int dim) const {
  int64_t value = offset(reg, dim);
  if (value == 0)
    return bases[dim];
  if (registersAdd)
    return LLVM::AddOp::create(builder, loc, bases[dim],
                               constI32(builder, loc, value));
  // Only the block is linear; repetitions are added on top of it.
  int64_t block = value % layout.blockShape()[dim];
  Value result = bases[dim];
  if (block)
    result = LLVM::XOrOp::create(builder, loc, result,
                                 constI32(builder, loc, block));
  if (value != block)
    result = LLVM::AddOp::create(builder, loc, result,
                                 constI32(builder, loc, value - block));
  return result;
}

Value firstHolder(OpBuilder &builder, Location loc,
                  const DistributedLayout &layout) {
  int64_t mask = layout.laneFreeMask() | int64_t(layout.warpFreeMask()) << 5;
  if (!mask)
    return {};
  OpBuilder::InsertionGuard guard(builder);
  Value thread = threadId(builder, loc);
  setToEntry(builder, thread);
  Value free =
      LLVM::AndOp::create(builder, loc, thread, constI32(builder, loc, mask));
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, free,
                              constI32(builder, loc, 0));
}

} // namespace mlatile
