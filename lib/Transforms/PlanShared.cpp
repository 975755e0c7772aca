// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Target/Target.h"
#include "mlatile/Transforms/Passes.h"
#include "mlatile/Transforms/SharedArena.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_PLANSHARED
#include "mlatile/Transforms/Passes.h.inc"

namespace {

constexpr int64_t kAlignment = 16;
/// Buffers below this share bytes only where the arena would not fit: each
/// sharing costs barriers between the two buffers' accesses.
constexpr int64_t kWorthSharing = 4096;

/// One buffer: where it lives in time (program order) and in the arena.
struct Place {
  tilegpu::AllocOp alloc;
  int64_t first, last;
  int64_t bytes;
  Region *role; ///< the only one that touches it, if it is one
  int64_t offset = -1;

  bool livesWith(const Place &other, int64_t worthSharing) const {
    // Roles run at the same time.
    return (role && other.role && role != other.role) ||
           (first <= other.last && other.first <= last) ||
           std::min(bytes, other.bytes) < worthSharing;
  }
};

int64_t arenaBytes(ArrayRef<Place> places) {
  int64_t total = 0;
  for (const Place &place : places)
    total = std::max(total, place.offset + place.bytes);
  return total;
}

class Planner {
public:
  explicit Planner(tile::KernelOp kernel) : kernel(kernel) {
    int64_t next = 0;
    // A region spans from its operation's number to the last one inside.
    std::function<void(Operation *)> number = [&](Operation *op) {
      span[op].first = next++;
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Operation &inner : block)
            number(&inner);
      span[op].second = next++;
    };
    number(kernel);
  }

  std::vector<Place> run(int64_t limit) {
    findAccesses();
    std::vector<Place> places = place(kWorthSharing);
    return arenaBytes(places) <= limit ? places : place(0);
  }

private:
  void findAccesses() {
    kernel->walk([&](Operation *op) {
      auto access = dyn_cast<tilegpu::SharedAccessOpInterface>(op);
      if (!access)
        return;
      for (const tilegpu::SharedAccess &touched : access.getSharedAccesses())
        if (tilegpu::AllocOp alloc = allocOf(touched.operand->get()))
          accesses[alloc].push_back({op, touched.isWrite, touched.isAsync});
    });
  }

  std::vector<Place> place(int64_t worthSharing) {
    std::vector<Place> places;
    kernel->walk([&](tilegpu::AllocOp alloc) {
      auto [first, last] = lifetime(alloc);
      places.push_back(
          {alloc, first, last, alloc.getNumBytes(), onlyRole(alloc)});
    });
    // Large ones first: small ones fill the holes.
    std::ranges::sort(places, [](const Place &a, const Place &b) {
      return std::pair(-a.bytes, a.first) < std::pair(-b.bytes, b.first);
    });
    for (Place &place : places)
      place.offset = lowestFree(place, places, worthSharing);
    return places;
  }

  struct Access {
    Operation *op;
    bool isWrite, isAsync;
  };

  static Region *roleAround(Operation *op) {
    auto role = tilegpu::RolesOp::around(op);
    return role ? &role->first.getBodies()[role->second] : nullptr;
  }

  /// The role that alone touches a buffer; null if there is none.
  Region *onlyRole(tilegpu::AllocOp alloc) {
    auto it = accesses.find(alloc);
    if (it == accesses.end())
      return nullptr;
    Region *role = roleAround(it->second.front().op);
    for (const Access &access : it->second)
      if (roleAround(access.op) != role)
        return nullptr;
    return role;
  }

  std::pair<int64_t, int64_t> lifetime(tilegpu::AllocOp alloc) {
    // What several roles touch, or one and the code around, lives as long as
    // they run.
    auto own = lifetimeInOrder(alloc);
    auto it = accesses.find(alloc);
    if (it == accesses.end())
      return own;
    // Other CTAs of the cluster may read to the end.
    if (llvm::any_of(it->second, [](const Access &access) {
          return isa<tilegpu::LoadPeerOp>(access.op);
        }))
      own.second = span[kernel].second;
    if (onlyRole(alloc))
      return own;
    for (const Access &access : it->second)
      if (auto role = tilegpu::RolesOp::around(access.op)) {
        auto [begin, end] = span[role->first];
        own = {std::min(own.first, begin), std::max(own.second, end)};
      }
    return own;
  }

  /// As if one operation followed the other.
  std::pair<int64_t, int64_t> lifetimeInOrder(tilegpu::AllocOp alloc) {
    auto it = accesses.find(alloc);
    // mbarriers keep their state; an unused buffer must not alias either.
    if (isa<tilegpu::MBarriersType>(alloc.getType()) || it == accesses.end())
      return span[kernel];
    ArrayRef<Access> all = it->second;
    Operation *common = loopAround(all.front().op);
    while (common && !llvm::all_of(all, [&](const Access &access) {
             return common->isProperAncestor(access.op);
           }))
      common = loopAround(common);

    int64_t first = INT64_MAX, last = -1;
    const Access *earliest = nullptr;
    for (const Access &access : all) {
      Operation *extent = access.op;
      for (Operation *loop = loopAround(extent); loop && loop != common;
           loop = loopAround(loop))
        extent = loop;
      auto [begin, end] = span[extent];
      if (begin < first) {
        first = begin;
        earliest = &access;
      }
      last = std::max(last, end);
    }
    // Contents that outlive an iteration keep the buffer through the loops.
    if (common && !isFresh(*earliest, all, common)) {
      Operation *outermost = common;
      while (Operation *loop = loopAround(outermost))
        outermost = loop;
      return span[outermost];
    }
    return {first, last};
  }

  /// Whether each iteration of a loop fills a buffer before it reads it.
  bool isFresh(const Access &earliest, ArrayRef<Access> all, Operation *loop) {
    if (!earliest.isWrite)
      return false;
    if (!earliest.isAsync)
      return earliest.op->getParentOp() == loop;
    // Copies before an inner loop: in branches, since there may be nothing to
    // copy, but then nothing is waited for and read either.
    return loopAround(earliest.op) == loop &&
           llvm::any_of(all, [&](const Access &access) {
             return loopAround(access.op) != loop;
           });
  }

  Operation *loopAround(Operation *op) {
    return op->getParentOfType<LoopLikeOpInterface>();
  }

  static int64_t lowestFree(const Place &place, ArrayRef<Place> placed,
                            int64_t worthSharing) {
    SmallVector<const Place *> neighbours;
    for (const Place &other : placed)
      if (other.offset >= 0 && other.livesWith(place, worthSharing))
        neighbours.push_back(&other);
    llvm::sort(neighbours, [](const Place *a, const Place *b) {
      return a->offset < b->offset;
    });
    int64_t offset = 0;
    for (const Place *other : neighbours) {
      if (offset + place.bytes <= other->offset)
        break;
      offset = std::max<int64_t>(
          offset, llvm::alignTo(other->offset + other->bytes, kAlignment));
    }
    return offset;
  }

  tile::KernelOp kernel;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> span;
  llvm::DenseMap<Operation *, SmallVector<Access>> accesses;
};

struct PlanSharedPass : impl::PlanSharedBase<PlanSharedPass> {
  using PlanSharedBase::PlanSharedBase;

  void runOnOperation() override {
    const Target *limits = findTarget(target);
    if (!limits) {
      getOperation().emitError("unknown target `") << target << "`";
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(plan(kernel, *limits)))
        return signalPassFailure();
  }

  LogicalResult plan(tile::KernelOp kernel, const Target &limits) {
    std::vector<Place> places = Planner(kernel).run(limits.sharedBytesPerBlock);
    Builder b(kernel.getContext());
    for (Place &place : places)
      place.alloc.setOffset(place.offset);
    int64_t total = arenaBytes(places);
    kernel->setAttr("tilegpu.shared_bytes", b.getI64IntegerAttr(total));
    if (total <= limits.sharedBytesPerBlock)
      return success();
    InFlightDiagnostic diagnostic = kernel.emitOpError("expected at most ")
                                    << limits.sharedBytesPerBlock
                                    << " bytes of shared memory on "
                                    << limits.name << ", got " << total;
    for (Place &place : places)
      diagnostic.attachNote(place.alloc.getLoc())
          << "buffer `" << place.alloc.getName() << "`: " << place.bytes
          << " bytes at " << place.offset;
    return failure();
  }
};

} // namespace
} // namespace mlatile
