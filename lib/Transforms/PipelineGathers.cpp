// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_PIPELINEGATHERS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// A gather and the rings that its copies fill.
struct Ring {
  tile::GatherOp gather;
  const CacheFormat *format;
  /// What computes the slot ids from the induction variable, in order.
  SetVector<Operation *> idSlice;
  Value rows, scales, slots;
};

int64_t roundUp16(int64_t n) { return (n + 15) / 16 * 16; }

class Pipeliner {
public:
  Pipeliner(tile::KernelOp kernel, int64_t numThreads)
      : kernel(kernel), numThreads(numThreads),
        entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {}

  LogicalResult run() {
    // Gathers that share a loop share its stages and mbarriers.
    llvm::MapVector<Operation *, SmallVector<tile::GatherOp>> byLoop;
    kernel->walk([&](tile::GatherOp gather) {
      byLoop[gather->getParentOp()].push_back(gather);
    });
    for (auto &[parent, gathers] : byLoop) {
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        if (loop->getParentOfType<scf::ForOp>() ||
            loop->getParentOfType<scf::WhileOp>())
          return gathers.front().emitOpError(
              "expected the loop of a gather to stand outside of other loops");
        if (failed(pipeline(loop, gathers)))
          return failure();
      } else if (gathers.front()->getParentOfType<scf::ForOp>() ||
                 gathers.front()->getParentOfType<scf::WhileOp>()) {
        return gathers.front().emitOpError(
            "expected a gather directly in the body of its loop");
      } else if (failed(inPlace(gathers))) {
        return failure();
      }
    }
    if (initialised) {
      entry.setInsertionPointAfter(initialised);
      tilegpu::SyncOp::create(entry, kernel.getLoc(), tilegpu::SyncScope::Cta);
    }
    return success();
  }

private:
  Value constant(OpBuilder &b, Location loc, int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  }

  Value alloc(Location loc, StringRef name, Type type) {
    return tilegpu::AllocOp::create(entry, loc, type, name, IntegerAttr());
  }

  FailureOr<Ring> makeRing(tile::GatherOp gather, int64_t stages) {
    auto pool = cast<tile::PoolType>(gather.getPool().getType());
    const CacheFormat *format = pool.getCacheFormat();
    if (!format)
      return gather.emitOpError("expected a pool bound to a format, got ")
             << pool;
    int64_t count =
        cast<RankedTensorType>(gather.getIds().getType()).getDimSize(0);
    MLIRContext *context = gather.getContext();
    Location loc = gather.getLoc();
    Type i8 = IntegerType::get(context, 8), i32 = IntegerType::get(context, 32);
    auto ring = [&](ArrayRef<int64_t> shape, Type element, int64_t stride) {
      return tilegpu::RingType::get(
          context, stages,
          tilegpu::BufferType::get(context, shape, element, stride));
    };

    Ring result{gather, format, {}, {}, {}, {}};
    int64_t rowBytes = roundUp16(format->usedRow());
    result.rows = alloc(
        loc, "rows", ring({count, rowBytes}, i8, conflictFreeStride(rowBytes)));
    if (format->place == ScalePlace::Footer)
      result.scales = alloc(
          loc, "scales", ring({count, format->scaleRow}, i8, format->scaleRow));
    result.slots = alloc(loc, "slots", ring({count}, i32, 4 * count));
    return result;
  }

  Value makeBarriers(Location loc, StringRef name, int64_t stages,
                     int64_t count) {
    Value bars = alloc(
        loc, name, tilegpu::MBarriersType::get(kernel.getContext(), stages));
    initialised = tilegpu::MBarrierInitOp::create(entry, loc, bars, count);
    return bars;
  }

  /// The buffers of one stage.
  struct Stage {
    Value rows, scales, slots;
  };
  Stage stageOf(OpBuilder &b, Ring &ring, Value index) {
    Location loc = ring.gather.getLoc();
    Stage stage;
    stage.rows = tilegpu::StageOp::create(b, loc, ring.rows, index);
    stage.slots = tilegpu::StageOp::create(b, loc, ring.slots, index);
    stage.scales =
        ring.scales
            ? Value(tilegpu::StageOp::create(b, loc, ring.scales, index))
            : view(b, loc, stage.rows, ring.format->scaleOffset,
                   ring.format->groups(), b.getF32Type());
    return stage;
  }

  Value view(OpBuilder &b, Location loc, Value buffer, int64_t offset,
             int64_t columns, Type element) {
    auto type = cast<tilegpu::BufferType>(buffer.getType());
    auto viewType =
        tilegpu::BufferType::get(b.getContext(), {type.getShape()[0], columns},
                                 element, type.getStrideBytes());
    return tilegpu::ViewOp::create(b, loc, viewType, buffer,
                                   b.getI64IntegerAttr(offset));
  }

  void issue(OpBuilder &b, Ring &ring, Value ids, Value index, Value full) {
    Stage stage = stageOf(b, ring, index);
    tilegpu::GatherAsyncOp::create(b, ring.gather.getLoc(),
                                   ring.gather.getPool(), ids, stage.rows,
                                   stage.scales, stage.slots, full, index);
  }

  /// Replaces the results of a gather by reads of the stage at `index`, which
  /// has been waited for before `gather`.
  LogicalResult readStage(Ring &ring, Value index) {
    tile::GatherOp gather = ring.gather;
    OpBuilder b(gather);
    Location loc = gather.getLoc();
    Stage stage = stageOf(b, ring, index);

    auto okType = cast<RankedTensorType>(gather.getOk().getType());
    auto slotType = okType.clone(b.getI32Type());
    Value slots = tilegpu::LoadSharedOp::create(b, loc, slotType, stage.slots);
    Value minusOne =
        tile::FullOp::create(b, loc, slotType, constant(b, loc, -1));
    gather.getOk().replaceAllUsesWith(arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::sgt, slots, minusOne));

    for (Operation *user :
         llvm::make_early_inc_range(gather.getRows().getUsers())) {
      auto dequant = dyn_cast<tile::DequantOp>(user);
      if (!dequant)
        return user->emitOpError(
            "expected gathered rows to go to tile.dequant");
      if (failed(readField(ring, stage, dequant)))
        return failure();
    }
    gather.erase();
    return success();
  }

  LogicalResult readField(Ring &ring, const Stage &stage,
                          tile::DequantOp dequant) {
    OpBuilder b(dequant);
    Location loc = dequant.getLoc();
    const CacheFormat &format = *ring.format;
    auto type = cast<RankedTensorType>(dequant.getResult().getType());
    if (dequant.getField() == tile::RowField::Scale) {
      auto scales = readScales(b, dequant, format, stage.scales);
      if (failed(scales))
        return failure();
      dequant.getResult().replaceAllUsesWith(*scales);
      dequant.erase();
      return success();
    }
    Value buffer;
    if (dequant.getField() == tile::RowField::Rope) {
      if (!type.getElementType().isBF16())
        return dequant.emitOpError("expected the rope field as bf16, got ")
               << type.getElementType();
      buffer = view(b, loc, stage.rows, format.ropeOffset, format.rope,
                    b.getBF16Type());
    } else {
      if (type.getElementTypeBitWidth() != 16)
        return dequant.emitOpError("expected a 16-bit element type, got ")
               << type.getElementType();
      if (format.payload != PayloadType::E4M3)
        return dequant.emitOpError("payload of format `")
               << format.name << "` is not built yet";
      int64_t rowBytes = 2 * format.nope;
      buffer = alloc(loc, "keys",
                     tilegpu::BufferType::get(b.getContext(), type.getShape(),
                                              type.getElementType(),
                                              conflictFreeStride(rowBytes)));
      Value payload = view(b, loc, stage.rows, 0, format.nope,
                           Float8E4M3FNType::get(b.getContext()));
      tilegpu::DequantOp::create(
          b, loc, b.getStringAttr(format.name), payload, stage.scales, buffer,
          /*unscaled=*/dequant.getField() == tile::RowField::Payload);
    }
    dequant.getResult().replaceAllUsesWith(
        tilegpu::LoadSharedOp::create(b, loc, type, buffer).getResult());
    dequant.erase();
    return success();
  }

  /// The scales of a stage as f32, from the buffer that they were copied to.
  FailureOr<Value> readScales(OpBuilder &b, tile::DequantOp dequant,
                              const CacheFormat &format, Value buffer) {
    Location loc = dequant.getLoc();
    auto type = cast<RankedTensorType>(dequant.getResult().getType());
    if (format.scale == ScaleType::F32)
      return Value(tilegpu::LoadSharedOp::create(b, loc, type, buffer));
    if (format.scale != ScaleType::UE8M0)
      return dequant.emitOpError("scales of format `")
             << format.name << "` are not built yet";
    Value bytes =
        tilegpu::LoadSharedOp::create(b, loc, type.clone(b.getI8Type()),
                                      view(b, loc, buffer, format.scaleOffset,
                                           format.groups(), b.getI8Type()));
    // 2^(e - 127). The bytes 0 (a subnormal) and 255 (NaN) both have the top
    // mantissa bit set on top of e in the exponent.
    auto bitsType = type.clone(b.getI32Type());
    auto all = [&](int64_t value) -> Value {
      return tile::FullOp::create(b, loc, bitsType, constant(b, loc, value));
    };
    Value e = arith::ExtUIOp::create(b, loc, bitsType, bytes);
    Value exponent = arith::ShLIOp::create(b, loc, e, all(23));
    Value special = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::uge,
        arith::SubIOp::create(b, loc, e, all(1)), all(254));
    Value mantissa =
        arith::SelectOp::create(b, loc, special, all(0x00400000), all(0));
    Value bits = arith::OrIOp::create(b, loc, exponent, mantissa);
    return Value(arith::BitcastOp::create(b, loc, type, bits));
  }

  /// Collects what the ids are computed from inside the loop.
  LogicalResult sliceIds(scf::ForOp loop, Ring &ring) {
    std::function<LogicalResult(Value)> visit =
        [&](Value value) -> LogicalResult {
      if (value == loop.getInductionVar())
        return success();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == loop.getBody())
          return ring.gather.emitOpError(
              "expected slot ids that depend on the loop only through its "
              "induction variable");
        return success();
      }
      Operation *op = value.getDefiningOp();
      if (op->getBlock() != loop.getBody())
        return success();
      if (op->getNumRegions() || !(isPure(op) || isa<tile::LoadOp>(op)))
        return ring.gather.emitOpError("cannot compute slot ids ahead of `")
               << op->getName() << "`";
      for (Value operand : op->getOperands())
        if (failed(visit(operand)))
          return failure();
      ring.idSlice.insert(op);
      return success();
    };
    return visit(ring.gather.getIds());
  }

  /// The ids at another value of the induction variable.
  Value idsAt(OpBuilder &b, scf::ForOp loop, Ring &ring, Value iv) {
    IRMapping map;
    map.map(loop.getInductionVar(), iv);
    for (Operation *op : ring.idSlice)
      b.clone(*op, map);
    return map.lookupOrDefault(ring.gather.getIds());
  }

  /// iv + count * step
  Value ahead(OpBuilder &b, scf::ForOp loop, Value iv, int64_t count) {
    Location loc = loop.getLoc();
    if (count == 0)
      return iv;
    Value distance = loop.getStep();
    if (count > 1)
      distance = arith::MulIOp::create(
          b, loc, distance,
          arith::ConstantOp::create(
              b, loc, b.getIntegerAttr(distance.getType(), count)));
    return arith::AddIOp::create(b, loc, iv, distance);
  }

  LogicalResult pipeline(scf::ForOp loop, ArrayRef<tile::GatherOp> gathers) {
    int64_t stages = 1;
    if (auto attr = loop->getAttrOfType<tile::PipelineAttr>("tile.pipeline"))
      stages = attr.getStages();
    Location loc = loop.getLoc();
    SmallVector<Ring> rings;
    for (tile::GatherOp gather : gathers) {
      auto ring = makeRing(gather, stages);
      if (failed(ring) || failed(sliceIds(loop, *ring)))
        return failure();
      rings.push_back(std::move(*ring));
    }
    Value full = makeBarriers(loc, "full", stages,
                              2 * numThreads * int64_t(rings.size()));
    Value empty = makeBarriers(loc, "empty", stages, numThreads);

    Value end = loop.getUpperBound();
    auto inRange = [&, end](OpBuilder &b, Value iv) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, iv, end);
    };

    // Before the loop: stages - 1 tiles on their way, ids of one more.
    OpBuilder b(loop);
    for (int64_t i = 0; i + 1 < stages; ++i) {
      Value iv = ahead(b, loop, loop.getLowerBound(), i);
      auto guard = scf::IfOp::create(b, loc, inRange(b, iv));
      OpBuilder inner = guard.getThenBodyBuilder();
      for (Ring &ring : rings)
        issue(inner, ring, idsAt(inner, loop, ring, iv),
              constant(inner, loc, i), full);
    }
    SmallVector<Value> inits(loop.getInitArgs());
    size_t numOld = inits.size();
    for (Ring &ring : rings)
      inits.push_back(idsAt(b, loop, ring,
                            ahead(b, loop, loop.getLowerBound(), stages - 1)));
    inits.push_back(constant(b, loc, 0)); // stage of this iteration
    inits.push_back(constant(b, loc, 0)); // parity of its phase

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
    Value last = constant(b, loc, stages - 1);
    // The tile issued now goes to the stage that the previous iteration read:
    // stage - 1, whose parity is that of this round unless this stage is 0.
    Value atZero =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, zero);
    Value other = arith::XOrIOp::create(b, loc, parity, one);
    Value nextStage = arith::SelectOp::create(
        b, loc, atZero, last, arith::SubIOp::create(b, loc, stage, one));
    Value emptyParity = arith::SelectOp::create(b, loc, atZero, other, parity);
    auto guard = scf::IfOp::create(
        b, loc, inRange(b, ahead(b, newLoop, iv, stages - 1)));
    {
      OpBuilder inner = guard.getThenBodyBuilder();
      tilegpu::MBarrierWaitOp::create(inner, loc, empty, nextStage,
                                      emptyParity);
      for (auto [ring, ids] : llvm::zip(rings, carriedIds))
        issue(inner, ring, ids, nextStage, full);
    }
    Value idsIv = ahead(b, newLoop, iv, stages);
    SmallVector<Value> nextIds;
    for (Ring &ring : rings)
      nextIds.push_back(idsAt(b, newLoop, ring, idsIv));
    tilegpu::MBarrierWaitOp::create(b, loc, full, stage, parity);

    for (Ring &ring : rings)
      if (failed(readStage(ring, stage)))
        return failure();

    auto yield = cast<scf::YieldOp>(body->getTerminator());
    b.setInsertionPoint(yield);
    tilegpu::MBarrierArriveOp::create(b, loc, empty, stage);
    Value atLast =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, last);
    SmallVector<Value> yielded(yield.getOperands());
    llvm::append_range(yielded, nextIds);
    yielded.push_back(arith::SelectOp::create(
        b, loc, atLast, zero, arith::AddIOp::create(b, loc, stage, one)));
    yielded.push_back(arith::SelectOp::create(b, loc, atLast, other, parity));
    yield->setOperands(yielded);
    return success();
  }

  LogicalResult inPlace(ArrayRef<tile::GatherOp> gathers) {
    for (tile::GatherOp gather : gathers) {
      auto ring = makeRing(gather, /*stages=*/1);
      if (failed(ring))
        return failure();
      Location loc = gather.getLoc();
      Value full = makeBarriers(loc, "full", 1, 2 * numThreads);
      OpBuilder b(gather);
      Value zero = constant(b, loc, 0);
      issue(b, *ring, gather.getIds(), zero, full);
      tilegpu::MBarrierWaitOp::create(b, loc, full, zero, zero);
      if (failed(readStage(*ring, zero)))
        return failure();
    }
    return success();
  }

  tile::KernelOp kernel;
  int64_t numThreads;
  OpBuilder entry;
  Operation *initialised = nullptr;
};

struct PipelineGathersPass : impl::PipelineGathersBase<PipelineGathersPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      auto numWarps = kernel->getAttrOfType<IntegerAttr>("num_warps");
      if (!numWarps) {
        kernel.emitOpError("expected num_warps; is the kernel specialised?");
        return signalPassFailure();
      }
      if (failed(Pipeliner(kernel, 32 * numWarps.getInt()).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlatile
