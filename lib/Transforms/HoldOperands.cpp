// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GatheredReads.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_HOLDOPERANDS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

using namespace tilegpu;

/// Columns of K that one mma takes.
constexpr int64_t kStep = 16;

class Holder {
public:
  explicit Holder(RolesOp roles) : roles(roles) {}

  void run() {
    for (auto [i, body] : llvm::enumerate(roles.getBodies())) {
      left = roles.getRegisters()[i] - kRoleWorkingRegisters;
      numWarps = static_cast<int>(roles.getWarps()[i]);
      SmallVector<DotOp> dots;
      body.walk([&](DotOp dot) { dots.push_back(dot); });
      // What a loop carries is in registers already; one around others hands
      // them what it carries.
      body.walk([&](scf::ForOp loop) {
        if (loop.getBody()->getOps<scf::ForOp>().empty())
          left -= carried(loop);
      });
      for (DotOp dot : dots)
        hold(dot);
    }
  }

private:
  static int64_t carried(scf::ForOp loop) {
    int64_t registers = 0;
    for (Value value : loop.getRegionIterArgs()) {
      auto layout = LayoutAttr::of(value.getType());
      registers += layout ? layout.getDistributed().numRegs() : 1;
    }
    return registers;
  }

  /// Whether `store` is done whenever `loop` runs: before the roles' loops, or
  /// by the role of `loop`, beside it. A record of another role (`inRing`) is
  /// this one's until the end of the block that it was received in.
  static bool standsBeside(Operation *store, scf::ForOp loop, bool inRing) {
    if (!store->getParentOfType<scf::ForOp>())
      return true;
    auto role = RolesOp::around(store), own = RolesOp::around(loop);
    if (loop->isAncestor(store) || !role || !own)
      return false;
    return *role == *own || inRing;
  }

  /// Whether `loop` reads the same of a buffer in all iterations: nobody writes
  /// it meanwhile, and what is written before is there.
  static bool isConstant(Value buffer, scf::ForOp loop) {
    Value memory = buffer;
    while (auto view = memory.getDefiningOp<ViewOp>())
      memory = view.getBuffer();
    auto stage = memory.getDefiningOp<StageOp>();
    if (stage) {
      if (loop->isAncestor(stage) || stage.getRing().getType().getStages() != 1)
        return false;
      memory = stage.getRing();
    }
    SmallVector<Operation *> users(memory.getUsers());
    for (size_t i = 0; i < users.size(); ++i) {
      if (isa<StageOp, ViewOp>(users[i])) {
        llvm::append_range(users, users[i]->getUsers());
        continue;
      }
      if (!isa<LoadSharedOp, DotOp>(users[i]) &&
          !(isa<StoreSharedOp, CopyAsyncOp>(users[i]) &&
            standsBeside(users[i], loop, stage != nullptr)))
        return false;
    }
    return memory.getDefiningOp<AllocOp>() != nullptr;
  }

  /// Both operands are of 16 bits, as they stand in buffers, columns along K.
  static bool fits(DotOp dot, scf::ForOp loop) {
    auto is16 = [](Value operand) {
      auto buffer = dyn_cast<BufferType>(operand.getType());
      return buffer && (buffer.getElementType().isF16() ||
                        buffer.getElementType().isBF16());
    };
    return is16(dot.getA()) && is16(dot.getB()) && !dot.getATransposed() &&
           dot.getBTransposed() && !dot.getAPacked() && !dot.getBPacked() &&
           !dot.getAFactors() && !dot.getBFactors() && !dot.getNarrow() &&
           isConstant(dot.getA(), loop);
  }

  /// In the body of a role, or in that of a loop over pieces of work there.
  bool standsInRole(scf::ForOp loop) const {
    Operation *parent = loop->getParentOp();
    return parent == roles ||
           (isa<scf::ForOp>(parent) && parent->getParentOp() == roles);
  }

  void hold(DotOp dot) {
    auto loop = dot->getParentOfType<scf::ForOp>();
    if (!loop || !standsInRole(loop) || !fits(dot, loop))
      return;
    auto type = cast<RankedTensorType>(dot.getC().getType());
    const DistributedLayout &c = LayoutAttr::of(type).getDistributed();
    auto grid = matchAccumulator(c);
    if (!grid)
      return;
    // Two halves of a register each: rows x 16 columns over 32 lanes.
    int64_t perStep = c.shape()[0] / grid->warpsM * kStep / 64;
    int64_t steps = std::min(dot.getK() / kStep, left / perStep);
    if (steps <= 0)
      return;
    auto layout = operandLayout(/*isA=*/true, c.shape()[0], steps * kStep,
                                /*packK=*/0, *grid, numWarps);
    if (!layout)
      return;
    left -= steps * perStep;
    OpBuilder before(loop), here(dot);
    Location loc = dot.getLoc();
    int64_t columns = steps * kStep, all = dot.getK();
    Type element = cast<BufferType>(dot.getA().getType()).getElementType();
    auto window = [&](OpBuilder &b, Value buffer, int64_t from, int64_t to) {
      return viewColumns(b, loc, buffer, 2 * from, to - from, element);
    };
    auto held = LoadSharedOp::create(
        before, loc,
        RankedTensorType::get({c.shape()[0], columns}, element,
                              LayoutAttr::get(dot.getContext(), *layout)),
        window(before, dot.getA(), 0, columns));
    Value sum = DotOp::create(here, loc, held.getTile(),
                              window(here, dot.getB(), 0, columns), dot.getC(),
                              /*aTransposed=*/false, /*bTransposed=*/true);
    if (columns < all)
      sum = DotOp::create(here, loc, window(here, dot.getA(), columns, all),
                          window(here, dot.getB(), columns, all), sum,
                          /*aTransposed=*/false, /*bTransposed=*/true);
    dot.replaceAllUsesWith(sum);
    dot.erase();
  }

  RolesOp roles;
  int64_t left = 0; ///< registers of a thread of the role
  int numWarps = 1;
};

struct HoldOperandsPass : impl::HoldOperandsBase<HoldOperandsPass> {
  void runOnOperation() override {
    SmallVector<RolesOp> all;
    getOperation()->walk([&](RolesOp roles) { all.push_back(roles); });
    for (RolesOp roles : all)
      Holder(roles).run();
  }
};

} // namespace
} // namespace mlatile
