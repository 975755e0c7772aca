// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tilegpu;

/// Barrier 0 is the CTA's; each role has one of the other 15.
static constexpr size_t kMostRoles = 15;

std::optional<int64_t> tilegpu::warpsAround(Operation *op) {
  if (auto role = RolesOp::around(op))
    return role->first.getWarps()[role->second];
  auto kernel = dyn_cast<tile::KernelOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<tile::KernelOp>();
  return kernel ? kernel.getWarpCount() : std::nullopt;
}

std::optional<int64_t> tilegpu::warpsAround(Value value) {
  Operation *op = value.getDefiningOp();
  return warpsAround(op ? op : value.getParentBlock()->getParentOp());
}

//===--- roles: building and text -----------------------------------------===//

void RolesOp::build(OpBuilder &builder, OperationState &state,
                    ArrayRef<StringRef> names, ArrayRef<int64_t> warps,
                    ArrayRef<int64_t> registers) {
  state.addAttribute(getNamesAttrName(state.name),
                     builder.getStrArrayAttr(names));
  state.addAttribute(getWarpsAttrName(state.name),
                     builder.getDenseI64ArrayAttr(warps));
  state.addAttribute(getRegistersAttrName(state.name),
                     builder.getDenseI64ArrayAttr(registers));
  for (size_t i = 0; i < names.size(); ++i)
    state.addRegion()->emplaceBlock();
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers;
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    std::string name;
    int64_t count = 0, budget = 0;
    if (parser.parseString(&name) || parser.parseKeyword("warps") ||
        parser.parseLParen() || parser.parseInteger(count) ||
        parser.parseRParen() || parser.parseKeyword("registers") ||
        parser.parseLParen() || parser.parseInteger(budget) ||
        parser.parseRParen() || parser.parseRegion(*state.addRegion()))
      return failure();
    names.push_back(builder.getStringAttr(name));
    warps.push_back(count);
    registers.push_back(budget);
  }
  state.addAttribute(getNamesAttrName(state.name), builder.getArrayAttr(names));
  state.addAttribute(getWarpsAttrName(state.name),
                     builder.getDenseI64ArrayAttr(warps));
  state.addAttribute(getRegistersAttrName(state.name),
                     builder.getDenseI64ArrayAttr(registers));
  return success();
}

void RolesOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getNamesAttrName(), getWarpsAttrName(), getRegistersAttrName()});
  for (auto [name, warps, registers, body] :
       llvm::zip(getNames(), getWarps(), getRegisters(), getBodies())) {
    printer.printNewline();
    printer << "role " << name << " warps(" << warps << ") registers("
            << registers << ") ";
    printer.printRegion(body, /*printEntryBlockArgs=*/false);
  }
}

//===--- roles: queries and verifiers -------------------------------------===//

int64_t RolesOp::getFirstWarp(unsigned i) {
  int64_t first = 0;
  for (int64_t warps : getWarps().take_front(i))
    first += warps;
  return first;
}

std::optional<std::pair<RolesOp, unsigned>> RolesOp::around(Operation *op) {
  return op->getBlock() ? around(op->getBlock()) : std::nullopt;
}

std::optional<std::pair<RolesOp, unsigned>> RolesOp::around(Block *block) {
  for (Region *region = block->getParent(); region;
       region = region->getParentRegion())
    if (auto roles = dyn_cast<RolesOp>(region->getParentOp()))
      return std::pair(roles, region->getRegionNumber());
  return std::nullopt;
}

LogicalResult RolesOp::verify() {
  size_t count = getBodies().size();
  llvm::StringSet<> seen;
  for (auto name : getNames().getAsValueRange<StringAttr>())
    seen.insert(name);
  if (count < 2 || count > kMostRoles || seen.size() != count ||
      getNames().size() != count || getWarps().size() != count ||
      getRegisters().size() != count) // roles_c1
    return emitOpError("expected 2 to ")
           << kMostRoles
           << " roles with distinct names, numbers of warps and of registers, "
              "got "
           << count << " regions";
  int64_t first = 0, needed = 0;
  for (auto [warps, registers] : llvm::zip(getWarps(), getRegisters())) {
    if (warps < 4 || warps > 32 || !llvm::isPowerOf2_64(warps)) // roles_c2
      return emitOpError("expected the warps of a role to be a power of two "
                         "from 4 to 32, got ")
             << warps;
    if (first % warps != 0) // roles_c2
      return emitOpError("expected a role of ")
             << warps << " warps to begin at a multiple of them, got warp "
             << first;
    if (registers < 24 || registers > 256 || registers % 8 != 0) // roles_c4
      return emitOpError("expected registers of a role to be a multiple of 8 "
                         "from 24 to 256, got ")
             << registers;
    first += warps;
    needed += warps * registers;
  }
  auto kernel = dyn_cast<tile::KernelOp>((*this)->getParentOp());
  if (!kernel || kernel.getWarpCount() != first) { // roles_c3
    auto diag = emitOpError("expected to stand in the body of a kernel of ")
                << first << " warps, the roles' together, got ";
    if (kernel)
      return diag << kernel.getWarpCount().value_or(0);
    return diag << (*this)->getParentOp()->getName();
  }
  int64_t allocated = launchRegisters(first) * first;
  if (needed > allocated) // roles_c5
    return emitOpError("expected registers of all warps to be at most ")
           << allocated << ", which a launch of " << first
           << " warps allocates, got " << needed;
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  for (Region &body : getBodies()) {
    WalkResult walk = body.walk([&](Operation *op) -> WalkResult {
      for (Value operand : op->getOperands()) {
        if (!LayoutAttr::of(operand.getType()) ||
            body.isAncestor(operand.getParentRegion()) ||
            matchPattern(operand, m_Constant()) ||
            operand.getDefiningOp<tile::FullOp>())
          continue;
        return op->emitOpError("expected no tile from outside of its role, "
                               "got ") // roles_c6
               << operand.getType();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

//===--- sync -------------------------------------------------------------===//

LogicalResult SyncOp::verify() {
  bool inRole = RolesOp::around(*this).has_value();
  if (getScope() == SyncScope::Role && !inRole) // sync_c1
    return emitOpError("expected a barrier of a role in a role");
  if (getScope() == SyncScope::Cta && inRole) // sync_c1
    return emitOpError("expected no barrier of the CTA in a role");
  return success();
}

//===--- channels ---------------------------------------------------------===//

bool ChannelType::carriesRows() const {
  return isa<tile::RowsType>(getTypes().front());
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t stages, ArrayRef<Type> types) {
  if (stages < 1 || stages > 8) // channel_c1
    return emitError() << "expected 1 to 8 stages, got " << stages;
  if (types.empty()) // channel_c2
    return emitError() << "expected at least one type in a record";
  if (isa<tile::RowsType>(types.front())) {
    auto valid = types.size() == 2 ? dyn_cast<RankedTensorType>(types[1])
                                   : RankedTensorType();
    if (!valid || !valid.getElementType().isInteger(1)) // channel_c2
      return emitError() << "expected rows and their validity as a record";
    return success();
  }
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() ||
        tensor.getRank() < 1 || tensor.getRank() > 2 ||
        !tensor.getElementType().isIntOrFloat()) // channel_c2
      return emitError() << "expected static tensors of one or two dimensions "
                            "without layout in a record, got "
                         << type;
  }
  return success();
}

static LogicalResult verifyRecord(Operation *op, ChannelType channel,
                                  TypeRange types) {
  auto plain = [](Type type) -> Type {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
    return type;
  };
  if (!llvm::equal(llvm::map_range(types, plain), channel.getTypes()))
    return op->emitOpError("expected values of the types of ")
           << channel << ", got (" << types << ")";
  return success();
}

LogicalResult SendOp::verify() { // send_c1
  return verifyRecord(*this, getChannel().getType(), getValues().getTypes());
}

bool SendCopyOp::takes(RankedTensorType tile) {
  return tile.hasStaticShape() && tile.getRank() == 2 &&
         tile.getElementType().isIntOrFloat() &&
         tile.getElementTypeBitWidth() >= 8 &&
         tile.getDimSize(1) * tile.getElementTypeBitWidth() % 128 == 0;
}

LogicalResult SendCopyOp::verify() {
  if (failed(verifyTileOfView(*this, getView().getType(),
                              getIndices().size()))) // send_copy_c1
    return failure();
  auto view = cast<mlatile::tile::ViewType>(getView().getType());
  auto types = getChannel().getType().getTypes();
  auto tile = types.size() == 1 ? dyn_cast<RankedTensorType>(types.front())
                                : RankedTensorType();
  if (!tile || !takes(tile) ||
      tile.getElementType() != view.getElementType()) // send_copy_c2
    return emitOpError("expected a record of one tile of ")
           << view.getElementType()
           << " with two dimensions and rows of whole 16 bytes, got "
           << getChannel().getType();
  return success();
}

LogicalResult ReceiveOp::verify() { // receive_c1
  return verifyRecord(*this, getChannel().getType(), getValues().getTypes());
}
