// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RolePartition.h"
#include "RoleProducts.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/Tile/IR/Roles.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mlatile {
#define GEN_PASS_DEF_ASSIGNROLES
#include "mlatile/Transforms/Passes.h.inc"

namespace {

/// Values that cross together: nothing that waits for the other role stands
/// between the first definition and the last.
struct Record {
  Role sender;
  Block *block;
  SmallVector<Value> values; ///< in the order of their definitions
  Value channel;

  /// After which the record can be sent; null: at the start of the block.
  Operation *last() const { return values.back().getDefiningOp(); }
};

Type withoutEncoding(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
  return type;
}

class RoleBuilder {
public:
  RoleBuilder(tile::KernelOp kernel, const RolePartition &partition,
              const RoleSplit &split)
      : kernel(kernel), partition(partition), split(split) {}

  LogicalResult run() {
    OpBuilder before(partition.getPart().front());
    makeChannels(before);
    // Wide roles first: each begins at a multiple of its warps.
    SmallVector<Role> order{Role::Second, Role::First, Role::Gather};
    llvm::sort(order, [&](Role a, Role b) {
      return std::pair(warps(a), a) > std::pair(warps(b), b);
    });
    auto budget = divideRegisters(split);
    SmallVector<StringRef> names;
    SmallVector<int64_t> counts, registers;
    static constexpr StringLiteral kNames[] = {"gather", "first", "second"};
    for (Role role : order) {
      names.push_back(kNames[int(role)]);
      counts.push_back(warps(role));
      registers.push_back(budget[int(role)]);
    }
    roles = tilegpu::RolesOp::create(before, kernel.getLoc(), names, counts,
                                     registers);
    for (auto [role, body] : llvm::zip(order, roles.getBodies()))
      if (failed(fill(role, body.front())))
        return failure();
    for (auto [role, body] : llvm::zip(order, roles.getBodies()))
      if (role == Role::Second && failed(sendRequests(body.front())))
        return failure();
    eraseOriginals();
    return success();
  }

private:
  int64_t warps(Role role) const { return split.warps[int(role)]; }

  //===--- channels -------------------------------------------------------===//

  Value channel(OpBuilder &b, Location loc, StringRef name, int64_t stages,
                TypeRange types) {
    SmallVector<Type> plain;
    for (Type type : types)
      plain.push_back(withoutEncoding(type));
    return tilegpu::ChannelOp::create(
        b, loc, tilegpu::ChannelType::get(b.getContext(), stages, plain), name);
  }

  void makeChannels(OpBuilder &b) {
    // A channel of one loop serves the next one, if it fits.
    SmallVector<std::pair<Block *, Value>> used;
    auto reuse = [&](Block *block, Value made) -> Value {
      for (auto &[other, channel] : used)
        if (other != block && channel.getType() == made.getType()) {
          made.getDefiningOp()->erase();
          other = block;
          return channel;
        }
      used.emplace_back(block, made);
      return made;
    };
    for (scf::ForOp loop : partition.getLoops()) {
      int64_t stages = 1;
      if (auto attr = loop->getAttrOfType<tile::PipelineAttr>(
              tile::TileDialect::kPipelineAttr))
        stages = attr.getStages();
      if (split.rowStages)
        stages = split.rowStages;
      for (auto gather : loop.getBody()->getOps<tile::GatherOp>()) {
        // Receivers of a channel see all of it.
        if (!partition.reads(Role::First, gather) &&
            !partition.reads(Role::Second, gather))
          continue;
        Value made = channel(b, gather.getLoc(), "rows", stages,
                             gather->getResultTypes());
        bool both = partition.reads(Role::First, gather) &&
                    partition.reads(Role::Second, gather);
        rowChannels[gather] = both ? reuse(loop.getBody(), made) : made;
      }
    }
    int64_t recordStages =
        split.recordStages ? split.recordStages : kRecordStages;
    for (Role sender : {Role::Gather, Role::First, Role::Second}) {
      used.clear();
      size_t first = records.size();
      for (const auto &[block, values] : partition.getCrossing(sender)) {
        SmallVector<Value> sent;
        for (Value value : values) {
          if (partition.isCopied(value))
            copies[value.getDefiningOp()] =
                channel(b, value.getLoc(), "item", 1, value.getType());
          else
            sent.push_back(value);
        }
        makeRecords(sender, *block, sent);
      }
      for (size_t i = first; i < records.size(); ++i) {
        Record &record = records[i];
        // One place is enough beside loops, for what comes once a piece of
        // work.
        bool inLoop = isa<scf::ForOp>(record.block->getParentOp()) &&
                      record.block->getOps<scf::ForOp>().empty();
        Value made = channel(b, record.values.front().getLoc(), name(sender),
                             inLoop ? recordStages : 1,
                             TypeRange(ValueRange(record.values)));
        bool all = receives(Role::Second, record) &&
                   (sender == Role::First || receives(Role::First, record));
        record.channel = inLoop && all ? reuse(record.block, made) : made;
      }
    }
  }

  static StringRef name(Role sender) {
    switch (sender) {
    case Role::Gather:
      return "converted";
    case Role::First:
      return "handover";
    case Role::Second:
      return "item";
    }
    llvm_unreachable("all roles are named");
  }

  bool receives(Role role, const Record &record) {
    return llvm::any_of(record.values, [&](Value value) {
      return partition.receives(role, value);
    });
  }

  void makeRecords(Role sender, Block &block, ArrayRef<Value> crossing) {
    llvm::SmallDenseSet<Value> wanted(crossing.begin(), crossing.end());
    Record record{sender, &block, {}, {}};
    auto collect = [&](ValueRange values) {
      for (Value value : values)
        if (wanted.contains(value))
          record.values.push_back(value);
    };
    auto flush = [&] {
      if (!record.values.empty())
        records.push_back(record);
      record.values.clear();
    };
    collect(block.getArguments());
    for (Operation &op : block) {
      // A loop waits for the other role.
      if (isa<scf::ForOp>(op))
        flush();
      collect(op.getResults());
    }
    flush();
  }

  //===--- copies ---------------------------------------------------------===//

  LogicalResult fill(Role role, Block &block) {
    map.clear();
    Location loc = kernel.getLoc();
    OpBuilder b = OpBuilder::atBlockBegin(&block);
    auto end = tilegpu::RoleEndOp::create(b, loc);
    // What is made before everything else stands before a mark.
    b.setInsertionPoint(end);
    head = arith::ConstantIntOp::create(b, loc, 0, 32);
    if (failed(copy(role, kernel.getBody().front(), b)))
      return failure();
    head->erase();
    if (role != Role::Gather)
      arrangeProducts(role, warps(role), block);
    if (role == Role::Second)
      scaleCarriedSums(block);
    return success();
  }

  LogicalResult copy(Role role, Block &from, OpBuilder &b) {
    send(role, from, nullptr, b);
    bool inPart = &from != partition.getPart().front()->getBlock();
    for (Operation &op : from) {
      inPart |= &op == partition.getPart().front();
      if (!inPart || op.hasTrait<OpTrait::IsTerminator>() ||
          !partition.needs(role, &op))
        continue;
      receiveUses(role, &op, from, b);
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        if (failed(copyLoop(role, loop, b)))
          return failure();
      } else {
        LogicalResult good = success();
        forEachUsed(&op, [&](Value used) {
          if (succeeded(good))
            good = makeAgain(role, used);
        });
        if (failed(good))
          return failure();
        if (Value channel =
                role == Role::Gather ? copies.lookup(&op) : Value()) {
          auto load = cast<tile::LoadOp>(op);
          SmallVector<Value> indices;
          for (Value index : load.getIndices())
            indices.push_back(map.lookupOrDefault(index));
          tilegpu::SendCopyOp::create(b, op.getLoc(),
                                      map.lookupOrDefault(load.getView()),
                                      indices, channel);
          // It may want the tile itself.
          if (llvm::none_of(op.getUsers(), [&](Operation *user) {
                return partition.needs(role, user);
              }))
            continue;
        }
        Operation *copied = b.clone(op, map);
        if (auto channel = rowChannels.lookup(&op))
          tilegpu::SendOp::create(b, op.getLoc(), copied->getResults(),
                                  channel);
      }
      send(role, from, &op, b);
    }
    return success();
  }

  LogicalResult copyLoop(Role role, scf::ForOp loop, OpBuilder &b) {
    SmallVector<unsigned> carried;
    SmallVector<Value> inits;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (partition.needs(role, loop, i)) {
        carried.push_back(i);
        if (failed(makeAgain(role, loop.getInitArgs()[i])))
          return failure();
        inits.push_back(map.lookupOrDefault(loop.getInitArgs()[i]));
      }
    auto copied = scf::ForOp::create(
        b, loop.getLoc(), map.lookupOrDefault(loop.getLowerBound()),
        map.lookupOrDefault(loop.getUpperBound()),
        map.lookupOrDefault(loop.getStep()), inits);
    copied->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    // Rows that leave the role as they come have a channel in its place.
    StringRef pipeline = tile::TileDialect::kPipelineAttr;
    if (role != Role::Gather || !split.converts)
      copied->removeDiscardableAttr(pipeline);
    else if (split.rowStages && copied->hasAttr(pipeline))
      copied->setAttr(pipeline, tile::PipelineAttr::get(copied.getContext(),
                                                        split.rowStages));
    Block *body = copied.getBody();
    if (!body->empty()) // the builder's own, where nothing is carried
      body->back().erase();
    map.map(loop.getInductionVar(), copied.getInductionVar());
    for (auto [i, argument] : llvm::zip(carried, copied.getRegionIterArgs()))
      map.map(loop.getRegionIterArgs()[i], argument);
    OpBuilder inner = OpBuilder::atBlockEnd(body);
    if (failed(copy(role, *loop.getBody(), inner)))
      return failure();
    SmallVector<Value> yields;
    for (auto [i, result] : llvm::zip(carried, copied.getResults())) {
      Value yielded = loop.getYieldedValues()[i];
      receive(role, yielded, *loop.getBody(), inner);
      if (failed(makeAgain(role, yielded)))
        return failure();
      yields.push_back(map.lookupOrDefault(yielded));
      map.map(loop.getResult(i), result);
    }
    scf::YieldOp::create(inner, loop.getLoc(), yields);
    return success();
  }

  /// Sends the record of `from` that is complete after `op`.
  void send(Role role, Block &from, Operation *op, OpBuilder &b) {
    for (Record &record : records) {
      if (record.sender != role || record.block != &from || record.last() != op)
        continue;
      SmallVector<Value> values;
      for (Value value : record.values)
        values.push_back(map.lookupOrDefault(value));
      tilegpu::SendOp::create(b, values.front().getLoc(), values,
                              record.channel);
    }
  }

  /// Receives what `op` needs of the values of the block `from`, before it.
  void receiveUses(Role role, Operation *op, Block &from, OpBuilder &b) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return forEachUsed(op, [&](Value used) { receive(role, used, from, b); });
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      receive(role, bound, from, b);
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (partition.needs(role, loop, i)) {
        receive(role, loop.getInitArgs()[i], from, b);
        receive(role, loop.getYieldedValues()[i], from, b);
      }
    for (Operation &inner : *loop.getBody())
      if (partition.needs(role, &inner))
        receiveUses(role, &inner, from, b);
  }

  void receive(Role role, Value value, Block &from, OpBuilder &b) {
    if (value.getParentBlock() != &from || map.contains(value))
      return;
    auto take = [&](Value channel, ValueRange values) {
      auto op = tilegpu::ReceiveOp::create(b, value.getLoc(), values.getTypes(),
                                           channel);
      for (auto [original, received] : llvm::zip(values, op.getResults()))
        map.map(original, received);
    };
    Operation *op = value.getDefiningOp();
    if (op && partition.reads(role, op))
      return take(rowChannels.lookup(op), op->getResults());
    if (Value channel = op ? copies.lookup(op) : Value();
        channel && partition.receives(role, value))
      return take(channel, value);
    if (partition.receives(role, value))
      for (Record &record : records)
        if (llvm::is_contained(record.values, value))
          return take(record.channel, record.values);
  }

  /// Makes a tile from before the part known in the role that is being filled:
  /// made there again, or sent by the second products, who have nothing to do
  /// yet. So rows are on their way while a query is read.
  LogicalResult makeAgain(Role role, Value value) {
    if (!isa<RankedTensorType>(value.getType()) || map.contains(value) ||
        !partition.isBefore(value))
      return success();
    OpBuilder b(head), outside(roles);
    Operation *op = value.getDefiningOp();
    if (RolePartition::isMadeAgain(op) || role == Role::Second)
      return cloneBefore(role, value, b, map);
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2 ||
        !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() < 8)
      return op->emitOpError(
                 "cannot be handed to a role: expected a tile of one or two "
                 "dimensions and elements of at least 8 bits, got ")
             << type;
    Location loc = value.getLoc();
    Value made = channel(outside, loc, "before", 1, type);
    auto receive = tilegpu::ReceiveOp::create(b, loc, TypeRange(type), made);
    map.map(value, receive.getResult(0));
    requests.emplace_back(value, made);
    return success();
  }

  /// Clones what makes a tile from before the part.
  LogicalResult cloneBefore(Role role, Value value, OpBuilder &b,
                            IRMapping &into) {
    if (!isa<RankedTensorType>(value.getType()) || into.contains(value))
      return success();
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() || !(isPure(op) || isa<tile::LoadOp>(op)))
      return op->emitOpError("cannot be given to a role before its loops");
    // What is cloned into a role may use tiles that are handed to it.
    for (Value operand : op->getOperands())
      if (failed(&into == &map ? makeAgain(role, operand)
                               : cloneBefore(role, operand, b, into)))
        return failure();
    b.clone(*op, into);
    return success();
  }

  LogicalResult sendRequests(Block &block) {
    IRMapping made;
    OpBuilder b = OpBuilder::atBlockBegin(&block);
    for (auto [value, channel] : requests) {
      if (failed(cloneBefore(Role::Second, value, b, made)))
        return failure();
      tilegpu::SendOp::create(b, value.getLoc(), made.lookup(value), channel);
    }
    return success();
  }

  void eraseOriginals() {
    SmallVector<Operation *> part(partition.getPart());
    for (Operation *op : llvm::reverse(part))
      op->erase();
    SmallVector<Operation *> before;
    for (Operation *op = roles->getPrevNode(); op; op = op->getPrevNode())
      before.push_back(op);
    for (Operation *op : before)
      if (isOpTriviallyDead(op))
        op->erase();
  }

  tile::KernelOp kernel;
  const RolePartition &partition;
  RoleSplit split;
  tilegpu::RolesOp roles;
  SmallVector<Record> records;
  llvm::DenseMap<Operation *, Value> rowChannels; ///< by gather
  llvm::DenseMap<Operation *, Value> copies;      ///< channels by load
  /// Such tiles, and the channel through which one is wanted.
  SmallVector<std::pair<Value, Value>> requests;
  // Of the role that is being filled:
  IRMapping map;
  Operation *head = nullptr;
};

struct AssignRolesPass : impl::AssignRolesBase<AssignRolesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(assign(kernel)))
        return signalPassFailure();
  }

  LogicalResult assign(tile::KernelOp kernel) {
    auto text =
        kernel->getAttrOfType<StringAttr>(tile::TileDialect::kRolesAttr);
    auto split = text ? parseRoleSplit(text.getValue()) : std::nullopt;
    if (!split)
      return success();
    auto partition = RolePartition::compute(kernel, split->converts,
                                            split->warps[int(Role::Gather)]);
    if (failed(partition))
      return failure();
    kernel->removeAttr(tile::TileDialect::kRolesAttr);
    return RoleBuilder(kernel, *partition, *split).run();
  }
};

} // namespace
} // namespace mlatile
