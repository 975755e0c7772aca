// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RolesToNVVM.h"

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

void setRegisters(OpBuilder &b, Location loc, int64_t registers,
                  int64_t launched) {
  if (registers == launched)
    return;
  NVVM::SetMaxRegisterOp::create(b, loc, static_cast<uint32_t>(registers),
                                 registers > launched
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

void inlineRoles(tilegpu::RolesOp roles) {
  Location loc = roles.getLoc();
  Block *before = roles->getBlock();
  Block *after = before->splitBlock(roles->getNextNode());
  Region *function = before->getParent();
  OpBuilder b(roles);
  Value warp = warpId(b, loc);
  auto count = static_cast<unsigned>(roles.getBodies().size());
  int64_t warps = roles.getFirstWarp(count);
  int64_t launched = launchRegisters(warps);

  SmallVector<Block *> entries;
  for (auto [body, registers] :
       llvm::zip(roles.getBodies(), roles.getRegisters())) {
    entries.push_back(&body.front());
    for (Block &block : body)
      if (isa<tilegpu::RoleEndOp>(block.back())) {
        block.back().erase();
        OpBuilder end = OpBuilder::atBlockEnd(&block);
        LLVM::BrOp::create(end, loc, after);
      }
    OpBuilder start = OpBuilder::atBlockBegin(&body.front());
    setRegisters(start, loc, registers, launched);
    function->getBlocks().splice(after->getIterator(), body.getBlocks());
  }
  // A chain: the warps below the first one of role i + 1 take role i.
  b.setInsertionPointToEnd(before);
  for (unsigned i = 0; i + 1 < count; ++i) {
    Value takes =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, warp,
                             constI32(b, loc, roles.getFirstWarp(i + 1)));
    Block *otherwise = entries[i + 1];
    if (i + 2 < count) {
      otherwise = new Block;
      function->getBlocks().insert(entries[i]->getIterator(), otherwise);
    }
    LLVM::CondBrOp::create(b, loc, takes, entries[i], otherwise);
    b.setInsertionPointToEnd(otherwise);
  }
  roles.erase();
}

} // namespace

void inlineRoles(ModuleOp module) {
  SmallVector<tilegpu::RolesOp> all;
  module.walk([&](tilegpu::RolesOp roles) { all.push_back(roles); });
  for (tilegpu::RolesOp roles : all)
    inlineRoles(roles);
}

} // namespace mlatile
