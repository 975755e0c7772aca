// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CarriedValues.h"
#include "GatheredReads.h"
#include "HoistCopies.h"
#include "PipelineState.h"
#include "QuantisedOperands.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Transforms/Passes.h"
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
  tile::GatherOp gather;
  GatherRing buffers;
  std::optional<GatherIds> ids;
};

/// What a loop leaves for one behind it in its block.
struct Pipelined {
  scf::ForOp loop;
  int64_t stages;
  SmallVector<RingShape> shapes;
  SmallVector<GatherRing> buffers;
  Value full, empty;
  bool continues; ///< with the stages of a loop before it
};

/// The gathers of one loop.
struct LoopGathers {
  scf::ForOp loop;
  SmallVector<scf::ForOp> around = {}; ///< outermost first
  int64_t stages = 1;
  SmallVector<RingShape> shapes = {};
  SmallVector<Ring> rings = {};
  Value full = {}, empty = {};
  /// The loop before it whose stages it goes on with, or null.
  const Pipelined *before = nullptr;
  PipelineState state = {}; ///< of its first tile

  /// Whether its stages have had tiles before.
  bool continues() const { return before || !around.empty(); }
};

/// As `loop` compares: its bounds may be unsigned.
Value compareAs(scf::ForOp loop, OpBuilder &b, bool less, Value x, Value y) {
  using Predicate = arith::CmpIPredicate;
  bool isUnsigned = loop.getUnsignedCmp();
  Predicate predicate = less ? (isUnsigned ? Predicate::ult : Predicate::slt)
                             : (isUnsigned ? Predicate::uge : Predicate::sge);
  return arith::CmpIOp::create(b, loop.getLoc(), predicate, x, y);
}

Value inRange(scf::ForOp loop, OpBuilder &b, Value iv) {
  return compareAs(loop, b, /*less=*/true, iv, loop.getUpperBound());
}

class Pipeliner {
public:
  explicit Pipeliner(tile::KernelOp kernel)
      : kernel(kernel),
        entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {
    mark = arith::ConstantIntOp::create(entry, kernel.getLoc(), 0, 32);
    entry.setInsertionPoint(mark);
    hoister.emplace(mark);
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

  GatherRing makeRing(Location loc, const RingShape &shape, int64_t stages) {
    return GatherRing::create(entry, loc, *shape.format, shape.count, stages,
                              shape.copied);
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
    return success();
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
    LoopGathers work{loop};
    if (failed(findRings(work, gathers)))
      return failure();
    SmallVector<Value> ids = issueAhead(work);
    if (failed(rewrite(work, ids)))
      return failure();
    if (work.around.empty()) {
      Pipelined done{work.loop, work.stages, work.shapes,           {},
                     work.full, work.empty,  work.before != nullptr};
      for (const Ring &ring : work.rings)
        done.buffers.push_back(ring.buffers);
      pipelined.insert_or_assign(work.loop->getBlock(), std::move(done));
    }
    return success();
  }

  /// Buffers and mbarriers, those of the loop before it if they fit, and where
  /// in them the loop begins.
  LogicalResult findRings(LoopGathers &work, ArrayRef<tile::GatherOp> gathers) {
    scf::ForOp loop = work.loop;
    if (auto attr = loop->getAttrOfType<tile::PipelineAttr>("tile.pipeline"))
      work.stages = attr.getStages();
    auto around = loopsAround(loop, gathers.front());
    if (failed(around))
      return failure();
    work.around = std::move(*around);
    for (tile::GatherOp gather : gathers) {
      auto shape = shapeOf(gather);
      auto ids = GatherIds::create(loop, gather);
      if (failed(shape) || failed(ids))
        return failure();
      work.shapes.push_back(*shape);
      work.rings.push_back({gather, {}, std::move(*ids)});
    }
    auto last = pipelined.find(loop->getBlock());
    if (last != pipelined.end() && work.around.empty() &&
        last->second.stages == work.stages &&
        last->second.shapes == work.shapes)
      work.before = &last->second;

    Location loc = loop.getLoc();
    OpBuilder start(work.around.empty() ? loop : work.around.front());
    if (work.before) {
      for (auto [ring, buffers] : llvm::zip(work.rings, work.before->buffers))
        ring.buffers = buffers;
      work.full = work.before->full;
      work.empty = work.before->empty;
      scf::ForOp other = work.before->loop;
      auto counted = other.getResults().take_back(2);
      work.state = {counted[0], counted[1]};
      return success();
    }
    int64_t warps = tilegpu::warpsAround(loop).value_or(1), arrivals = 0;
    for (auto [ring, shape] : llvm::zip(work.rings, work.shapes)) {
      ring.buffers = makeRing(ring.gather.getLoc(), shape, work.stages);
      arrivals += GatherRing::arrivals(ring.gather, warps);
    }
    work.full = makeBarriers(loc, "full", work.stages, arrivals);
    work.empty = makeBarriers(loc, "empty", work.stages, 32 * warps);
    // Loops around carry on what this one counts.
    work.state = PipelineState::first(start, loc);
    for (scf::ForOp &outer : work.around) {
      // What it has left for others is in another place from now on.
      auto left = pipelined.find(outer->getBlock());
      if (left != pipelined.end() && left->second.loop == outer)
        pipelined.erase(left);
      outer = carryMore(outer, {work.state.stage, work.state.parity});
      auto carried = outer.getRegionIterArgs().take_back(2);
      work.state = {carried[0], carried[1]};
    }
    return success();
  }

  /// Before the loop: a tile on its way to every stage (to a single one it is
  /// issued in the loop). Where the loop before has no iterations they are
  /// issued in its place, to the stages from the first on. Returns the ids of
  /// the last of these tiles.
  SmallVector<Value> issueAhead(LoopGathers &work) {
    OpBuilder b(work.loop);
    Location loc = work.loop.getLoc();
    Operation *first = work.loop->getPrevNode();
    SmallVector<SmallVector<Value>> ids; // of a tile, those of each gather
    SmallVector<Value> wanted;
    for (int64_t i = 0; i < work.stages; ++i) {
      Value iv = inductionAhead(b, work.loop, work.loop.getLowerBound(), i);
      for (ids.emplace_back(); const Ring &ring : work.rings)
        ids.back().push_back(ring.ids->at(b, work.loop, iv));
      wanted.push_back(inRange(work.loop, b, iv));
    }
    auto issue = [&](int64_t tile, Value condition, PipelineState to,
                     bool waits) {
      auto guard = scf::IfOp::create(b, loc, condition);
      OpBuilder inner = guard.getThenBodyBuilder();
      if (waits)
        tilegpu::MBarrierWaitOp::create(inner, loc, work.empty, to.stage,
                                        to.freed(inner, loc));
      for (auto [ring, value] : llvm::zip(work.rings, ids[tile]))
        ring.buffers.issue(inner, ring.gather, value, to.stage, work.full);
      return guard;
    };
    int64_t ahead = work.stages > 1 ? work.stages : 0;
    CopyHoister::Alternatives instead;
    if (ahead && work.before && !work.before->continues) {
      scf::ForOp other = work.before->loop;
      auto compare = [&](bool less) {
        return compareAs(other, b, less, other.getLowerBound(),
                         other.getUpperBound());
      };
      Value none = compare(/*less=*/false);
      for (int64_t i = 0; i < ahead; ++i) {
        Value condition = arith::AndIOp::create(b, loc, none, wanted[i]);
        instead[issue(i, condition, {constant(b, loc, i), {}},
                      /*waits=*/false)] = other;
      }
      Value some = compare(/*less=*/true);
      for (Value &condition : wanted)
        condition = arith::AndIOp::create(b, loc, some, condition);
    }
    PipelineState to = work.state;
    for (int64_t i = 0; i < ahead; ++i) {
      if (i > 0 && work.continues())
        to = to.next(b, loc, work.stages);
      else
        to.stage = i > 0 ? constant(b, loc, i) : to.stage;
      issue(i, wanted[i], to, /*waits=*/work.continues());
    }
    hoister->hoist(first, work.loop, instead);
    return ids.back();
  }

  /// The loop carries ids, stage and parity, issues the tile behind those that
  /// are on their way, and reads its own.
  LogicalResult rewrite(LoopGathers &work, ArrayRef<Value> ids) {
    Location loc = work.loop.getLoc();
    SmallVector<Value> inits(ids);
    inits.push_back(work.state.stage);
    inits.push_back(work.state.parity);
    scf::ForOp loop = carryMore(work.loop, inits);
    work.loop = loop;
    loop->removeDiscardableAttr("tile.pipeline");
    auto carried = loop.getRegionIterArgs().take_back(inits.size());
    PipelineState state{carried[ids.size()], carried[ids.size() + 1]};
    Value iv = loop.getInductionVar();

    // The tile issued now goes to the stage that the previous iteration read:
    // stage - 1, whose parity is that of this round unless this stage is 0.
    auto b = OpBuilder::atBlockBegin(loop.getBody());
    Value atZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         state.stage, constant(b, loc, 0));
    Value before = arith::SelectOp::create(
        b, loc, atZero, constant(b, loc, work.stages - 1),
        arith::SubIOp::create(b, loc, state.stage, constant(b, loc, 1)));
    Value parity = arith::SelectOp::create(b, loc, atZero, state.freed(b, loc),
                                           state.parity);
    Value issues =
        inRange(work.loop, b, inductionAhead(b, loop, iv, work.stages - 1));
    if (work.stages > 1) // the first iteration's is on its way
      issues = arith::AndIOp::create(
          b, loc, issues,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, iv,
                                loop.getLowerBound()));
    OpBuilder inner = scf::IfOp::create(b, loc, issues).getThenBodyBuilder();
    tilegpu::MBarrierWaitOp::create(inner, loc, work.empty, before, parity);
    for (auto [ring, value] :
         llvm::zip(work.rings, carried.take_front(ids.size())))
      ring.buffers.issue(inner, ring.gather, value, before, work.full);
    SmallVector<Value> yields;
    Value ahead = inductionAhead(b, loop, iv, work.stages);
    for (const Ring &ring : work.rings)
      yields.push_back(ring.ids->at(b, loop, ahead));
    tilegpu::MBarrierWaitOp::create(b, loc, work.full, state.stage,
                                    state.parity);
    for (Ring &ring : work.rings)
      if (failed(readStage(ring, state.stage)))
        return failure();

    b.setInsertionPoint(loop.getBody()->getTerminator());
    tilegpu::MBarrierArriveOp::create(b, loc, work.empty, state.stage);
    PipelineState next = state.next(b, loc, work.stages);
    yields.push_back(next.stage);
    yields.push_back(next.parity);
    setLastYields(loop, yields);
    for (scf::ForOp outer : llvm::reverse(work.around)) {
      setLastYields(outer, loop.getResults().take_back(2));
      loop = outer;
    }
    return success();
  }

  LogicalResult inPlace(ArrayRef<tile::GatherOp> gathers) {
    for (tile::GatherOp gather : gathers) {
      auto shape = shapeOf(gather);
      if (failed(shape))
        return failure();
      Location loc = gather.getLoc();
      Ring ring{gather, makeRing(loc, *shape, /*stages=*/1), std::nullopt};
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
  std::optional<CopyHoister> hoister;
  bool anyBulk = false;
  /// The last one in a block.
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
