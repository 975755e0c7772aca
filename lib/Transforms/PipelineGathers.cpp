// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CarriedValues.h"
#include "GatheredReads.h"
#include "QuantisedOperands.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_PIPELINEGATHERS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// What the buffers and mbarriers of a gather follow from.
struct RingShape {
  const CacheFormat *format = nullptr;
  int64_t count = 0;
  bool copied = false, bulk = false;
  bool operator==(const RingShape &) const = default;
};

/// A gather, the rings that its copies fill, and what its ids are computed
/// from where they are computed ahead.
struct Ring {
  tile::GatherOp gather; ///< null once it is read
  RingShape shape;
  GatherRing buffers;
  std::optional<GatherIds> ids;
};

/// The stage of a tile, and the parity of its phase.
struct Turn {
  Value stage, parity;
};

/// The gathers of one loop.
struct Pipelined {
  scf::ForOp loop;
  int64_t stages = 1;
  SmallVector<Ring> rings;
  Value full, empty;
  bool continues = false; ///< with the stages of a loop before it

  /// Whether a loop over `stages` and `shapes` can take the same.
  bool serves(int64_t otherStages, ArrayRef<RingShape> shapes) const {
    return stages == otherStages &&
           llvm::equal(rings, shapes,
                       [](const Ring &ring, const RingShape &shape) {
                         return ring.shape == shape;
                       });
  }
};

class Pipeliner {
public:
  explicit Pipeliner(tile::KernelOp kernel)
      : kernel(kernel),
        entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {
    mark = arith::ConstantIntOp::create(entry, kernel.getLoc(), 0, 32);
    entry.setInsertionPoint(mark);
  }
  ~Pipeliner() { mark->erase(); }

  LogicalResult run() {
    operands = quantisedOperands(kernel);
    // Gathers that share a loop share its stages and mbarriers.
    llvm::MapVector<Operation *, SmallVector<tile::GatherOp>> byLoop;
    kernel->walk([&](tile::GatherOp gather) {
      byLoop[gather->getParentOp()].push_back(gather);
      anyBulk |= gather.getBulk();
    });
    for (auto &[first, gathers] : byLoop) {
      // Loops around others may have been replaced by now.
      Operation *parent = gathers.front()->getParentOp();
      bool inLoop = gathers.front()->getParentOfType<scf::ForOp>() ||
                    gathers.front()->getParentOfType<scf::WhileOp>();
      LogicalResult result = success();
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        result = pipeline(loop, gathers);
      else if (inLoop)
        result = gathers.front().emitOpError(
            "expected a gather directly in the body of its loop");
      else
        result = inPlace(gathers);
      if (failed(result))
        return failure();
    }
    if (initialised)
      tilegpu::SyncOp::create(entry, kernel.getLoc(), tilegpu::SyncScope::Cta,
                              /*proxy_fence=*/anyBulk);
    return success();
  }

private:
  Value constant(OpBuilder &b, Location loc, int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  }

  Value alloc(Location loc, StringRef name, Type type) {
    return tilegpu::AllocOp::create(entry, loc, type, name, IntegerAttr());
  }

  static FailureOr<RingShape> shapeOf(tile::GatherOp gather) {
    auto pool = cast<tile::PoolType>(gather.getPool().getType());
    const CacheFormat *format = pool.getCacheFormat();
    if (!format)
      return gather.emitOpError("expected a pool bound to a format, got ")
             << pool;
    int64_t count =
        cast<RankedTensorType>(gather.getIds().getType()).getDimSize(0);
    return RingShape{format, count, isCopied(gather), gather.getBulk()};
  }

  Ring makeRing(tile::GatherOp gather, const RingShape &shape, int64_t stages) {
    return {gather, shape,
            GatherRing::create(entry, gather.getLoc(), *shape.format,
                               shape.count, stages, shape.copied),
            std::nullopt};
  }

  /// Whether rows are read for more than their scales, and all that is read of
  /// them goes to buffers as it comes.
  static bool isCopied(tile::GatherOp gather) {
    bool copied = false;
    for (Operation *user : gather.getRows().getUsers()) {
      auto dequant = dyn_cast<tile::DequantOp>(user);
      if (!dequant)
        return false;
      if (dequant.getField() == tile::RowField::Scale)
        continue;
      if (!llvm::all_of(dequant->getUsers(), [](Operation *reader) {
            return isa<tilegpu::StoreSharedOp>(reader);
          }))
        return false;
      copied = true;
    }
    return copied;
  }

  Value makeBarriers(Location loc, StringRef name, int64_t stages,
                     int64_t count) {
    Value bars = alloc(
        loc, name, tilegpu::MBarriersType::get(kernel.getContext(), stages));
    tilegpu::MBarrierInitOp::create(entry, loc, bars, count);
    initialised = true;
    return bars;
  }

  /// Replaces the results of a gather by reads of the stage at `index`, which
  /// has been waited for before `gather`.
  LogicalResult readStage(Ring &ring, Value index) {
    OpBuilder b(ring.gather);
    tile::GatherOp gather = ring.gather;
    if (failed(replaceByReads(
            gather, gather.getRows(), gather.getOk(), *ring.buffers.format,
            ring.buffers.stage(b, gather.getLoc(), index), operands, entry)))
      return failure();
    gather.erase();
    ring.gather = nullptr;
    return success();
  }

  /// Whether a load may be done before `op`: another load, copies of rows, or
  /// the loop over another list, none of which writes to global memory.
  static bool mayFollowLoads(Operation *op) {
    if (isa<tile::LoadOp>(op))
      return true;
    if (!isa<scf::ForOp, scf::IfOp>(op))
      return false;
    WalkResult walk = op->walk([&](Operation *inner) {
      bool known = isPure(inner) || inner->getNumRegions() ||
                   inner->hasTrait<OpTrait::IsTerminator>() ||
                   isa<tilegpu::TileGPUDialect>(inner->getDialect()) ||
                   isa<tile::LoadOp, tile::GatherOp, tile::DequantOp,
                       tile::DotOp, tile::DotScaledOp>(inner);
      return known ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !walk.wasInterrupted();
  }

  /// The wait for the place of `copy`, a copy of something else: whoever needs
  /// that has more time than those who need rows. Null if it stands elsewhere.
  static Operation *waitOf(Operation *copy) {
    if (!isa<tilegpu::CopyAsyncOp>(copy))
      return nullptr;
    Operation *wait = copy->getPrevNode();
    while (wait && isPure(wait))
      wait = wait->getPrevNode();
    return isa_and_present<tilegpu::MBarrierWaitOp>(wait) ? wait : nullptr;
  }

  /// Moves `op` up past what computes values alone, as far as its own operands
  /// allow: what stood there then runs while rows are on their way. Loads of
  /// ids pass other loads, and copies and the loop of a list before theirs;
  /// copies, which wait for their ids, come behind them, but pass `instead`,
  /// which does nothing where they are done.
  void hoist(Operation *op, Operation *instead = nullptr) {
    llvm::SmallDenseSet<Operation *> needed;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          needed.insert(producer);
    });
    bool loads = isa<tile::LoadOp>(op);
    if (loads)
      hoisted.insert(op);
    while (Operation *previous = op->getPrevNode()) {
      if (previous == mark || (loads && hoisted.contains(previous)))
        return; // in their order
      Operation *wait = waitOf(previous);
      bool passes = isMemoryEffectFree(previous) || isPure(op) || wait ||
                    previous == instead || (loads && mayFollowLoads(previous));
      for (Operation *each = previous; wait && each != wait;
           each = each->getPrevNode())
        passes &= !needed.contains(each);
      if (needed.contains(previous) || !passes)
        return;
      op->moveBefore(wait ? wait : previous);
    }
  }

  /// The one behind `turn`.
  Turn next(OpBuilder &b, Location loc, Turn turn, int64_t stages) {
    Value one = constant(b, loc, 1);
    Value atLast =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, turn.stage,
                              constant(b, loc, stages - 1));
    Value other = arith::XOrIOp::create(b, loc, turn.parity, one);
    return {
        arith::SelectOp::create(b, loc, atLast, constant(b, loc, 0),
                                arith::AddIOp::create(b, loc, turn.stage, one)),
        arith::SelectOp::create(b, loc, atLast, other, turn.parity)};
  }

  /// The loops around `loop`, outermost first. What stands between them and it
  /// happens in each of their iterations, so that they count its stages.
  static FailureOr<SmallVector<scf::ForOp>> loopsAround(scf::ForOp loop,
                                                        tile::GatherOp gather) {
    SmallVector<scf::ForOp> around;
    Operation *op = loop->getParentOp();
    for (; isa<scf::ForOp>(op); op = op->getParentOp())
      around.push_back(cast<scf::ForOp>(op));
    if (op->getParentOfType<scf::ForOp>() || isa<scf::WhileOp>(op) ||
        op->getParentOfType<scf::WhileOp>())
      return gather.emitOpError("expected the loop of a gather to stand in the "
                                "bodies of other loops, got it in `")
             << op->getName() << "`";
    std::reverse(around.begin(), around.end());
    return around;
  }

  LogicalResult pipeline(scf::ForOp loop, ArrayRef<tile::GatherOp> gathers) {
    int64_t stages = 1;
    if (auto attr = loop->getAttrOfType<tile::PipelineAttr>("tile.pipeline"))
      stages = attr.getStages();
    Location loc = loop.getLoc();
    SmallVector<RingShape> shapes;
    SmallVector<GatherIds> loopIds;
    for (tile::GatherOp gather : gathers) {
      auto shape = shapeOf(gather);
      auto ids = GatherIds::create(loop, gather);
      if (failed(shape) || failed(ids))
        return failure();
      shapes.push_back(*shape);
      loopIds.push_back(std::move(*ids));
    }
    auto around = loopsAround(loop, gathers.front());
    if (failed(around))
      return failure();

    Pipelined *before = nullptr;
    if (auto last = pipelined.find(loop->getBlock());
        last != pipelined.end() && around->empty() &&
        last->second.serves(stages, shapes))
      before = &last->second;
    SmallVector<Ring> rings;
    for (auto [i, gather] : llvm::enumerate(gathers)) {
      rings.push_back(before ? before->rings[i]
                             : makeRing(gather, shapes[i], stages));
      rings.back().gather = gather;
      rings.back().ids = loopIds[i];
    }
    Value full, empty;
    if (before) {
      full = before->full;
      empty = before->empty;
    } else {
      int64_t warps = tilegpu::warpsAround(loop).value_or(1);
      int64_t arrivals = 0;
      for (const Ring &ring : rings)
        arrivals += GatherRing::arrivals(ring.gather, warps);
      full = makeBarriers(loc, "full", stages, arrivals);
      empty = makeBarriers(loc, "empty", stages, 32 * warps);
    }

    // Loops around carry on what this one counts, and it goes on where the one
    // before it with the same buffers has stopped.
    OpBuilder start(around->empty() ? loop : around->front());
    Turn turn{constant(start, loc, 0), constant(start, loc, 0)};
    if (before) {
      auto counted = before->loop.getResults().take_back(2);
      turn = {counted[0], counted[1]};
    }
    for (scf::ForOp &outer : *around) {
      outer = carryMore(outer, {turn.stage, turn.parity});
      auto carried = outer.getRegionIterArgs().take_back(2);
      turn = {carried[0], carried[1]};
    }
    bool counts = before || !around->empty();

    Value end = loop.getUpperBound();
    auto inRange = [&, end](OpBuilder &b, Value iv) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, iv, end);
    };

    // Before the loop: a tile on its way to every stage; to a single one it is
    // sent in the loop. Where the loop before has no iterations they are sent
    // in its place, to the stages from the first on.
    OpBuilder b(loop);
    Operation *last = loop->getPrevNode();
    SmallVector<SmallVector<Value>> ids; // of a tile, those of each gather
    SmallVector<Value> wanted;
    for (int64_t i = 0; i < stages; ++i) {
      Value iv = inductionAhead(b, loop, loop.getLowerBound(), i);
      for (ids.emplace_back(); const Ring &ring : rings)
        ids.back().push_back(ring.ids->at(b, loop, iv));
      wanted.push_back(inRange(b, iv));
    }
    auto send = [&](int64_t tile, Value condition, Turn to, bool waits) {
      auto guard = scf::IfOp::create(b, loc, condition);
      OpBuilder inner = guard.getThenBodyBuilder();
      if (waits) {
        Value freed = arith::XOrIOp::create(inner, loc, to.parity,
                                            constant(inner, loc, 1));
        tilegpu::MBarrierWaitOp::create(inner, loc, empty, to.stage, freed);
      }
      for (auto [ring, value] : llvm::zip(rings, ids[tile]))
        ring.buffers.issue(inner, ring.gather, value, to.stage, full);
      return guard;
    };
    int64_t sent = stages > 1 ? stages : 0;
    SmallVector<Operation *> early;
    if (sent && before && !before->continues) {
      Value begin = before->loop.getLowerBound(),
            end = before->loop.getUpperBound();
      auto compare = [&](arith::CmpIPredicate predicate) {
        return arith::CmpIOp::create(b, loc, predicate, begin, end);
      };
      Value none = compare(arith::CmpIPredicate::sge);
      for (int64_t i = 0; i < sent; ++i)
        early.push_back(send(i, arith::AndIOp::create(b, loc, none, wanted[i]),
                             {constant(b, loc, i), constant(b, loc, 0)},
                             /*waits=*/false));
      Value some = compare(arith::CmpIPredicate::slt);
      for (Value &condition : wanted)
        condition = arith::AndIOp::create(b, loc, some, condition);
    }
    Turn to = turn;
    for (int64_t i = 0; i < sent; ++i) {
      if (i > 0)
        to = counts ? next(b, loc, to, stages)
                    : Turn{constant(b, loc, i), turn.parity};
      send(i, wanted[i], to, /*waits=*/counts);
    }
    SmallVector<Value> inits(loop.getInitArgs());
    size_t numOld = inits.size();
    llvm::append_range(inits, ids.back());
    SmallVector<Operation *> prologue;
    for (Operation *op = loop->getPrevNode(); op && op != last;
         op = op->getPrevNode())
      prologue.push_back(op);
    // With what they follow from, in the order of the block; a loop that they
    // follow from stays.
    llvm::SetVector<Operation *> behind;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitUsesFromAbove = false;
    options.filter = [&](Operation *op) {
      return op->getBlock() == prologue.front()->getBlock() &&
             (op->getNumRegions() == 0 || llvm::is_contained(prologue, op));
    };
    for (Operation *op : prologue)
      (void)getBackwardSlice(op, &behind, options);
    SmallVector<Operation *> ordered = behind.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *op : ordered)
      if (isPure(op) || isa<tile::LoadOp>(op) ||
          llvm::is_contained(prologue, op))
        hoist(op, llvm::is_contained(early, op) ? before->loop : nullptr);
    inits.push_back(turn.stage); // of this iteration
    inits.push_back(turn.parity);

    auto newLoop =
        scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(),
                           loop.getStep(), inits);
    newLoop->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    newLoop->removeDiscardableAttr("tile.pipeline");
    // The old body moves over; its arguments become those of the new loop.
    Block *body = newLoop.getBody();
    // (a loop without results got an empty yield from the builder)
    if (!body->empty())
      body->getTerminator()->erase();
    SmallVector<Value> arguments{newLoop.getInductionVar()};
    llvm::append_range(arguments,
                       newLoop.getRegionIterArgs().take_front(numOld));
    body->getOperations().splice(body->begin(),
                                 loop.getBody()->getOperations());
    for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), arguments))
      from.replaceAllUsesWith(to);
    for (auto [i, result] : llvm::enumerate(loop.getResults()))
      result.replaceAllUsesWith(newLoop.getResult(i));
    loop.erase();

    auto iterArgs = newLoop.getRegionIterArgs();
    auto carriedIds = iterArgs.drop_front(numOld).take_front(rings.size());
    Value stage = iterArgs[numOld + rings.size()];
    Value parity = iterArgs[numOld + rings.size() + 1];
    Value iv = newLoop.getInductionVar();

    b.setInsertionPointToStart(body);
    Value zero = constant(b, loc, 0), one = constant(b, loc, 1);
    Value lastStage = constant(b, loc, stages - 1);
    // The tile issued now goes to the stage that the previous iteration read:
    // stage - 1, whose parity is that of this round unless this stage is 0.
    Value atZero =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, zero);
    Value other = arith::XOrIOp::create(b, loc, parity, one);
    Value nextStage = arith::SelectOp::create(
        b, loc, atZero, lastStage, arith::SubIOp::create(b, loc, stage, one));
    Value emptyParity = arith::SelectOp::create(b, loc, atZero, other, parity);
    Value issues = inRange(b, inductionAhead(b, newLoop, iv, stages - 1));
    if (stages > 1) // the first iteration's is on its way
      issues = arith::AndIOp::create(
          b, loc, issues,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, iv,
                                newLoop.getLowerBound()));
    auto guard = scf::IfOp::create(b, loc, issues);
    {
      OpBuilder inner = guard.getThenBodyBuilder();
      tilegpu::MBarrierWaitOp::create(inner, loc, empty, nextStage,
                                      emptyParity);
      for (auto [ring, ids] : llvm::zip(rings, carriedIds))
        ring.buffers.issue(inner, ring.gather, ids, nextStage, full);
    }
    Value idsIv = inductionAhead(b, newLoop, iv, stages);
    SmallVector<Value> nextIds;
    for (Ring &ring : rings)
      nextIds.push_back(ring.ids->at(b, newLoop, idsIv));
    tilegpu::MBarrierWaitOp::create(b, loc, full, stage, parity);

    for (Ring &ring : rings)
      if (failed(readStage(ring, stage)))
        return failure();

    auto yield = cast<scf::YieldOp>(body->getTerminator());
    b.setInsertionPoint(yield);
    tilegpu::MBarrierArriveOp::create(b, loc, empty, stage);
    Value atLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         stage, lastStage);
    SmallVector<Value> yielded(yield.getOperands());
    llvm::append_range(yielded, nextIds);
    yielded.push_back(arith::SelectOp::create(
        b, loc, atLast, zero, arith::AddIOp::create(b, loc, stage, one)));
    yielded.push_back(arith::SelectOp::create(b, loc, atLast, other, parity));
    yield->setOperands(yielded);
    scf::ForOp counted = newLoop;
    for (scf::ForOp outer : llvm::reverse(*around)) {
      setLastYields(outer, counted.getResults().take_back(2));
      counted = outer;
    }
    if (around->empty())
      pipelined[newLoop->getBlock()] = {newLoop, stages, std::move(rings),
                                        full,    empty,  before != nullptr};
    return success();
  }

  LogicalResult inPlace(ArrayRef<tile::GatherOp> gathers) {
    for (tile::GatherOp gather : gathers) {
      auto shape = shapeOf(gather);
      if (failed(shape))
        return failure();
      Ring ring = makeRing(gather, *shape, /*stages=*/1);
      Location loc = gather.getLoc();
      int64_t warps = tilegpu::warpsAround(gather).value_or(1);
      Value full =
          makeBarriers(loc, "full", 1, GatherRing::arrivals(gather, warps));
      OpBuilder b(gather);
      Value zero = constant(b, loc, 0);
      ring.buffers.issue(b, gather, gather.getIds(), zero, full);
      tilegpu::MBarrierWaitOp::create(b, loc, full, zero, zero);
      if (failed(readStage(ring, zero)))
        return failure();
    }
    return success();
  }

  tile::KernelOp kernel;
  OpBuilder entry;
  bool initialised = false;
  /// Behind the mbarriers and buffers; nothing is moved in front of it.
  Operation *mark;
  llvm::SmallDenseSet<Operation *> hoisted; ///< loads
  bool anyBulk = false;
  /// The last in a block.
  llvm::DenseMap<Block *, Pipelined> pipelined;
  /// Quantised fields that dots read as they are.
  llvm::DenseSet<Operation *> operands;
};

struct PipelineGathersPass : impl::PipelineGathersBase<PipelineGathersPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      auto numWarps = kernel->getAttrOfType<IntegerAttr>("num_warps");
      if (!numWarps) {
        kernel.emitOpError("expected num_warps; is the kernel specialised?");
        return signalPassFailure();
      }
      if (failed(Pipeliner(kernel).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlatile
