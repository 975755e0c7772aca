// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Transforms/Passes.h"
#include "mlatile/Transforms/SharedArena.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <utility>

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_INSERTSYNCS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// An access to the arena that later ones must respect.
struct Pending {
  tilegpu::AllocOp alloc;
  /// The operand's value: two accesses compare layouts only on the same view.
  Value view;
  tilegpu::SharedAccess access;
  bool warpSynced = false;

  int64_t begin() const { return *tilegpu::AllocOp(alloc).getOffset(); }
  int64_t end() const {
    return begin() + tilegpu::AllocOp(alloc).getNumBytes();
  }
  bool operator==(const Pending &other) const {
    return access.operand == other.access.operand &&
           access.isWrite == other.access.isWrite;
  }
};

/// `All`: of everyone who runs the code, a role or the CTA. `Fenced`: of all,
/// each of whom first executes a proxy fence.
enum class Need { None, Warp, All, Fenced };

/// What stands before an operation.
struct State {
  SmallVector<Pending> pending;
  /// Written by ordinary stores, or initialised, and no proxy fence has
  /// followed, whatever barriers have.
  llvm::SmallSetVector<tilegpu::AllocOp, 8> unfenced;
};

/// What a gather uses by bulk copies: the buffer that they write, the mbarriers
/// that they complete.
struct BulkUse {
  explicit BulkUse(Operation *op) {
    auto gather = dyn_cast<tilegpu::GatherAsyncOp>(op);
    if (!gather || !gather.getBulk())
      return;
    rows = allocOf(gather.getRows());
    full = allocOf(gather.getFull());
  }
  tilegpu::AllocOp rows, full; ///< null in all other operations
};

bool overlap(tilegpu::AllocOp a, tilegpu::AllocOp b) {
  int64_t beginA = *a.getOffset(), beginB = *b.getOffset();
  return beginA < beginB + b.getNumBytes() && beginB < beginA + a.getNumBytes();
}

bool oneWarpEach(const DistributedLayout &a, const DistributedLayout &b) {
  return a.warpFreeMask() == 0 && b.warpFreeMask() == 0 &&
         sameWarpOwnership(a, b) && sameWarpOwnership(b, a);
}

Need needBetween(const Pending &first, const Pending &second) {
  if (!first.access.isWrite && !second.access.isWrite)
    return Need::None;
  if (first.begin() >= second.end() || second.begin() >= first.end())
    return Need::None;
  // Within one alloc mbarriers keep asynchronous copies and their readers
  // apart (the caller leaves such accesses out); across allocs they do not.
  if (first.alloc != second.alloc || first.view != second.view ||
      !first.access.layout || !second.access.layout)
    return Need::All;
  const DistributedLayout &a = first.access.layout.getDistributed();
  const DistributedLayout &b = second.access.layout.getDistributed();
  bool sameThreads = a == b && !first.access.byWarp && !second.access.byWarp;
  if (sameThreads && a.warpFreeMask() == 0 && a.laneFreeMask() == 0)
    return Need::None;
  // Of copies only the first warp's is stored.
  bool readAfterWrite = first.access.isWrite && !second.access.isWrite;
  if (readAfterWrite ? a.warpFreeMask() == 0 && sameWarpOwnership(a, b)
                     : oneWarpEach(a, b))
    return Need::Warp;
  return Need::All;
}

class Inserter {
public:
  explicit Inserter(tile::KernelOp kernel) {
    llvm::DenseMap<Operation *, Region *> roleOf;
    kernel->walk([&](Operation *op) {
      auto shared = dyn_cast<tilegpu::SharedAccessOpInterface>(op);
      if (!shared)
        return;
      auto role = tilegpu::RolesOp::around(op);
      for (const auto &access : shared.getSharedAccesses()) {
        tilegpu::AllocOp alloc = allocOf(access.operand->get());
        if (!alloc)
          continue;
        if (access.isAsync)
          guarded.insert(alloc);
        if (!role)
          continue;
        // Roles are kept apart by mbarriers; no barrier could.
        Region *region = &role->first.getBodies()[role->second];
        auto [it, isNew] = roleOf.try_emplace(alloc, region);
        if (!isNew && it->second != region)
          guarded.insert(alloc);
      }
    });
  }

  void visit(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto sync = dyn_cast<tilegpu::SyncOp>(op)) {
        apply(sync.getScope() == tilegpu::SyncScope::Warp ? Need::Warp
              : sync.getProxyFence()                      ? Need::Fenced
                                                          : Need::All,
              state);
      } else if (isa<tilegpu::ClusterWaitOp>(op)) {
        // A barrier of more than the CTA, for what stands before the arrival.
        if (isa_and_present<tilegpu::ClusterArriveOp>(op.getPrevNode()))
          apply(Need::All, state);
      } else if (auto roles = dyn_cast<tilegpu::RolesOp>(op)) {
        visit(roles, state);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        visit(loop, state);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        State thenState = state, elseState = state;
        visit(branch.getThenRegion().front(), thenState);
        if (!branch.getElseRegion().empty())
          visit(branch.getElseRegion().front(), elseState);
        state = std::move(thenState);
        merge(state, elseState);
      } else if (auto shared = dyn_cast<tilegpu::SharedAccessOpInterface>(op)) {
        visit(shared, state);
      }
    }
  }

private:
  /// All that was done before is done for every role; the first to use a buffer
  /// or an mbarrier may be any.
  void visit(tilegpu::RolesOp roles, State &state) {
    bool fences = false;
    roles->walk([&](Operation *op) { fences |= needsFence(op, state); });
    auto sync = dyn_cast_if_present<tilegpu::SyncOp>(roles->getPrevNode());
    if (sync && sync.getScope() == tilegpu::SyncScope::Cta) {
      if (fences) {
        sync.setProxyFence(true);
        apply(Need::Fenced, state);
      }
    } else {
      insertBefore(roles, fences ? Need::Fenced : Need::All, state);
    }
    scope = tilegpu::SyncScope::Role;
    auto unfenced = std::move(state.unfenced);
    for (Region &body : roles.getBodies()) {
      State own;
      visit(body.front(), own);
      unfenced.insert_range(own.unfenced);
    }
    scope = tilegpu::SyncScope::Cta;
    state = {{}, std::move(unfenced)};
  }

  /// Of `op`, before a bulk copy of it.
  static bool needsFence(Operation *op, const State &state) {
    BulkUse use(op);
    return llvm::any_of(state.unfenced, [&](tilegpu::AllocOp alloc) {
      return (use.rows && overlap(alloc, use.rows)) ||
             (use.full && overlap(alloc, use.full));
    });
  }

  /// What iterations need of each other stands in the loop; what they need of
  /// the accesses before it, as far as no barrier in it comes first, is needed
  /// once and stands before the loop.
  void visit(scf::ForOp loop, State &state) {
    if (inserting) {
      State own;
      visitTwice(loop, own);
    }
    bool inserts = std::exchange(inserting, false);
    if (inserts)
      needed = Need::None;
    State body = state;
    visitTwice(loop, body);
    inserting = inserts;
    if (inserts)
      insertBefore(loop, needed, state);
    merge(state, body);
  }

  /// What the end of an iteration left meets the next one.
  void visitTwice(scf::ForOp loop, State &state) {
    visit(*loop.getBody(), state);
    visit(*loop.getBody(), state);
  }

  void visit(tilegpu::SharedAccessOpInterface op, State &state) {
    BulkUse bulk(op);
    SmallVector<Pending> now;
    for (const tilegpu::SharedAccess &access : op.getSharedAccesses()) {
      Value view = access.operand->get();
      tilegpu::AllocOp alloc = allocOf(view);
      if (alloc && !isa<tilegpu::MBarriersType>(alloc.getType()))
        now.push_back({alloc, view, access});
      else if (alloc && isa<tilegpu::MBarrierInitOp>(op))
        state.unfenced.insert(alloc);
    }
    Need need = needsFence(op, state) ? Need::Fenced : Need::None;
    for (const Pending &second : now)
      for (const Pending &first : state.pending) {
        if (first.alloc == second.alloc && guarded.contains(first.alloc))
          continue;
        Need one = needBetween(first, second);
        if (one == Need::Warp && first.warpSynced)
          one = Need::None;
        need = std::max(need, one);
      }
    insertBefore(op, need, state);
    for (const Pending &pending : now) {
      auto *it = llvm::find(state.pending, pending);
      if (it == state.pending.end())
        state.pending.push_back(pending);
      else
        it->warpSynced = false;
      // Rows that are skipped are fenced by those who zero them.
      if (pending.access.isWrite && pending.alloc != bulk.rows)
        state.unfenced.insert(pending.alloc);
    }
  }

  /// Only notes the need while nothing is inserted.
  void insertBefore(Operation *op, Need need, State &state) {
    if (need == Need::None)
      return;
    if (inserting) {
      OpBuilder b(op);
      tilegpu::SyncOp::create(b, op->getLoc(),
                              need == Need::Warp ? tilegpu::SyncScope::Warp
                                                 : scope,
                              /*proxy_fence=*/need == Need::Fenced);
    }
    needed = std::max(needed, need);
    apply(need, state);
  }

  static void apply(Need need, State &state) {
    if (need == Need::Fenced)
      state.unfenced.clear();
    if (need >= Need::All)
      state.pending.clear();
    for (Pending &pending : state.pending)
      pending.warpSynced = true;
  }

  /// Either may have happened.
  static void merge(State &into, const State &other) {
    for (const Pending &pending : other.pending) {
      auto *it = llvm::find(into.pending, pending);
      if (it == into.pending.end())
        into.pending.push_back(pending);
      else
        it->warpSynced &= pending.warpSynced;
    }
    into.unfenced.insert_range(other.unfenced);
  }

  llvm::DenseSet<Operation *> guarded;                ///< allocs, by mbarriers
  tilegpu::SyncScope scope = tilegpu::SyncScope::Cta; ///< of Need::All
  bool inserting = true;
  Need needed = Need::None; ///< the strongest since it was reset
};

struct InsertSyncsPass : impl::InsertSyncsBase<InsertSyncsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      WalkResult walk = kernel->walk([&](Operation *op) -> WalkResult {
        if (auto alloc = dyn_cast<tilegpu::AllocOp>(op))
          if (!alloc.getOffset())
            return op->emitOpError("expected an offset; run "
                                   "tilegpu-plan-shared first");
        if (op->getNumRegions() &&
            !isa<tile::KernelOp, tilegpu::RolesOp, scf::ForOp, scf::IfOp>(op))
          return op->emitOpError("cannot order shared memory accesses in `")
                 << op->getName() << "`";
        return WalkResult::advance();
      });
      if (walk.wasInterrupted())
        return signalPassFailure();
      State state;
      Inserter(kernel).visit(kernel.getBody().front(), state);
    }
  }
};

} // namespace
} // namespace mlatile
