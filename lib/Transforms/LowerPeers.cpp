// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OperandStager.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_LOWERPEERS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// The same with registers that are neighbours in a row next to each other, so
/// that they are stored together.
DistributedLayout neighboursTogether(const DistributedLayout &layout) {
  DistributedLayout::Bases reg, others;
  for (const auto &basis : layout.regBases()) {
    bool alongRow = basis.back() && (basis.size() == 1 || basis.front() == 0);
    (alongRow ? reg : others).push_back(basis);
  }
  llvm::sort(reg,
             [](const auto &a, const auto &b) { return a.back() < b.back(); });
  llvm::append_range(reg, others);
  auto sorted = DistributedLayout::create(std::move(reg), layout.laneBases(),
                                          layout.warpBases(), layout.reps());
  return sorted && registersOnly(layout, *sorted) ? *sorted : layout;
}

/// Of rows that begin at multiples of 16 bytes the stride with the fewest bank
/// conflicts where a tile of the layout is stored.
int64_t strideFor(const DistributedLayout &layout, int64_t elementBytes) {
  constexpr int64_t kVector = 16, kBanks = 128;
  int64_t rows = layout.shape()[0], cols = layout.shape()[1];
  int64_t least = static_cast<int64_t>(
      llvm::alignTo(cols * elementBytes, static_cast<uint64_t>(kVector)));
  int64_t best = least, fewest = INT64_MAX;
  for (int64_t stride = least; stride < least + kBanks; stride += kVector) {
    auto place = SharedLayout::create(rows, cols,
                                      static_cast<int>(elementBytes), stride);
    int64_t conflicts = place ? place->accessConflicts(layout) : -1;
    if (conflicts >= 0 && conflicts < fewest) {
      best = stride;
      fewest = conflicts;
    }
  }
  return best;
}

/// A tile that is read by peers.
struct Shared {
  tilegpu::AllocOp alloc;
  /// Where it has to be stored by: the first read, or what holds it, in the
  /// block where the tile is made.
  Operation *before;
};

class Lowering {
public:
  explicit Lowering(tile::KernelOp kernel)
      : kernel(kernel), cluster(kernel.getClusterSize().value_or(1)) {}

  LogicalResult run() {
    SmallVector<tile::LoadPeerOp> loads;
    kernel->walk([&](tile::LoadPeerOp load) { loads.push_back(load); });
    if (loads.empty())
      return success();
    for (tile::LoadPeerOp load : loads)
      if (failed(check(load)))
        return failure();
    Block &body = kernel.getBody().front();
    Operation *last = body.findAncestorOpInBlock(*loads.front());
    for (tile::LoadPeerOp load : loads) {
      share(load);
      Operation *one = body.findAncestorOpInBlock(*load);
      if (last->isBeforeInBlock(one))
        last = one;
    }
    // It may be replaced itself.
    Operation *behind = last->getNextNode();
    store();
    for (tile::LoadPeerOp load : loads)
      replace(load);
    endTogether(behind);
    return success();
  }

private:
  LogicalResult check(tile::LoadPeerOp load) {
    if (tilegpu::RolesOp::around(load) ||
        isInRole(load.getTile().getParentBlock()->getParentOp()))
      return load.emitOpError("expected no role around it: all threads of a "
                              "cluster wait for each other");
    if (!tilegpu::LayoutAttr::of(load.getTile().getType()) ||
        !tilegpu::LayoutAttr::of(load.getResult().getType()))
      return load.emitOpError(
          "expected tiles with layouts; run tile-assign-layouts first");
    // Strides are sought for rows and columns only.
    if (int64_t rank = load.getTile().getType().getRank(); rank > 2)
      return load.emitOpError("expected a tile of at most two dimensions, got ")
             << rank;
    return success();
  }

  static bool isInRole(Operation *op) {
    return isa<tilegpu::RolesOp>(op) || op->getParentOfType<tilegpu::RolesOp>();
  }

  /// Loads come in program order, so that the first read comes first.
  void share(tile::LoadPeerOp load) {
    Value tile = load.getTile();
    if (shared.contains(tile))
      return;
    auto type = cast<RankedTensorType>(tile.getType());
    DistributedLayout layout = neighboursTogether(layoutOf(tile));
    MLIRContext *context = type.getContext();
    Type element = type.getElementType();
    auto buffer =
        type.getRank() == 1
            ? tilegpu::BufferType::get(context, type.getShape(), element)
            : tilegpu::BufferType::get(
                  context, type.getShape(), element,
                  strideFor(layout, element.getIntOrFloatBitWidth() / 8));
    auto entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto alloc = tilegpu::AllocOp::create(entry, load.getLoc(), buffer, "peers",
                                          IntegerAttr());
    Operation *before = tile.getParentBlock()->findAncestorOpInBlock(*load);
    shared.insert({tile, {alloc, before}});
  }

  /// Stores what there is where the first tile of a block is read, behind it
  /// one barrier; what is made later, where it is read.
  void store() {
    llvm::DenseSet<Value> stored;
    for (auto &[first, of] : shared) {
      if (!stored.insert(first).second)
        continue;
      OpBuilder b(of.before);
      auto write = [&](Value tile, tilegpu::AllocOp alloc) {
        Location loc = alloc.getLoc();
        DistributedLayout layout = neighboursTogether(layoutOf(tile));
        if (layout != layoutOf(tile))
          tile = tilegpu::ConvertLayoutOp::create(
              b, loc,
              withLayout(cast<RankedTensorType>(tile.getType()), layout), tile);
        tilegpu::StoreSharedOp::create(b, loc, tile, alloc);
      };
      write(first, of.alloc);
      for (auto &[tile, other] : shared) {
        Operation *made = tile.getDefiningOp();
        if (tile.getParentBlock() == of.before->getBlock() &&
            (!made || made->isBeforeInBlock(of.before)) &&
            stored.insert(tile).second)
          write(tile, other.alloc);
      }
      sync(of.before);
    }
  }

  void replace(tile::LoadPeerOp load) {
    OpBuilder b(load);
    Location loc = load.getLoc();
    Value rank = load.getRank();
    APInt known;
    if (!matchPattern(rank, m_ConstantInt(&known)) ||
        known.uge(static_cast<uint64_t>(cluster)))
      rank = arith::RemUIOp::create(
          b, loc, rank, arith::ConstantIndexOp::create(b, loc, cluster));
    auto peer = tilegpu::LoadPeerOp::create(
        b, loc, load.getResult().getType(),
        shared.find(load.getTile())->second.alloc, rank, load.getIndices());
    load.getResult().replaceAllUsesWith(peer.getTile());
    load.erase();
  }

  void sync(Operation *before) {
    OpBuilder b(before);
    tilegpu::ClusterArriveOp::create(b, before->getLoc());
    tilegpu::ClusterWaitOp::create(b, before->getLoc());
  }

  /// Nobody ends while others may read; what follows the reads is done first.
  void endTogether(Operation *behindReads) {
    OpBuilder b(behindReads);
    tilegpu::ClusterArriveOp::create(b, behindReads->getLoc());
    b.setInsertionPoint(kernel.getBody().front().getTerminator());
    tilegpu::ClusterWaitOp::create(b, behindReads->getLoc());
  }

  tile::KernelOp kernel;
  int64_t cluster;
  llvm::MapVector<Value, Shared> shared;
};

struct LowerPeersPass : impl::LowerPeersBase<LowerPeersPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(Lowering(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlatile
