// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GatheredReads.h"

#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mlatile {

//===--- buffers ----------------------------------------------------------===//

static int64_t roundUp16(int64_t n) { return (n + 15) / 16 * 16; }

GatherRing GatherRing::create(OpBuilder &entry, Location loc,
                              const CacheFormat &format, int64_t count,
                              int64_t stages, bool copied) {
  auto ring = [&](StringRef name, ArrayRef<int64_t> shape, Type element,
                  int64_t stride) -> Value {
    MLIRContext *context = entry.getContext();
    auto type = tilegpu::RingType::get(
        context, stages,
        tilegpu::BufferType::get(context, shape, element, stride));
    return tilegpu::AllocOp::create(entry, loc, type, name, IntegerAttr());
  };
  Type i8 = entry.getI8Type();
  GatherRing result;
  result.format = &format;
  int64_t rowBytes = roundUp16(format.usedRow());
  result.rows =
      ring("rows", {count, rowBytes}, i8,
           copied ? segmentStride(rowBytes) : conflictFreeStride(rowBytes));
  if (format.place == ScalePlace::Footer)
    result.scales =
        ring("scales", {count, format.scaleRow}, i8, format.scaleRow);
  result.slots = ring("slots", {count}, entry.getI32Type(), 4 * count);
  return result;
}

GatheredStage GatherRing::stage(OpBuilder &b, Location loc, Value index) const {
  GatheredStage stage;
  stage.rows = tilegpu::StageOp::create(b, loc, rows, index);
  stage.slots = tilegpu::StageOp::create(b, loc, slots, index);
  stage.scales = scales ? Value(tilegpu::StageOp::create(b, loc, scales, index))
                        : viewColumns(b, loc, stage.rows, format->scaleOffset,
                                      format->groups(), b.getF32Type());
  return stage;
}

void GatherRing::issue(OpBuilder &b, tile::GatherOp gather, Value ids,
                       Value index, Value full) const {
  Location loc = gather.getLoc();
  GatheredStage to = stage(b, loc, index);
  tilegpu::GatherAsyncOp::create(b, loc, gather.getPool(), ids, to.rows,
                                 to.scales, to.slots, full, index,
                                 gather.getBulk());
}

int64_t GatherRing::arrivals(tile::GatherOp gather, int64_t warps) {
  // Rows have a known format where a ring was made for them.
  const CacheFormat *format =
      cast<tile::PoolType>(gather.getPool().getType()).getCacheFormat();
  int64_t count =
      cast<RankedTensorType>(gather.getIds().getType()).getDimSize(0);
  return tilegpu::GatherAsyncOp::arrivals(*format, count, warps,
                                          gather.getBulk());
}

//===--- arrays -----------------------------------------------------------===//

bool mayBeSameArray(Value a, Value b) {
  // Any other view, say one that was selected, may be any of the arguments.
  auto isArgument = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && isa<tile::KernelOp>(argument.getOwner()->getParentOp());
  };
  return a == b || !isArgument(a) || !isArgument(b);
}

Value writtenView(Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getView();
  if (auto counter = dyn_cast<tile::AtomicIncOp>(op))
    return counter.getView();
  return {};
}

//===--- slot ids ---------------------------------------------------------===//

Value inductionAhead(OpBuilder &b, scf::ForOp loop, Value iv, int64_t count) {
  Location loc = loop.getLoc();
  if (count == 0)
    return iv;
  Value distance = loop.getStep();
  if (count > 1)
    distance = arith::MulIOp::create(
        b, loc, distance,
        arith::ConstantOp::create(b, loc,
                                  b.getIntegerAttr(distance.getType(), count)));
  return arith::AddIOp::create(b, loc, iv, distance);
}

FailureOr<GatherIds> GatherIds::create(scf::ForOp loop, tile::GatherOp gather) {
  GatherIds ids(gather);
  if (failed(ids.collect(loop)))
    return failure();
  return ids;
}

LogicalResult GatherIds::collect(scf::ForOp loop) {
  std::function<LogicalResult(Value)> visit =
      [&](Value value) -> LogicalResult {
    if (value == loop.getInductionVar())
      return success();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == loop.getBody())
        return gather.emitOpError(
            "expected slot ids that depend on the loop only through its "
            "induction variable");
      return success();
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody())
      return success();
    if (op->getNumRegions() || !(isPure(op) || isa<tile::LoadOp>(op)))
      return gather.emitOpError("cannot compute slot ids ahead of `")
             << op->getName() << "`";
    for (Value operand : op->getOperands())
      if (failed(visit(operand)))
        return failure();
    slice.insert(op);
    return success();
  };
  if (failed(visit(ids)))
    return failure();
  for (Operation *op : slice)
    if (auto load = dyn_cast<tile::LoadOp>(op))
      if (failed(checkNotStored(loop, load.getView())))
        return failure();
  return success();
}

/// Ids are loaded iterations ahead, so nothing in the loop may write them.
LogicalResult GatherIds::checkNotStored(scf::ForOp loop, Value view) {
  auto mayWrite = [&](Operation *op) {
    if (Value written = writtenView(op))
      return mayBeSameArray(written, view);
    // Whatever says nothing of its effects, like a call.
    return !isa<MemoryEffectOpInterface>(op) &&
           !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  };
  Operation *writer = nullptr;
  loop->walk([&](Operation *op) {
    if (mayWrite(op)) {
      writer = op;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (!writer)
    return success();
  InFlightDiagnostic diag =
      gather.emitOpError("cannot load slot ids ahead, because `")
      << writer->getName() << "` in the loop may write them";
  diag.attachNote(writer->getLoc()) << "here";
  return diag;
}

Value GatherIds::at(OpBuilder &b, scf::ForOp loop, Value iv) const {
  IRMapping map;
  map.map(loop.getInductionVar(), iv);
  for (Operation *op : slice)
    b.clone(*op, map);
  return map.lookupOrDefault(ids);
}

} // namespace mlatile
