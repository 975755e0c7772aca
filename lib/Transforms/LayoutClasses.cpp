// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Transforms/LayoutClasses.h"
#include "QuantisedOperands.h"
#include "mlatile/Analysis/WarpArrangement.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OpDefinition.h"
#include <algorithm>
#include <bit>

using namespace mlir;

namespace mlatile {

DistributedLayout::Coords tensorShape(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return DistributedLayout::Coords(type.getShape().begin(),
                                   type.getShape().end());
}

namespace {
bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

int warpsOf(Value value) {
  return static_cast<int>(tilegpu::warpsAround(value).value_or(1));
}

/// The layout of `shape` over fewer warps, copied to the others.
DistributedLayout::Result copyToWarps(const DistributedLayout &layout,
                                      int numWarps) {
  DistributedLayout::Bases warp = layout.warpBases();
  while ((1 << warp.size()) < numWarps)
    warp.emplace_back(layout.rank(), 0);
  return DistributedLayout::create(layout.regBases(), layout.laneBases(),
                                   std::move(warp), layout.reps());
}
} // namespace

void *LayoutClasses::leader(Value value) const {
  return classes.getLeaderValue(value.getAsOpaquePointer());
}

const DistributedLayout *LayoutClasses::find(Value value) const {
  auto it = layouts.find(leader(value));
  return it == layouts.end() ? nullptr : &it->second;
}

const DistributedLayout &LayoutClasses::layoutOf(Value value) const {
  return *find(value);
}

bool LayoutClasses::assign(Value value,
                           const DistributedLayout::Result &layout) {
  return layout && layouts.emplace(leader(value), *layout).second;
}

void LayoutClasses::unite(ValueRange values) {
  void *first = nullptr;
  for (Value value : values) {
    if (!value || !isTensor(value))
      continue;
    void *key = value.getAsOpaquePointer();
    if (first)
      classes.unionSets(first, key);
    else
      first = classes.insert(key).getData();
  }
}

void LayoutClasses::collect(tile::KernelOp kernel) {
  kernel->walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isTensor(result))
        classes.insert(result.getAsOpaquePointer());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (isTensor(argument))
            classes.insert(argument.getAsOpaquePointer());
  });
  kernel->walk([&](Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      unite({dot.getC(), dot.getResult()});
    } else if (auto dot = dyn_cast<tile::DotScaledOp>(op)) {
      unite({dot.getC(), dot.getResult()});
    } else if (auto scale = dyn_cast<tilegpu::ScaleOp>(op)) {
      unite({scale.getTile(), scale.getResult()});
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [arg, yield, result] :
           llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues(),
                     loop.getResults()))
        unite({arg, yield, result});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (auto [i, result] : llvm::enumerate(branch.getResults()))
        unite({result, branch.thenYield().getOperand(i),
               branch.elseYield().getOperand(i)});
    } else if (OpTrait::hasElementwiseMappableTraits(op)) {
      SmallVector<Value> values(op->getOperands());
      llvm::append_range(values, op->getResults());
      unite(values);
    }
  });
}

DistributedLayout::Result LayoutClasses::gatherLayout(Value ids, int numWarps,
                                                      std::string *error) {
  return DistributedLayout::rowsOverThreads(tensorShape(ids)[0], numWarps,
                                            error);
}

DistributedLayout::Result
LayoutClasses::dotLayout(Operation *op, Value a, Value b,
                         std::optional<ArrayRef<int64_t>> warps, int numWarps,
                         std::string *error) {
  auto shape = tensorShape(op->getResult(0));
  auto [packM, packN] = accumulatorPacking(a, b);
  int64_t warpsM, warpsN;
  if (warps) {
    warpsM = (*warps)[0];
    warpsN = (*warps)[1];
    if (warpsM > numWarps || warpsN > numWarps || warpsM * warpsN > numWarps) {
      *error = llvm::formatv("expected at most {0} warps, got {1} x {2}",
                             numWarps, warpsM, warpsN);
      return std::nullopt;
    }
  } else {
    auto arranged = arrangeWarps(shape[0], shape[1], packM, packN, numWarps);
    warpsM = arranged.warpsM;
    warpsN = arranged.warpsN;
  }
  auto layout = DistributedLayout::mmaAccumulator(shape[0], shape[1], warpsM,
                                                  warpsN, packM, packN, error);
  if (!layout)
    return std::nullopt;
  return copyToWarps(*layout, numWarps);
}

void LayoutClasses::uniteInits(tile::KernelOp kernel) {
  kernel->walk([&](scf::ForOp loop) {
    for (auto [init, arg] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs())) {
      if (!isTensor(init))
        continue;
      const DistributedLayout *before = find(init), *inside = find(arg);
      if (before && inside)
        continue;
      std::optional<DistributedLayout> known;
      if (before || inside)
        known = before ? *before : *inside;
      unite({init, arg});
      if (known)
        layouts.insert_or_assign(leader(arg), *known);
    }
  });
}

LogicalResult LayoutClasses::anchor(tile::KernelOp kernel) {
  WalkResult walk = kernel->walk([&](Operation *op) -> WalkResult {
    std::optional<ArrayRef<int64_t>> warps;
    Value a, b;
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      warps = dot.getWarps();
      a = dot.getA();
      b = dot.getB();
    } else if (auto dot = dyn_cast<tile::DotScaledOp>(op)) {
      warps = dot.getWarps();
      a = dot.getA();
      b = dot.getB();
    } else {
      return WalkResult::advance();
    }
    std::string error;
    Value result = op->getResult(0);
    auto layout = dotLayout(op, a, b, warps, warpsOf(result), &error);
    if (!layout)
      return op->emitOpError(error);
    if (!assign(result, layout) && *find(result) != *layout)
      return op->emitOpError(
          "expected dots that share an accumulator to arrange warps alike");
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  walk = kernel->walk([&](tile::GatherOp gather) -> WalkResult {
    std::string error;
    auto layout =
        gatherLayout(gather.getIds(), warpsOf(gather.getOk()), &error);
    if (!layout)
      return gather.emitOpError(error);
    assign(gather.getIds(), layout);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

void LayoutClasses::propagate(tile::KernelOp kernel) {
  bool changed = true;
  while (changed) {
    changed = false;
    auto derive = [&](Value from, Value to, auto &&map) {
      if (const DistributedLayout *known = find(from))
        if (!find(to))
          changed |= assign(to, map(*known));
    };
    kernel->walk([&](Operation *op) {
      if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        int axis = reduce.getAxis();
        derive(reduce.getOperand(), reduce.getResult(),
               [&](const auto &l) { return l.slice(axis); });
      } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
        int axis = broadcast.getAxis();
        derive(broadcast.getResult(), broadcast.getOperand(),
               [&](const auto &l) { return l.slice(axis); });
      } else if (auto scale = dyn_cast<tilegpu::ScaleOp>(op)) {
        int axis = static_cast<int>(scale.getAxis());
        derive(scale.getResult(), scale.getFactor(),
               [&](const auto &l) { return l.slice(axis); });
      } else if (auto trans = dyn_cast<tile::TransposeOp>(op)) {
        derive(trans.getOperand(), trans.getResult(),
               tilegpu::transposedLayout);
        derive(trans.getResult(), trans.getOperand(),
               tilegpu::transposedLayout);
      }
    });
  }
}

bool LayoutClasses::seedOne(tile::KernelOp kernel) {
  // Memory operations speak first: their element size fixes the vector.
  Value best;
  auto consider = [&](Value value) {
    if (isTensor(value) && !find(value) &&
        (!best || tensorShape(value).size() > tensorShape(best).size()))
      best = value;
  };
  kernel->walk([&](Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      consider(load.getResult());
    else if (auto load = dyn_cast<tile::LoadPeerOp>(op))
      consider(load.getResult());
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      consider(store.getValue());
  });
  if (!best)
    kernel->walk([&](Operation *op) {
      for (Value result : op->getResults())
        consider(result);
    });
  if (!best)
    return false;
  auto type = cast<RankedTensorType>(best.getType());
  int bytes = 4;
  if (type.getElementType().isIntOrFloat())
    bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  return assign(best, DistributedLayout::blocked(tensorShape(best), bytes,
                                                 warpsOf(best), &seedError));
}

FailureOr<LayoutClasses> LayoutClasses::compute(tile::KernelOp kernel) {
  LayoutClasses result;
  WalkResult isStatic = kernel->walk([&](Operation *op) -> WalkResult {
    if (isa<tile::ReduceOp>(op) && !isTensor(op->getResult(0)))
      return op->emitOpError("reduction to a scalar is not built yet");
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (!tensor.hasStaticShape() || tensor.getRank() == 0 ||
            tensor.getRank() > 3 || tensor.getNumElements() == 0)
          return op->emitOpError("expected a static tensor of one to three "
                                 "dimensions, got ")
                 << tensor;
    return WalkResult::advance();
  });
  if (isStatic.wasInterrupted())
    return failure();

  result.collect(kernel);
  if (failed(result.anchor(kernel)))
    return failure();
  result.uniteInits(kernel);
  do
    result.propagate(kernel);
  while (result.seedOne(kernel));

  // seedOne stops early only where a default could not be made.
  for (const auto *entry : result.classes)
    if (entry->isLeader() && !result.layouts.count(entry->getData())) {
      Value value = Value::getFromOpaquePointer(entry->getData());
      emitError(value.getLoc(), "no layout of ")
          << value.getType() << " over " << warpsOf(value)
          << " warps: " << result.seedError;
      return failure();
    }
  return result;
}

} // namespace mlatile
