// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "QuantisedOperands.h"
#include "RolePartition.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Analysis/WarpArrangement.h"
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

/// Places of a channel for values of first products: the next record is
/// computed while the last one is read.
constexpr int64_t kRecordStages = 2;
/// Registers of a thread that only copies; of one that converts too.
constexpr int64_t kGatherRegisters = 32, kConvertRegisters = 48;
/// What a thread of second products, which keeps their sums through the loop,
/// has more than one of first products.
constexpr int64_t kSumRegisters = 48;
/// Most registers that a role is given unasked: 255 is the most of a thread.
constexpr int64_t kMostRegisters = 248;

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

/// Registers for the roles, in the order gather, first, second.
std::array<int64_t, kNumRoles> chooseRegisters(const tile::RoleSplit &split) {
  int64_t warps = split.totalWarps();
  // The verifier of tilegpu.roles says what a launch allocates.
  int64_t left = 65536 / (32 * warps) / 8 * 8 * warps;
  auto result = split.registers;
  if (!result[0])
    result[0] = split.converts ? kConvertRegisters : kGatherRegisters;
  left -= result[0] * split.warps[0];
  auto clamped = [](int64_t registers) {
    return std::clamp<int64_t>(registers / 8 * 8, 24, kMostRegisters);
  };
  for (int i : {1, 2})
    left -= result[i] * split.warps[i];
  if (!result[2])
    result[2] = result[1] ? clamped(left / split.warps[2])
                          : clamped((left + kSumRegisters * split.warps[1]) /
                                    (split.warps[1] + split.warps[2]));
  else if (!result[1])
    return {result[0], clamped(left / split.warps[1]), result[2]};
  if (!result[1])
    result[1] = clamped((left - result[2] * split.warps[2]) / split.warps[1]);
  return result;
}

class RoleBuilder {
public:
  RoleBuilder(tile::KernelOp kernel, const RolePartition &partition,
              const tile::RoleSplit &split)
      : kernel(kernel), partition(partition), split(split) {}

  LogicalResult run() {
    OpBuilder before(partition.getPart().front());
    makeChannels(before);
    // Wide roles first: each begins at a multiple of its warps.
    SmallVector<Role> order{Role::Second, Role::First, Role::Gather};
    llvm::sort(order, [&](Role a, Role b) {
      return std::pair(warps(a), a) > std::pair(warps(b), b);
    });
    auto budget = chooseRegisters(split);
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
    for (Operation *op : partition.getPart()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop)
        continue;
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
    for (Role sender : {Role::Gather, Role::First}) {
      used.clear();
      size_t first = records.size();
      for (const auto &[block, values] : partition.getCrossing(sender))
        makeRecords(sender, *block, values.getArrayRef());
      for (size_t i = first; i < records.size(); ++i) {
        Record &record = records[i];
        bool inLoop = isa<scf::ForOp>(record.block->getParentOp());
        Value made = channel(b, record.values.front().getLoc(),
                             sender == Role::Gather ? "converted" : "handover",
                             inLoop ? recordStages : 1,
                             TypeRange(ValueRange(record.values)));
        bool all = receives(Role::Second, record) &&
                   (sender == Role::First || receives(Role::First, record));
        record.channel = inLoop && all ? reuse(record.block, made) : made;
      }
    }
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
      arrangeWarps(role, block);
    if (role == Role::Second)
      scaleSums(block);
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
            good = makeAgain(used);
        });
        if (failed(good))
          return failure();
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
        if (failed(makeAgain(loop.getInitArgs()[i])))
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
      if (failed(makeAgain(yielded)))
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
    if (partition.receives(role, value))
      for (Record &record : records)
        if (llvm::is_contained(record.values, value))
          return take(record.channel, record.values);
  }

  /// Makes a tile from before the part known in the role that is being filled.
  LogicalResult makeAgain(Value value) {
    if (!isa<RankedTensorType>(value.getType()) || map.contains(value) ||
        !partition.isBefore(value))
      return success();
    Operation *op = value.getDefiningOp();
    OpBuilder b(head);
    if (partition.isMadeAgain(op)) {
      LogicalResult good = success();
      forEachUsed(op, [&](Value used) {
        if (succeeded(good))
          good = makeAgain(used);
      });
      if (succeeded(good))
        b.clone(*op, map);
      return good;
    }
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2 ||
        !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() < 8)
      return op->emitOpError("cannot be handed to a role: expected a tile of "
                             "elements of at least 8 bits, got ")
             << type;
    Value &buffer = buffers[value];
    if (!buffer) {
      OpBuilder outside(roles);
      auto bufferType = tilegpu::BufferType::get(
          b.getContext(), type.getShape(), type.getElementType());
      if (type.getRank() == 2)
        bufferType = tilegpu::BufferType::get(
            b.getContext(), type.getShape(), type.getElementType(),
            conflictFreeStride(bufferType.getRowBytes()));
      buffer = tilegpu::AllocOp::create(outside, value.getLoc(), bufferType,
                                        "shared", IntegerAttr());
      tilegpu::StoreSharedOp::create(outside, value.getLoc(), value, buffer);
    }
    map.map(value,
            tilegpu::LoadSharedOp::create(b, value.getLoc(), type, buffer)
                .getTile());
    return success();
  }

  //===--- products -------------------------------------------------------===//

  /// The dimension along which the sums of a product are reduced, through
  /// elementwise operations and further products.
  static std::optional<int> reducedAlong(Value sums) {
    SmallVector<Value> work{sums};
    llvm::SmallDenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (auto reduce = dyn_cast<tile::ReduceOp>(user))
          return static_cast<int>(reduce.getAxis());
        bool adds = isa<tile::DotOp, tile::DotScaledOp>(user) &&
                    use.get().getType() == user->getResult(0).getType();
        if (adds || OpTrait::hasElementwiseMappableTraits(user))
          llvm::append_range(work, user->getResults());
      }
    }
    return std::nullopt;
  }

  /// Of a first product whose rows are reduced: warps along the rows first, so
  /// that reductions stay in a warp. Of a second one whose first factor
  /// crosses: two row tiles a warp, which share each fragment of the second
  /// factor; more of them would take registers for as many fragments of the
  /// first one. What is left goes along the columns; others get what they get
  /// unasked.
  void arrangeWarps(Role role, Block &block) {
    block.walk([&](Operation *op) {
      auto dot = dyn_cast<tile::DotOp>(op);
      auto scaled = dyn_cast<tile::DotScaledOp>(op);
      if ((!dot && !scaled) || op->hasAttr("warps"))
        return;
      Value a = op->getOperand(0), b = op->getOperand(1);
      int64_t tiles = 1;
      if (role == Role::Second) {
        if (!untransposed(a).value.getDefiningOp<tilegpu::ReceiveOp>())
          return;
        tiles = 2;
      } else if (reducedAlong(op->getResult(0)) != 1) {
        return;
      }
      auto shape =
          cast<RankedTensorType>(op->getResult(0).getType()).getShape();
      auto [packM, packN] = accumulatorPacking(a, b);
      auto most = [](int64_t size, int64_t unit, int64_t warps) {
        return std::max<int64_t>(std::min(warps, (size & -size) / unit), 1);
      };
      // Fewer row tiles where that would leave warps without work.
      SmallVector<int64_t> arranged{0, 0};
      for (; tiles >= 1; --tiles) {
        int64_t warpsM =
            most(shape[0], tiles * (packM ? 8 << packM : 16), warps(role));
        int64_t warpsN = most(shape[1], 8 << packN, warps(role) / warpsM);
        if (warpsM * warpsN > arranged[0] * arranged[1])
          arranged = {warpsM, warpsN};
      }
      op->setAttr("warps", DenseI64ArrayAttr::get(op->getContext(), arranged));
    });
  }

  /// Sums that a loop carries are often multiplied by factors that are all one.
  void scaleSums(Block &block) {
    block.walk([&](arith::MulFOp mul) {
      for (unsigned i : {0, 1}) {
        auto sums = dyn_cast<BlockArgument>(mul->getOperand(i));
        auto factors =
            mul->getOperand(1 - i).getDefiningOp<tile::BroadcastOp>();
        auto type = dyn_cast<RankedTensorType>(mul.getType());
        if (!sums || !factors || !type || type.getRank() != 2 ||
            !type.getElementType().isF32() ||
            !isa<scf::ForOp>(sums.getOwner()->getParentOp()))
          continue;
        OpBuilder b(mul);
        mul.replaceAllUsesWith(
            tilegpu::ScaleOp::create(b, mul.getLoc(), type, sums,
                                     factors.getOperand(), factors.getAxis())
                .getResult());
        mul.erase();
        if (factors->use_empty())
          factors.erase();
        return;
      }
    });
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
  tile::RoleSplit split;
  tilegpu::RolesOp roles;
  SmallVector<Record> records;
  llvm::DenseMap<Operation *, Value> rowChannels; ///< by gather
  llvm::DenseMap<Value, Value> buffers;           ///< of tiles from before
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
    auto split = text ? tile::parseRoleSplit(text.getValue()) : std::nullopt;
    if (!split)
      return success();
    bool shareBefore = llvm::isPowerOf2_64(split->totalWarps());
    auto partition =
        RolePartition::compute(kernel, shareBefore, split->converts);
    if (failed(partition))
      return failure();
    kernel->removeAttr(tile::TileDialect::kRolesAttr);
    return RoleBuilder(kernel, *partition, *split).run();
  }
};

} // namespace
} // namespace mlatile
