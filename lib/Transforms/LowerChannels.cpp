// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CarriedValues.h"
#include "GatheredReads.h"
#include "PipelineState.h"
#include "QuantisedOperands.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_LOWERCHANNELS
#include "mlatile/Transforms/Passes.h.inc"

namespace {

using namespace tilegpu;

/// A channel as shared memory.
struct Channel {
  ChannelOp op;
  int64_t stages;
  GatherRing rows;           ///< of a channel of gathered rows
  SmallVector<Value> values; ///< else one ring a value
  Value full, empty;
};

/// Masks travel as bytes.
Type inMemory(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getElementType().isInteger(1))
    return tensor.clone(IntegerType::get(type.getContext(), 8));
  return type;
}

class Lowering {
public:
  explicit Lowering(tile::KernelOp kernel)
      : kernel(kernel),
        entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {}

  LogicalResult run() {
    operands = quantisedOperands(kernel);
    SmallVector<ChannelOp> channels;
    kernel->walk([&](ChannelOp channel) { channels.push_back(channel); });
    for (ChannelOp op : channels)
      if (failed(lower(op)))
        return failure();
    return success();
  }

private:
  using Role = std::pair<RolesOp, unsigned>;

  LogicalResult lower(ChannelOp op) {
    SetVector<Region *> senders, receivers;
    int64_t sending = 0, receiving = 0; // warps
    for (Operation *user : op->getUsers()) {
      auto role = RolesOp::around(user);
      if (!role)
        return user->emitOpError("expected to stand in a role");
      bool sends = isa<SendOp, SendCopyOp>(user);
      Region *region = &role->first.getBodies()[role->second];
      if ((sends ? senders : receivers).insert(region))
        (sends ? sending : receiving) += role->first.getWarps()[role->second];
    }
    if (senders.size() != 1 || receivers.empty() ||
        receivers.contains(senders.front()))
      return op.emitOpError("expected one role that sends and others that "
                            "receive, got ")
             << senders.size() << " and " << receivers.size();
    auto channel = place(op, sending, receiving);
    if (failed(channel))
      return failure();
    for (Operation *user : op->getUsers())
      if (auto send = dyn_cast<SendOp>(user))
        if (channel->rows.rows && failed(loadIdsAhead(send)))
          return failure();
    senders.insert(receivers.begin(), receivers.end());
    for (Region *region : senders) {
      OpBuilder b = OpBuilder::atBlockBegin(&region->front());
      auto state = PipelineState::first(b, op.getLoc());
      if (failed(walk(region->front(), *channel, state)))
        return failure();
    }
    op.erase();
    return success();
  }

  FailureOr<Channel> place(ChannelOp op, int64_t sending, int64_t receiving) {
    ChannelType type = op.getResult().getType();
    Location loc = op.getLoc();
    Channel channel{op, type.getStages(), {}, {}, {}, {}};
    bool copies = llvm::any_of(
        op->getUsers(), [](Operation *user) { return isa<SendCopyOp>(user); });
    int64_t arrivals = copies ? CopyAsyncOp::arrivals(sending) : sending;
    if (type.carriesRows()) {
      auto rows = cast<tile::RowsType>(type.getTypes().front());
      const CacheFormat *format = rows.getCacheFormat();
      if (!format)
        return op.emitOpError("expected rows of a known format, got ") << rows;
      int64_t count = cast<ShapedType>(type.getTypes()[1]).getDimSize(0);
      channel.rows =
          GatherRing::create(entry, loc, *format, count, channel.stages);
      auto counted = arrivalsOfGathers(op, sending);
      if (failed(counted))
        return failure();
      arrivals = *counted;
    } else {
      for (Type record : type.getTypes()) {
        auto tensor = cast<RankedTensorType>(inMemory(record));
        auto buffer = BufferType::get(op.getContext(), tensor.getShape(),
                                      tensor.getElementType());
        if (tensor.getRank() == 2)
          buffer = BufferType::get(op.getContext(), tensor.getShape(),
                                   tensor.getElementType(),
                                   conflictFreeStride(buffer.getRowBytes()));
        channel.values.push_back(AllocOp::create(
            entry, loc, RingType::get(op.getContext(), channel.stages, buffer),
            op.getName(), IntegerAttr()));
      }
    }
    channel.full = barriers(loc, "full", channel.stages, arrivals);
    channel.empty = barriers(loc, "empty", channel.stages, receiving);
    return channel;
  }

  /// What each gather that is sent adds to a stage's `full`.
  static FailureOr<int64_t> arrivalsOfGathers(ChannelOp op, int64_t warps) {
    std::optional<int64_t> arrivals;
    for (Operation *user : op->getUsers()) {
      auto send = dyn_cast<SendOp>(user);
      if (!send)
        continue;
      auto gather = send.getValues()[0].getDefiningOp<tile::GatherOp>();
      if (!gather)
        return send.emitOpError(
            "expected the results of a gather in the same block");
      int64_t own = GatherRing::arrivals(gather, warps);
      if (arrivals.value_or(own) != own)
        return send.emitOpError(
            "expected gathers that are all `bulk`, or none, "
            "on one channel");
      arrivals = own;
    }
    return arrivals.value_or(2 * 32 * warps);
  }

  Value barriers(Location loc, StringRef name, int64_t stages, int64_t count) {
    Value bars = AllocOp::create(
        entry, loc, MBarriersType::get(kernel.getContext(), stages), name,
        IntegerAttr());
    MBarrierInitOp::create(entry, loc, bars, count);
    return bars;
  }

  static bool uses(Operation *op, ChannelOp channel) {
    return llvm::any_of(channel->getUsers(),
                        [&](Operation *user) { return op->isAncestor(user); });
  }

  /// Lowers the uses of a channel in a block, in order; `state` becomes that
  /// after the block.
  LogicalResult walk(Block &block, Channel &channel, PipelineState &state) {
    // Listed first: reads of rows erase what follows.
    SmallVector<Operation *> users;
    for (Operation &op : block)
      if (uses(&op, channel.op))
        users.push_back(&op);
    for (Operation *op : users) {
      LogicalResult result = success();
      if (auto send = dyn_cast<SendOp>(op))
        result = lower(send, channel, state);
      else if (auto copy = dyn_cast<SendCopyOp>(op))
        result = lower(copy, channel, state);
      else if (auto receive = dyn_cast<ReceiveOp>(op))
        result = lower(receive, channel, state);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        result = walk(loop, channel, state);
      else
        result = op->emitOpError("expected channels to be used in blocks of "
                                 "roles and of scf.for only");
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult walk(scf::ForOp loop, Channel &channel, PipelineState &state) {
    bool rotates = channel.stages > 1;
    SmallVector<Value> inits{state.parity};
    if (rotates)
      inits.push_back(state.stage);
    loop = carryMore(loop, inits);
    auto split = [&](auto range) {
      auto values = range.take_back(inits.size());
      return PipelineState{rotates ? Value(values[1]) : state.stage, values[0]};
    };
    PipelineState inner = split(loop.getRegionIterArgs());
    if (failed(walk(*loop.getBody(), channel, inner)))
      return failure();
    SmallVector<Value> yields{inner.parity};
    if (rotates)
      yields.push_back(inner.stage);
    setLastYields(loop, yields);
    state = split(loop.getResults());
    return success();
  }

  static void arrive(OpBuilder &b, Location loc, Value bars, Value stage) {
    auto op = MBarrierArriveOp::create(b, loc, bars, stage);
    op.setByWarp(true);
  }

  LogicalResult lower(SendOp send, Channel &channel, PipelineState &state) {
    OpBuilder b(send);
    Location loc = send.getLoc();
    Value freed = state.freed(b, loc);
    tile::GatherOp gather;
    if (channel.rows.rows)
      gather = send.getValues()[0].getDefiningOp<tile::GatherOp>();
    MBarrierWaitOp::create(b, loc, channel.empty, state.stage, freed);
    if (gather) {
      channel.rows.issue(b, gather, gather.getIds(), state.stage, channel.full);
    } else {
      for (auto [value, ring] : llvm::zip(send.getValues(), channel.values)) {
        Value stored = value;
        if (Type type = inMemory(value.getType()); type != value.getType())
          stored = arith::ExtUIOp::create(b, loc, type, value);
        StoreSharedOp::create(b, loc, stored,
                              StageOp::create(b, loc, ring, state.stage));
      }
      arrive(b, loc, channel.full, state.stage);
    }
    state = state.next(b, loc, channel.stages);
    send.erase();
    if (gather) {
      if (!gather->use_empty())
        return gather.emitOpError(
            "expected gathered rows that are sent to be used by other roles");
      gather.erase();
    }
    return success();
  }

  LogicalResult lower(SendCopyOp send, Channel &channel, PipelineState &state) {
    OpBuilder b(send);
    Location loc = send.getLoc();
    auto ring = cast<RingType>(channel.values.front().getType());
    auto layout = CopyAsyncOp::pieces(
        ring.getBuffer().getShape(), ring.getBuffer().getElementType(),
        tilegpu::warpsAround(send.getOperation()).value_or(1));
    if (!layout)
      return send.emitOpError("cannot be divided among the warps of its role");
    Value freed = state.freed(b, loc);
    Value place = StageOp::create(b, loc, channel.values.front(), state.stage);
    MBarrierWaitOp::create(b, loc, channel.empty, state.stage, freed);
    CopyAsyncOp::create(b, loc, send.getView(), send.getIndices(), place,
                        channel.full, state.stage,
                        LayoutAttr::get(b.getContext(), *layout));
    state = state.next(b, loc, channel.stages);
    send.erase();
    return success();
  }

  /// In a loop the ids are those that the iteration before loaded.
  LogicalResult loadIdsAhead(SendOp send) {
    auto gather = send.getValues()[0].getDefiningOp<tile::GatherOp>();
    if (!gather || gather->getBlock() != send->getBlock() ||
        gather.getOk() != send.getValues()[1])
      return send.emitOpError(
          "expected the results of a gather in the same block");
    auto loop = dyn_cast<scf::ForOp>(gather->getParentOp());
    if (!loop)
      return success();
    auto ids = GatherIds::create(loop, gather);
    if (failed(ids))
      return failure();
    OpBuilder b(loop);
    Value first = ids->at(b, loop, loop.getLowerBound());
    loop = carryMore(loop, first);
    b.setInsertionPointToStart(loop.getBody());
    Value ahead = inductionAhead(b, loop, loop.getInductionVar(), 1);
    setLastYields(loop, ids->at(b, loop, ahead));
    gather.getIdsMutable().assign(loop.getRegionIterArgs().back());
    return success();
  }

  /// The last loop of the block in which a record, or what is made of it before
  /// the loops, is used; null where there is none, or anything else uses it
  /// behind that.
  static Operation *lastLoop(ReceiveOp receive) {
    Block *block = receive->getBlock();
    SmallVector<Operation *> users(receive->getUsers());
    llvm::SmallDenseSet<Operation *> seen;
    Operation *last = nullptr;
    while (!users.empty()) {
      Operation *user = block->findAncestorOpInBlock(*users.pop_back_val());
      if (!user || !seen.insert(user).second)
        continue;
      if (!last || last->isBeforeInBlock(user))
        last = user;
      if (isPure(user) && !user->getNumRegions())
        llvm::append_range(users, user->getUsers());
    }
    return isa_and_present<scf::ForOp>(last) ? last : nullptr;
  }

  LogicalResult lower(ReceiveOp receive, Channel &channel,
                      PipelineState &state) {
    OpBuilder b(receive);
    Location loc = receive.getLoc();
    Operation *last = lastLoop(receive);
    MBarrierWaitOp::create(b, loc, channel.full, state.stage, state.parity);
    if (channel.rows.rows) {
      if (failed(replaceByReads(receive, receive.getValues()[0],
                                receive.getValues()[1], *channel.rows.format,
                                channel.rows.stage(b, loc, state.stage),
                                operands, entry)))
        return failure();
    } else {
      for (auto [value, ring] :
           llvm::zip(receive.getValues(), channel.values)) {
        Type type = inMemory(value.getType());
        Value read = LoadSharedOp::create(
            b, loc, type, StageOp::create(b, loc, ring, state.stage));
        if (type != value.getType())
          read = arith::TruncIOp::create(b, loc, value.getType(), read);
        value.replaceAllUsesWith(read);
      }
    }
    OpBuilder atEnd(receive->getBlock()->getTerminator());
    if (last)
      atEnd.setInsertionPointAfter(last);
    arrive(atEnd, loc, channel.empty, state.stage);
    state = state.next(b, loc, channel.stages);
    receive.erase();
    return success();
  }

  tile::KernelOp kernel;
  OpBuilder entry;
  /// Quantised fields that dots read as they are.
  llvm::DenseSet<Operation *> operands;
};

struct LowerChannelsPass : impl::LowerChannelsBase<LowerChannelsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(Lowering(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlatile
